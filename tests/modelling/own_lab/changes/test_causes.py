"""A change is told with further series that took the same release, those that did not, and whose series count."""

import numpy as np
import pytest

from experiments.models import CaseStudy, KnowledgeRevision
from modelling.models import Laboratory, SeriesChange
from modelling.own_lab.changes import detection
from tests.factories import make_case_study, make_user, revision
from tests.modelling.own_lab.changes.conftest import CHOICES, kernel_of, make_night

pytestmark = pytest.mark.django_db


@pytest.fixture
def change(ours, nights):
    detection.find_changes(lambda done, total: None)
    return SeriesChange.objects.get()


def make_published(slug):
    """Make a published case study that holds nothing."""
    number = revision(KnowledgeRevision.objects.count() + 1)
    return make_case_study(slug=slug, status=CaseStudy.Status.PUBLISHED, published_revision=number)


def others(slug, slower, *, shares, facts=kernel_of):
    """Make another laboratory's nights; shared and published where asked for."""
    laboratory = Laboratory.objects.create(slug=slug, name=slug)
    study = make_published(slug) if shares else None
    noise = np.exp(np.random.default_rng(len(slug)).normal(0, 0.02, 28))
    for night in range(28):
        value = 700 * noise[night] * (slower if night >= 20 else 1)
        make_night(laboratory, night, [value], facts=facts(night), case_study=study)
    return laboratory


def test_series_that_took_the_release_are_held_against_those_that_did_not(change, asked):
    others("took", 0.85, shares=True)
    others("took-too", 0.85, shares=True)
    others("stays", 1.0, shares=True, facts=lambda night: {"kernel": "6.1"})
    (cause,) = asked(f"series-changes/{change.pk}/causes/")["causes"]
    assert cause["fact"] == {"name": "kernel", "before": "6.1", "after": "6.8"}
    assert cause["took"] == {"series": 2, "laboratories": 2, "alike": 2}
    assert cause["without"] == {"series": 1, "laboratories": 1, "alike": 0}
    assert cause["low"] < 0.85 < cause["high"] < 1.05
    assert "of 2 further series in two laboratories that took it, 2 surely became slower" in cause["sentence"]


def test_nobody_learns_of_series_that_others_keep_to_themselves(change, asked, client, ada):
    others("private", 0.85, shares=False)
    others("draft", 0.85, shares=True).sittings.update(
        case_study=make_case_study(slug="draft-too", status=CaseStudy.Status.DRAFT)
    )
    (cause,) = asked(f"series-changes/{change.pk}/causes/")["causes"]
    assert cause["took"]["series"] == 0
    assert cause["ratio"] is None
    client.force_login(ada)
    page = client.get(f"/series-changes/{change.pk}/").content.decode()
    assert "kernel 6.8 (was 6.1): no further series that may be seen here took it." in page
    client.force_login(make_user(username="eve"))
    assert client.get(f"/series-changes/{change.pk}/").status_code == 404


def test_another_place_of_the_same_machine_counts_for_members(change, ours, asked):
    for night in range(28):
        xfs = [{**CHOICES[0], "place": "vdc", "settings": {"guest_fs": "xfs"}}]
        make_night(ours, night, [500.0 + night % 3], choices=xfs, facts=kernel_of(night))
    (cause,) = asked(f"series-changes/{change.pk}/causes/")["causes"]
    assert cause["took"] == {"series": 1, "laboratories": 1, "alike": 0}
    assert "no series without it is there to compare them with" in cause["sentence"]


def test_a_guests_kernel_is_not_a_hosts(change, ours, asked):
    others("guest", 0.85, shares=True, facts=lambda night: {**kernel_of(night), "virtual": "yes"})
    (cause,) = asked(f"series-changes/{change.pk}/causes/")["causes"]
    assert cause["took"]["series"] == 0


def test_another_release_at_that_time_is_no_series_without_one(change, asked):
    others("newer", 0.8, shares=True, facts=lambda night: {"kernel": "6.9" if night >= 20 else "6.1"})
    others("had-it", 1.0, shares=True, facts=lambda night: {"kernel": "6.8"})
    (cause,) = asked(f"series-changes/{change.pk}/causes/")["causes"]
    assert (cause["took"]["series"], cause["without"]["series"]) == (0, 0)


def test_the_number_of_queries_does_not_grow_with_laboratories(change, asked, django_assert_num_queries):
    from modelling.own_lab.changes.causes import causes_of

    for slug in ("one", "two", "three"):
        others(slug, 0.85, shares=True)
    change = SeriesChange.objects.select_related("laboratory", "sitting").get()
    with django_assert_num_queries(2):
        (cause,) = causes_of(change, is_member=False)
    assert cause.took.laboratories == 3
