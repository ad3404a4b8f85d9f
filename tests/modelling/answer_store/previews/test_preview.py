"""The preview of what publishing a draft would change: the same as happens then, and seen by few."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from experiments.case_studies import lifecycle, reviews
from experiments.models import CaseStudy
from kdb.jobs import jobs
from kdb.models import Job
from modelling.answer_store.previews import preview as previews
from modelling.answer_store.selectors import current_snapshot
from modelling.answer_store.snapshots import compute_and_store
from modelling.evidence import counts
from modelling.evidence.question import Question
from modelling.models import Arm, PublicationPreview
from tests.factories import make_case_study, make_measurement, make_user, make_variant

pytestmark = pytest.mark.django_db

FAST = {"btrfs": 10.0, "ext4": 30.0, "xfs": 20.0}
BTRFS_FIRST = {"btrfs": 30.0, "xfs": 20.0, "ext4": 10.0}


def study(slug: str, values: dict[str, float], **fields) -> CaseStudy:
    case_study = make_case_study(slug, **fields)
    for guest_fs, value in values.items():
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload="varmail")
    return case_study


def preview(draft: CaseStudy) -> dict:
    previews.compute_preview(draft.pk, lambda done, total: None)
    return PublicationPreview.objects.get(case_study=draft).result


@pytest.fixture
def published():
    """Btrfs first, then XFS, then ext4."""
    case_study = study("first", BTRFS_FIRST)
    lifecycle.publish([case_study], reason="the first")
    return case_study


@pytest.fixture
def draft(published):
    return study("my-study", {"btrfs": 1.0, "xfs": 20.0, "ext4": 100.0}, owner=make_user(username="ada"))


def guest_fs(result: dict) -> dict:
    return next(
        q for q in result["questions"] if q["question"]["axis"] == "guest-fs" and not q["question"]["hypervisor"]
    )


def test_entries_that_move_are_told_with_old_and_new_rank():
    lifecycle.publish([study("first", {"btrfs": 30.0, "xfs": 29.0, "ext4": 28.0})], reason="the first")
    draft = study("my-study", {"btrfs": 1.0, "xfs": 20.0, "ext4": 100.0})
    moves = {move["key"]: (move["before"]["rank"], move["after"]["rank"]) for move in guest_fs(preview(draft))["moves"]}
    assert (moves["ext4"], moves["btrfs"]) == ((3, 1), (1, 3))


def test_the_preview_is_what_publication_then_does(draft):
    result = preview(draft)
    lifecycle.publish([draft], reason="now")
    for changed in result["questions"]:
        asked = Question(**changed["question"])
        answer = compute_and_store(asked).result
        ranks = {entry["key"]: entry["rank"] for entry in answer["entries"]}
        for move in changed["moves"]:
            assert ranks[move["key"]] == move["after"]["rank"]


def test_a_new_workload_gets_its_first_ranking(published):
    other = make_case_study("my-study")
    for guest, value in FAST.items():
        make_measurement(value, case_study=other, guest_fs=guest, workload="fileserver")
    moves = guest_fs(preview(other))["moves"]
    assert [move["before"] for move in moves] == [None, None, None]
    assert {move["key"] for move in moves} == {"ext4", "xfs", "btrfs"}
    assert {move["after"]["rank"] for move in moves} == {1, 2, 3}


def test_what_finds_the_same_again_moves_no_rank(published):
    """A fourth laboratory that found what three found before it: headlines may become surer in the six questions."""
    for slug in ("second", "third"):
        lifecycle.publish([study(slug, BTRFS_FIRST)], reason="the same again")
    result = preview(study("my-study", BTRFS_FIRST))
    assert len(result["questions"]) + result["unchanged"] == 6
    moves = [move for question in result["questions"] for move in question["moves"]]
    assert all(move["before"]["rank"] == move["after"]["rank"] for move in moves)


def test_nothing_of_a_draft_leaks_into_what_everybody_sees(draft, client):
    asked = Question("guest-fs", "varmail")
    before = current_snapshot(asked).result
    held = counts._count()
    preview(draft)
    assert Arm.objects.filter(configuration__case_study=draft).exists()
    assert compute_and_store(asked).result == before
    assert counts._count() == held
    assert "my-study" not in client.get("/api/v1/rankings/guest-fs/?workload=varmail").content.decode()
    assert "my-study" not in client.get("/?axis=guest-fs&workload=varmail").content.decode()


def test_a_preview_is_stale_once_the_draft_or_the_knowledge_changes(draft):
    assert previews.preview_state(draft)[0] == "none"
    preview(draft)
    assert previews.preview_state(draft)[0] == "ready"
    make_measurement(5.0, case_study=draft, guest_fs="ext4", workload="varmail", repetition=2)
    assert previews.preview_state(draft)[0] == "stale"
    preview(draft)
    lifecycle.publish([study("other", FAST)], reason="another")
    assert previews.preview_state(draft)[0] == "stale"


def test_publication_ends_the_preview(draft):
    preview(draft)
    lifecycle.publish([draft], reason="now")
    assert not PublicationPreview.objects.exists()
    previews.compute_preview(draft.pk, lambda done, total: None)
    assert not PublicationPreview.objects.exists()


def test_it_is_asked_for_once_and_worked_out_by_a_worker(draft, client):
    client.force_login(draft.owner)
    address = "/case-studies/my-study/preview/"
    assert "Not worked out yet" in client.get(address).content.decode()
    client.post(address)
    client.post(address)
    job = Job.objects.get(kind=previews.JOB)
    page = client.get(address).content.decode()
    assert "Being worked out" in page
    assert "hx-trigger" in page
    assert client.get("/api/v1/drafts/my-study/preview/").json()["state"] == "computing"
    jobs.run(job.pk)
    page = client.get(address).content.decode()
    assert "Compared with knowledge revision 1" in page
    assert "hx-trigger" not in page
    assert client.get("/api/v1/drafts/my-study/preview/").json()["result"]["questions"]


def test_a_job_that_fails_leaves_the_preview_before(draft, monkeypatch):
    preview(draft)
    previews.request_preview(draft)
    monkeypatch.setattr(previews, "estimate", lambda *_, **__: 1 / 0)
    jobs.run(Job.objects.get(kind=previews.JOB).pk)
    state, kept, job = previews.preview_state(draft)
    assert state == "failed"
    assert "With it, “varmail: which file-system pair?” has no answer: division by zero." in job.error
    assert kept.result["questions"]


def test_a_draft_with_which_a_question_has_no_answer_is_not_published(client, draft, monkeypatch):
    """The reviewer is told which one and why; what only fails without the draft is no reason."""
    answered = previews.estimate
    monkeypatch.setattr(
        previews, "estimate", lambda question, with_draft=None: answered(question) if with_draft is None else 1 / 0
    )
    reviews.submit(draft, user=draft.owner)
    client.force_login(make_user("reviewers"))
    address = f"/api/v1/drafts/{draft.slug}/publish/"
    response = client.post(address, {"reason": "It is sound."}, content_type="application/json")
    draft.refresh_from_db()
    assert (response.status_code, draft.status) == (409, CaseStudy.Status.SUBMITTED)
    assert "With it, “varmail: which file-system pair?” has no answer: division by zero." in response.json()["detail"]
    monkeypatch.setattr(
        previews, "estimate", lambda question, with_draft=None: answered(question, with_draft=with_draft or 1 // 0)
    )
    assert client.post(address, {"reason": "It is sound."}, content_type="application/json").status_code == 200


def test_it_is_seen_by_those_who_may_see_the_draft(draft):
    for user, status in ((None, 401), (make_user("researchers"), 404), (make_user("administrators"), 200)):
        client = Client()
        if user:
            client.force_login(user)
        assert client.get("/api/v1/drafts/my-study/preview/").status_code == status


def test_headlines_that_move_are_told_before_and_after_and_shown_first(client, draft):
    asked = guest_fs(preview(draft))
    sentences = asked["before"]["sentence"], asked["after"]["sentence"]
    assert asked["headline_moves"]
    assert sentences[0] == current_snapshot(Question("guest-fs", "varmail")).result["verdict"]["sentence"]
    client.force_login(draft.owner)
    page = client.get(reverse("publication-preview", args=[draft.slug])).content.decode()
    assert "Headlines that change" in page
    assert all(escape(sentence) in page for sentence in sentences)
    lifecycle.publish([draft], reason="now")
    assert compute_and_store(Question("guest-fs", "varmail")).result["verdict"]["sentence"] == sentences[1]


def test_a_draft_of_anecdotes_moves_no_headline_and_no_rank(published):
    """Four seconds, one run, nothing said: it turned the answer before."""
    shout = make_case_study("shout", procedure="")
    load = make_variant("varmail", parameters={"runtime": "4"})
    for guest_fs_slug, value in {"btrfs": 1.0, "xfs": 20.0, "ext4": 9000.0}.items():
        make_measurement(value, case_study=shout, guest_fs=guest_fs_slug, variant=load)
    result = preview(shout)
    assert (result["questions"], result["left_out"]) == ([], 0)
    assert result["unchanged"] > 0


def test_what_takes_too_long_is_left_out_and_counted(draft, monkeypatch):
    monkeypatch.setattr(previews, "MOST_SECONDS", -1)
    result = preview(draft)
    assert (result["questions"], result["unchanged"]) == ([], 0)
    assert result["left_out"] > 0


def test_what_is_said_of_how_it_was_measured_makes_a_preview_stale(draft):
    preview(draft)
    CaseStudy.objects.filter(pk=draft.pk).update(procedure="")
    assert previews.preview_state(draft)[0] == "stale"
