"""Published evidence that is superseded or doubted: it counts nowhere, is shown, and leads to what replaced it."""

import pytest
from django.test import Client

from experiments.case_studies import lifecycle, retraction
from experiments.case_studies.lifecycle import CaseStudyError
from experiments.models import CaseStudy, Measurement
from experiments.published_evidence.corrections import COLUMNS, apply_corrections
from experiments.published_evidence.files import EvidenceError
from modelling.answer_store.previews import effects
from modelling.answer_store.selectors import past_snapshot
from modelling.evidence import dataframes
from modelling.evidence.question import Question
from modelling.models import Arm, RevisionEffects
from tests.factories import make_case_study, make_measurement, make_user

pytestmark = pytest.mark.django_db

ASKED = Question("guest-fs", "varmail")


def publish(slug: str, owner=None, **values: float) -> CaseStudy:
    study = make_case_study(slug, owner=owner)
    for guest_fs, value in values.items():
        make_measurement(value, case_study=study, guest_fs=guest_fs, source=f"row {guest_fs}")
    lifecycle.publish([study], reason="measured")
    return study


def values_of(**asked) -> dict[str, float]:
    """Return the value that counts for each guest file system, rounded."""
    arms = dataframes.arms(ASKED, **asked)
    return {row.guest_fs: round(2.718281828**row.mean_log) for row in arms.itertuples()}


@pytest.fixture
def old():
    return publish("old", ext4=300.0, xfs=100.0, btrfs=50.0)


@pytest.fixture
def new(old):
    return publish("new", ext4=100.0, xfs=300.0)


def test_a_superseded_case_study_counts_no_longer_and_leads_to_the_later_one(old, new, client):
    before = past_snapshot(ASKED, 2).result["evidence"]
    revision = retraction.end(old, reason="sparse images", replaced_by=new)
    assert set(dataframes.arms(ASKED)["case_study"]) == {"new"}
    assert set(dataframes.arms(ASKED, as_of=2)["case_study"]) == {"old", "new"}
    assert past_snapshot(ASKED, 2).result["evidence"] == before
    page = client.get("/case-studies/old/").content.decode()
    assert "/case-studies/new/" in page
    assert "sparse images" in page
    assert "/case-studies/old/" in client.get("/case-studies/new/").content.decode()
    assert client.get(f"/measurements/{Measurement.objects.first().pk}/").content.decode().count("/case-studies/new/")
    (ending,) = client.get("/api/v1/case-studies/old/").json()["endings"]
    assert (ending["kind"], ending["replaced_by"], ending["revision"]) == ("superseded", "new", revision.number)
    assert client.get(f"/api/v1/revisions/{revision.number}/").json()["retracted"] == ["old"]


def test_rows_that_end_count_no_longer_and_did_before(old, new):
    assert values_of()["btrfs"] == 50
    (row,) = Measurement.objects.filter(configuration__case_study=old, configuration__guest_fs__slug="btrfs")
    retraction.end(old, reason="four seconds long", rows=[row.pk])
    assert "btrfs" not in values_of()
    assert values_of(as_of=2)["btrfs"] == 50
    (other,) = Measurement.objects.filter(configuration__case_study=old, configuration__guest_fs__slug="xfs")
    retraction.end(old, reason="measured again", replaced_by=new, rows=[other.pk])
    assert values_of(as_of=3).keys() == {"ext4", "xfs"}
    assert len(dataframes.arms(ASKED, as_of=2)) == 5
    assert len(dataframes.arms(ASKED, as_of=3)) == 4
    row.refresh_from_db()
    assert row.excluded_because == "doubted at revision 3: four seconds long"
    retraction.retract(old, reason="all of it was wrong")  # summed up anew: what stood before stays as it was
    assert len(dataframes.arms(ASKED, as_of=2)) == 5
    assert len(dataframes.arms(ASKED, as_of=4)) == 3
    assert Arm.objects.filter(configuration__case_study=old).count() == 1


@pytest.mark.parametrize("wrong", ["no reason", "draft", "itself", "other rows", "no rows", "again"])
def test_what_cannot_end_changes_nothing(old, new, wrong):
    asked = {"reason": "why", "replaced_by": new}
    case_study = old
    match wrong:
        case "no reason":
            asked["reason"] = " "
        case "draft":
            asked["replaced_by"] = make_case_study("draft")
        case "itself":
            asked["replaced_by"] = old
        case "other rows":
            asked["rows"] = [Measurement.objects.filter(configuration__case_study=new).first().pk]
        case "no rows":
            asked["rows"] = []
        case "again":
            case_study = new
            retraction.end(new, reason="doubtful")
            asked["replaced_by"] = old
    before = list(CaseStudy.objects.values_list("slug", "status"))
    with pytest.raises(CaseStudyError):
        retraction.end(case_study, **asked)
    assert list(CaseStudy.objects.values_list("slug", "status")) == before


def test_reviewers_and_authors_end_what_is_published_and_nobody_else_does(client):
    ada = make_user("researchers", username="ada")
    publish("mine", owner=ada, ext4=3.0, xfs=1.0)
    publish("theirs", ext4=3.0, xfs=1.0)
    body = {"replaced_by": "theirs", "measurements": "", "reason": "measured again"}
    assert client.post("/case-studies/mine/end/", body).status_code == 302  # to sign in
    assert CaseStudy.objects.published().count() == 2
    client.force_login(ada)
    assert client.post("/case-studies/theirs/end/", body).status_code == 403
    assert client.post("/case-studies/mine/end/", body | {"replaced_by": "no-such"}).status_code == 422
    assert client.post("/case-studies/mine/end/", body).status_code == 302
    assert CaseStudy.objects.get(slug="mine").status == "superseded"
    reviewer = Client()
    reviewer.force_login(make_user("reviewers"))
    response = reviewer.post("/api/v1/case-studies/theirs/end/", {"reason": "doubtful"}, "application/json")
    assert response.status_code == 200
    assert CaseStudy.objects.get(slug="theirs").status == "doubted"


def test_a_file_ends_what_it_names_once_and_waits_for_what_is_not_loaded(old, tmp_path):
    lines = [",".join(COLUMNS), "old,,,new,measured again", "old,,row btrfs,,four seconds"]
    (tmp_path / "endings.csv").write_text("\n".join(lines))
    assert apply_corrections(tmp_path) == ["1 measurements of old doubted, as revision 2"]
    assert apply_corrections(tmp_path) == []
    publish("new", ext4=100.0, xfs=300.0)
    assert apply_corrections(tmp_path) == ["old superseded by new, as revision 4"]
    publish("third", ext4=1.0)
    (tmp_path / "endings.csv").write_text("\n".join([lines[0], "third,,row nine,,why"]))
    with pytest.raises(EvidenceError, match="line 2, source"):
        apply_corrections(tmp_path)


def test_the_headlines_that_moved_are_told(old, new, client):
    strong = publish("strong", ext4=3000.0, xfs=100.0)
    retraction.end(strong, reason="sparse images", replaced_by=new)
    assert client.get("/api/v1/revisions/4/effects/").json() == {"state": "computing", "result": None}
    effects.compute_effects(lambda done, total: None)
    assert client.get("/api/v1/revisions/1/effects/").json()["state"] == "none"
    moved = client.get("/api/v1/revisions/4/effects/").json()["result"]["moved"]
    assert moved
    assert all(question["before_url"].endswith(f"as_of=3&method={kept_method()}") for question in moved)
    assert all(question["before"] != question["after"] for question in moved)
    assert moved[0]["after"]["sentence"] in client.get("/knowledge/revisions/4/").content.decode()


def kept_method() -> int:
    return RevisionEffects.objects.get(revision=4).method
