"""An answer that would keep a visitor waiting is left to a worker, and the page and the API say so."""

import pytest

from kdb.jobs import jobs
from kdb.models import Job
from modelling.answer_store import snapshots
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot
from tests.factories import make_case_study, make_measurement, publish

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/rankings/guest-fs/?workload=varmail"
PAGE = "/?axis=guest-fs&workload=varmail"
MAIL = Question("guest-fs", "varmail")


@pytest.fixture(autouse=True)
def _two_arms_are_many(settings):
    settings.KDB_MOST_ARMS_AT_ONCE = 1
    case_study = make_case_study()
    for guest_fs, value in (("ext4", 100.0), ("xfs", 50.0)):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload="varmail")
    publish(case_study)


def work() -> None:
    for job in Job.objects.filter(kind=snapshots.JOB, state=Job.State.QUEUED):
        jobs.run(job.pk)


def test_the_api_says_to_ask_again_and_then_answers(client):
    first = client.get(ADDRESS)
    assert first.status_code == 202
    assert first["Retry-After"] == "2"
    assert first.json()["detail"] == "The answer is being worked out."
    assert Job.objects.filter(kind=snapshots.JOB, state=Job.State.QUEUED).exists()
    work()
    response = client.get(ADDRESS)
    assert response.status_code == 200
    assert [entry["key"] for entry in response.json()["entries"]] == ["ext4", "xfs"]


def test_the_page_asks_again_by_itself_until_the_answer_is_there(client):
    page = client.get(PAGE).content.decode()
    assert "This answer is being worked out" in page
    assert 'hx-trigger="every 2s"' in page
    assert "No other question comes first." in page
    client.get("/?axis=host-fs&workload=varmail")  # asked later, so it comes first
    assert "1 other question comes first." in client.get(PAGE).content.decode()
    work()
    page = client.get(PAGE).content.decode()
    assert "being worked out" not in page
    assert "Compared by throughput" in page


def test_it_is_asked_of_a_worker_once(client):
    for _ in range(3):
        client.get(ADDRESS)
    assert RankingSnapshot.objects.filter(question=MAIL.key).count() == 1
    assert Job.objects.filter(kind=snapshots.JOB, state=Job.State.QUEUED).count() == 1


def test_a_failure_is_told(client, monkeypatch):
    client.get(ADDRESS)

    def fail(*arguments, **fields):
        raise ValueError("no such weather")

    monkeypatch.setattr(snapshots, "estimate", fail)
    work()
    assert client.get(ADDRESS).json()["error"] == "no such weather"
    assert "It failed 1 time and is tried again: no such weather" in client.get(PAGE).content.decode()


def test_the_status_counts_it_among_those_that_wait(client):
    client.get(ADDRESS)
    assert client.get("/api/v1/status/").json()["answers"]["waiting"] == 1


def test_what_was_answered_before_is_never_waited_for(client, settings):
    settings.KDB_MOST_ARMS_AT_ONCE = 5_000
    assert client.get(ADDRESS).status_code == 200
    settings.KDB_MOST_ARMS_AT_ONCE = 1
    assert client.get(ADDRESS).status_code == 200


def test_a_question_that_waits_is_no_answer_of_an_earlier_revision(client):
    client.get(ADDRESS)
    assert client.get(f"{ADDRESS}&as_of=1").json()["entries"]


def test_a_grid_waits_likewise(client):
    assert client.get("/api/v1/heat-maps/?workload=varmail").status_code == 202
