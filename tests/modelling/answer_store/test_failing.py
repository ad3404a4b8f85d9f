"""Answers that fail with new evidence: readers have the one of before, and are told; nobody has an error page."""

import logging
import re

import pytest
from django.core.management import call_command
from django.db import DatabaseError

from experiments.case_studies import lifecycle
from modelling.answer_store import permalinks, selectors, snapshots
from modelling.answers import estimate
from modelling.estimation.network import NotEstimated
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_measurement

pytestmark = pytest.mark.django_db
ASKED = Question("guest-fs", "varmail")
PAGE = "/?axis=guest-fs&workload=varmail"
API = "/api/v1/rankings/guest-fs/?workload=varmail"


def publish_guests(slug: str, **values: float) -> None:
    study = make_case_study(slug)
    for guest_fs, value in values.items():
        make_measurement(value, case_study=study, guest_fs=guest_fs, workload="varmail")
    lifecycle.publish([study], reason=slug)


@pytest.fixture
def second_fails(monkeypatch):
    """Two revisions; with what the second brought there is no estimate, until the fault is mended: call it."""
    publish_guests("first", ext4=10.0, xfs=20.0)
    publish_guests("second", ext4=10.0, btrfs=20.0)
    rank, is_at_fault = estimate.rank, [True]

    def ranked(arms, *arguments, **options):
        if is_at_fault and "second" in set(arms["case_study"]):
            raise NotEstimated("the fit of its entries came to something that is no number.")
        return rank(arms, *arguments, **options)

    monkeypatch.setattr(estimate, "rank", ranked)
    return is_at_fault.clear


def test_the_answer_of_before_is_given_and_says_so_and_the_log_has_why(second_fails, client, caplog):
    with caplog.at_level(logging.ERROR, "modelling.answer_store.selectors"):
        body = client.get(API).json()
    assert (body["revision"], body["superseded_by"]) == (1, 2)
    assert {entry["key"] for entry in body["entries"]} == {"ext4", "xfs"}
    assert f"question={ASKED.key}" in caplog.text
    assert "NotEstimated" in caplog.text
    page = re.sub(r"\s+", " ", client.get(PAGE).content.decode())
    assert "Newer evidence (knowledge revision 2) could not be processed: the fit of its entries came to" in page
    assert "This is the previous answer, of revision 1; KDB tries again." in page


def test_it_is_tried_again_and_the_banner_goes_with_the_fault(second_fails, client):
    client.get(PAGE)
    assert [row["question"] for row in snapshots.renewal_state()["failing"]] == [ASKED.key]
    second_fails()
    snapshots.answer_waiting_questions(lambda done, total: None)
    body = client.get(API).json()
    assert (body["revision"], body["superseded_by"]) == (2, None)
    assert "could not be processed" not in client.get(PAGE).content.decode()


def test_a_kept_answer_whose_renewal_fails_says_so_as_well(second_fails, client):
    kept = snapshots.compute_past(ASKED, 1)
    kept.superseded_by = 2
    snapshots._store(2, kept)
    assert "being processed</a>" in client.get(PAGE).content.decode()
    with pytest.raises(snapshots.NotAnswered):
        snapshots.answer_waiting_questions(lambda done, total: None)
    assert "could not be processed: the fit" in client.get(PAGE).content.decode()


def test_an_answer_of_an_earlier_method_is_better_than_none(second_fails, monkeypatch):
    older = snapshots.compute_past(ASKED, 1)
    older.method -= 1
    snapshots._store(2, older)
    monkeypatch.setattr(snapshots, "compute_past", lambda *_: 1 / 0)
    given = selectors.current_snapshot(ASKED)
    assert (given.method, given.superseded_by, given.result) == (older.method, 2, older.result)
    assert (1, older.method) in permalinks.pinned_versions(permalinks.permalink_key("ranking", ASKED.key))


def test_a_database_that_is_down_is_no_answer_that_fails(second_fails, monkeypatch):
    def is_down(question):
        raise DatabaseError("connection to server at 10.0.0.1 failed")

    monkeypatch.setattr(selectors, "compute_and_store", is_down)
    with pytest.raises(DatabaseError):
        selectors.current_snapshot(ASKED)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.sqlite
def test_published_baselines_of_firecracker_leave_every_question_with_an_answer(client, settings):
    """Of 32 draws of the published scales one says that modes of I/O never differ; all weights were no numbers.

    By day tests/modelling/estimation/test_any_mix.py asks the same of made-up arms.
    """
    settings.KDB_OUTSIDE = settings.BASE_DIR / "fixtures" / "outside"
    settings.KDB_CPU_SECONDS_A_REQUEST = 0
    call_command("load_evidence", verbosity=0)
    call_command("import_table", settings.BASE_DIR / "tests" / "data" / "firecracker", "--publish")
    for workload in ("random-read", "random-mixed"):
        for filters in ("", "&hypervisor=firecracker"):
            asked = f"?workload={workload}{filters}"
            body = client.get(f"/api/v1/rankings/io-mode/{asked}").json()
            assert {"io_uring", "threads"} <= {entry["key"] for entry in body["entries"]}
            assert body["superseded_by"] is None
            assert client.get(f"/?axis=io-mode&{asked[1:]}").status_code == 200
