"""A published case study says which answers it changed, which comparisons of others it contradicts, and how its machine
stands among like ones; who brought what is contradicted is notified once."""

from datetime import timedelta

import pytest
from django.core import mail
from django.utils.timezone import now

from experiments.models import KnowledgeRevision
from kdb.models import Job
from kdb.notifications.models import Delivery, Subscription
from modelling.answer_store import snapshots
from modelling.answer_store.previews import effects
from modelling.evidence.like_machines import like_machines
from modelling.evidence.question import Question
from modelling.models import RevisionEffects
from tests.factories import make_case_study, make_measurement, make_storage, make_user, make_variant
from tests.factories import publish as make_known

pytestmark = pytest.mark.django_db


def published(slug, *, load=None, kind="hdd", **speeds):
    """Publish a case study that measured each guest file system at this speed."""
    fields = {name: speeds.pop(name) for name in ("owner", "laboratory") if name in speeds}
    case_study = make_case_study(slug, storage=make_storage(kind=kind), **fields)
    for guest_fs, value in speeds.items():
        variant = make_variant(parameters=load if load is not None else {"threads": 16})
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, variant=variant)
    make_known(case_study)
    return case_study


def compute():
    effects.compute_effects(lambda done, total: None)


def page_of(client, slug):
    return client.get(f"/case-studies/{slug}/effects/").content.decode()


@pytest.fixture
def ada():
    user = make_user("researchers", username="ada")
    Subscription.objects.create(
        user=user,
        way="webhook",
        address="https://hooks.example.org/",
        topics=["opposite"],
        site="https://kdb.example.org",
    )
    return user


def test_a_study_says_which_answers_it_changed(client):
    published("first", ext4=200.0, xfs=100.0)
    for axis in ("guest-fs", "hypervisor"):
        snapshots.compute_and_store(Question(axis, make_variant().workload.slug))
    published("second", ext4=100.0, xfs=300.0)
    compute()  # too early: the answers that it superseded are not renewed
    assert "A worker is computing" in page_of(client, "second")
    snapshots.answer_waiting_questions(lambda done, total: None)
    compute()
    text = page_of(client, "second")
    result = RevisionEffects.objects.get(revision=2).result
    assert result["moved"]
    assert all(question["before"] != question["after"] for question in result["moved"])
    for question in result["moved"]:
        assert question["title"] in text
        assert "as_of=1" in question["before_url"]
        assert "as_of=2" in question["after_url"]
    assert client.get("/knowledge/revisions/2/").status_code == 200


def test_a_publication_waits_for_a_tick_so_that_answers_come_first():
    published("first", ext4=200.0, xfs=100.0)
    published("second", ext4=100.0, xfs=300.0)
    assert not Job.objects.filter(kind=effects.JOB).exists()
    effects.reconcile()
    assert Job.objects.get(kind=effects.JOB).state == "queued"


def test_what_came_together_or_first_or_long_ago_is_not_looked_at(client):
    published("first", ext4=200.0, xfs=100.0)
    make_known(make_case_study("one"), make_case_study("two"))
    published("old", ext4=1.0, xfs=2.0)
    KnowledgeRevision.objects.filter(number=3).update(created_at=now() - timedelta(days=8))
    compute()
    assert not RevisionEffects.objects.exists()
    for slug in ("first", "one", "old"):
        assert "Not worked out" in page_of(client, slug)
    assert client.get("/knowledge/revisions/3/").status_code == 404


def test_an_opposite_result_is_told_to_whoever_brought_the_other_once(client, ada, settings):
    published("hers", owner=ada, ext4=200.0, xfs=100.0)
    published("theirs", ext4=100.0, xfs=300.0)
    compute()
    RevisionEffects.objects.all().update(method=1)
    effects.reconcile()
    compute()
    (delivery,) = Delivery.objects.all()
    assert delivery.topic == "opposite"
    assert delivery.subject == "“theirs” contradicts “hers”"
    assert delivery.text.endswith("which guest file system? ext4 against xfs: 2.00 there, 0.33 here.")
    assert delivery.text.count("\n") == 0  # pairs and configurations would say the same again
    assert delivery.path == "/case-studies/theirs/effects/"
    assert 'in <a href="/case-studies/hers/">hers</a>' in page_of(client, "theirs")
    assert not mail.outbox


@pytest.mark.parametrize(
    "theirs",
    [
        {"ext4": 300.0, "xfs": 100.0},  # the same way round
        {"ext4": 100.0, "xfs": 101.0},  # the other way round, by less than runs differ
        {"ext4": 100.0, "btrfs": 300.0},  # another comparison
    ],
)
def test_what_agrees_or_may_is_no_contradiction(ada, theirs):
    published("hers", owner=ada, ext4=200.0, xfs=100.0)
    published("theirs", **theirs)
    compute()
    assert RevisionEffects.objects.get(revision=2).result["contradicts"] == []
    assert not Delivery.objects.exists()


def test_nobody_is_told_of_a_contradiction_between_studies_of_their_own(ada):
    published("hers", owner=ada, ext4=200.0, xfs=100.0)
    published("hers-too", owner=ada, ext4=100.0, xfs=300.0)
    compute()
    assert RevisionEffects.objects.get(revision=2).result["contradicts"]
    assert not Delivery.objects.exists()


# Among like ones


def test_a_machine_stands_among_those_of_other_laboratories(client):
    published("slow", laboratory="a", ext4=10.0)
    published("fast", laboratory="b", ext4=80.0)
    published("slow-again", laboratory="a", ext4=14.0)  # one laboratory counts once, by its median
    mine = published("mine", laboratory="mine", ext4=20.0, xfs=60.0)
    (line,) = like_machines(mine)
    assert (line.value, line.others, line.slower) == (pytest.approx(40.0), 2, 1)
    assert (line.low, line.high) == (pytest.approx(12.0), pytest.approx(80.0))
    text = page_of(client, "mine")
    assert "1 of 2" in text
    assert "kvm, hard disks" in text


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        ({"kind": "nvme"}, {"kind": "hdd"}),
        ({"kind": ""}, {"kind": ""}),
        ({"load": {"threads": 1}}, {"load": {"threads": 8}}),
        ({"load": {}}, {"load": {}}),  # what states nothing is not known to be the same
        ({"laboratory": "a"}, {"laboratory": "a"}),
    ],
)
def test_what_differs_or_is_not_stated_is_no_like_machine(client, mine, other):
    published("other", **other, ext4=50.0)
    assert like_machines(published("mine", **mine, ext4=100.0)) == []
    assert "Nobody else published the same load" in page_of(client, "mine")


def test_what_looks_like_no_disks_number_is_no_like_machine():
    published("cached", laboratory="a", ext4=4000.0)
    assert like_machines(published("mine", ext4=100.0)) == []


def test_a_draft_is_no_like_machine(client):
    draft = make_case_study("draft")
    make_measurement(case_study=draft, variant=make_variant(parameters={"threads": 16}))
    assert like_machines(published("mine", ext4=100.0)) == []
    assert client.get("/case-studies/draft/effects/").status_code == 404
