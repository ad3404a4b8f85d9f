"""The life of kept answers: superseded, answered again whatever is lost, failing alone, checked, forgotten."""

import io
import json
import sqlite3
import threading
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.db.models import Q
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from experiments.case_studies import retraction
from experiments.models import CaseStudy, KnowledgeRevision
from kdb.jobs import jobs, tasks
from kdb.models import Job
from modelling.answer_store import snapshots, standing
from modelling.answer_store.selectors import current_snapshot, past_snapshot
from modelling.claims import verdicts
from modelling.evidence import dataframes, storage
from modelling.evidence.axes import AXES
from modelling.evidence.question import GRADES, Question
from modelling.models import ClaimVerdict, QualityReport, RankingSnapshot
from modelling.prediction.validation import reports
from tests.factories import make_case_study, make_claim, make_measurement, make_publication, publish

pytestmark = pytest.mark.both

MAIL = Question("fs-pair", "varmail")
WEB = Question("fs-pair", "webserver")
STATUS = "/api/v1/status/"


def published(*values: float, **fields) -> CaseStudy:
    """Return a published case study that compares ext4 with xfs as guest."""
    case_study = make_case_study()
    for guest_fs, value in zip(("ext4", "xfs"), values, strict=True):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, **{"workload": "varmail", **fields})
    publish(case_study)
    return case_study


def best(question: Question) -> str:
    return current_snapshot(question).result["entries"][0]["key"]


def tick() -> None:
    tasks.tick.apply()


def work() -> list[str]:
    """Do the jobs that wait; the states they end in."""
    waiting = list(Job.objects.filter(state="queued").order_by("pk").values_list("pk", flat=True))
    for pk in waiting:
        jobs.run(pk)
    return [Job.objects.get(pk=pk).state for pk in waiting]


def check() -> str:
    out = io.StringIO()
    call_command("check_answers", stdout=out)
    return out.getvalue()


@contextmanager
def elsewhere(action):
    """Let another connection do `action` before the block begins, in a transaction that ends with the block."""
    acting, over, failures = threading.Event(), threading.Event(), []

    def run():
        try:
            with transaction.atomic():
                action()
                acting.set()
                over.wait(30)
        except Exception as error:
            failures.append(error)
        finally:
            acting.set()
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    acting.wait(30)
    try:
        yield thread
    finally:
        over.set()
        thread.join()
    assert not failures, failures


def lock_revision() -> None:
    list(KnowledgeRevision.objects.select_for_update().order_by("-number")[:1])


# Nothing freezes


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("answers_hold")
def test_a_job_waits_for_a_publication_under_way_and_answers_on_what_it_brought():
    published(100.0, 102.0)
    assert best(MAIL) == "xfs-on-ext4"
    published(900.0, 100.0)
    draft = make_case_study()
    for guest_fs, value in (("ext4", 1.0), ("xfs", 1000.0)):
        make_measurement(value, case_study=draft, guest_fs=guest_fs, workload="varmail")
    job = Job.objects.get(kind=snapshots.JOB)
    ended = []

    def run():
        ended.append(jobs.run(job.pk))
        connection.close()

    worker = threading.Thread(target=run)
    with elsewhere(lambda: publish(draft)):
        worker.start()
        worker.join(2)
        assert worker.is_alive()  # it waits
    worker.join(30)
    job.refresh_from_db()
    assert (ended, job.state) == ([True], "done")
    newest = current_snapshot(MAIL)
    assert (newest.revision, newest.superseded_by) == (3, None)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("answers_hold")
def test_a_lock_that_is_no_publication_freezes_nothing():
    published(100.0, 102.0)
    best(MAIL)
    published(900.0, 100.0)
    worker = threading.Thread(target=lambda: (work(), connection.close()))
    with elsewhere(lock_revision):
        worker.start()
        worker.join(1)
    worker.join(30)
    assert (best(MAIL), current_snapshot(MAIL).superseded_by) == ("ext4-on-ext4", None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("answers_hold")
def test_a_visitor_does_not_wait_for_a_publication():
    published(100.0, 102.0)
    draft = make_case_study()
    for guest_fs, value in (("ext4", 900.0), ("xfs", 1.0)):
        make_measurement(value, case_study=draft, guest_fs=guest_fs, workload="varmail")
    with elsewhere(lambda: publish(draft)) as publication:
        assert best(MAIL) == "xfs-on-ext4"
        assert publication.is_alive()
        assert not RankingSnapshot.objects.exists()
    assert best(MAIL) == "ext4-on-ext4"
    assert RankingSnapshot.objects.get().revision == 2


@pytest.mark.django_db(transaction=True)
def test_a_visitor_who_is_noted_does_not_wait_for_a_publication():
    published(100.0, 102.0)
    best(MAIL)
    long_ago = now() - timedelta(days=2)
    RankingSnapshot.objects.update(asked_at=long_ago)
    draft = make_case_study()
    make_measurement(5.0, case_study=draft, workload="varmail")
    with elsewhere(lambda: publish(draft)):
        assert best(MAIL)
        assert RankingSnapshot.objects.get().asked_at == long_ago
    assert best(MAIL)
    assert RankingSnapshot.objects.get().asked_at > long_ago


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_who_waited_for_a_publication_does_not_keep_what_came_before_it():
    published(100.0, 102.0)
    draft = make_case_study()
    make_measurement(5.0, case_study=draft)
    kept = []

    def keep():
        kept.append(storage.store_if_current(1, lambda: None, wait=True))
        connection.close()

    waiting = threading.Thread(target=keep)
    with elsewhere(lambda: publish(draft)):
        waiting.start()
        waiting.join(1)
        assert waiting.is_alive()
    waiting.join(30)
    assert kept == [False]


@pytest.mark.django_db
@pytest.mark.usefixtures("answers_hold")
@pytest.mark.parametrize("lost", ["deleted", "failed", "done"])
def test_the_tick_finds_what_waits_whatever_became_of_its_job(lost):
    published(100.0, 102.0)
    best(MAIL)
    published(900.0, 100.0)
    job = Job.objects.get(kind=snapshots.JOB)
    if lost == "deleted":
        job.delete()
    else:
        Job.objects.filter(pk=job.pk).update(state=lost, finished_at=now() - timedelta(hours=1))
    assert "for the next tick" in check()
    tick()
    assert set(work()) == {"done"}  # the first report on quality is asked for as well
    assert (best(MAIL), current_snapshot(MAIL).superseded_by) == ("ext4-on-ext4", None)
    tick()
    assert not Job.objects.filter(kind=snapshots.JOB, state="queued").exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("answers_hold")
def test_a_publication_during_the_job_is_answered_by_the_same_job(monkeypatch):
    published(100.0, 102.0)
    best(MAIL)
    published(900.0, 100.0)
    real, further = snapshots.estimate, [(1.0, 1e6), (1e6, 1.0)]

    def slow(question, as_of=None):
        answer = real(question, as_of)
        if further:
            published(*further.pop())
        return answer

    monkeypatch.setattr(snapshots, "estimate", slow)
    assert jobs.run(Job.objects.get(kind=snapshots.JOB, state="queued").pk)
    newest = current_snapshot(MAIL)
    assert (newest.revision, newest.superseded_by, newest.attempts) == (4, None, 0)


# A question that fails


@pytest.fixture
def two_questions(db):
    """Make the questions on mail and web, both superseded."""
    for workload in ("varmail", "webserver"):
        published(100.0, 102.0, workload=workload)
    assert best(MAIL) == best(WEB) == "xfs-on-ext4"
    for workload in ("varmail", "webserver"):
        published(900.0, 100.0, workload=workload)


def break_mail(monkeypatch, error: BaseException) -> None:
    real = snapshots.estimate

    def broken(question, as_of=None):
        if question.workload == "varmail":
            raise error
        return real(question, as_of)

    monkeypatch.setattr(snapshots, "estimate", broken)


def test_a_question_that_fails_stops_no_other_and_says_why_until_it_succeeds(two_questions, monkeypatch, client):
    break_mail(monkeypatch, ValueError("a singular matrix"))
    Job.objects.filter(kind=standing.JOB).delete()  # which asks more of the same workload
    assert work() == ["failed"]
    assert "a singular matrix" in Job.objects.get(kind=snapshots.JOB).error
    assert (best(WEB), best(MAIL)) == ("ext4-on-ext4", "xfs-on-ext4")
    answers = client.get(STATUS).json()["answers"]
    (failing,) = answers["failing"]
    assert (answers["waiting"], failing["question"]) == (1, MAIL.key)
    assert (failing["attempts"], failing["reason"]) == (1, "a singular matrix")
    assert "These could not be updated: rankings" in client.get(reverse("revision-list")).content.decode()
    tick()
    assert not Job.objects.filter(kind=snapshots.JOB, state="queued").exists()  # not at once

    monkeypatch.undo()
    RankingSnapshot.objects.update(retry_at=now() - timedelta(seconds=1))
    Job.objects.filter(kind=snapshots.JOB).update(finished_at=now() - timedelta(hours=1))
    tick()
    assert set(work()) == {"done"}  # the first report on quality is asked for as well
    assert best(MAIL) == "ext4-on-ext4"
    assert client.get(STATUS).json()["answers"] == {"waiting": 0, "failing": []}
    assert "Everything published is processed" in client.get(reverse("revision-list")).content.decode()


def test_attempts_come_ever_more_rarely_and_at_once_after_new_evidence(two_questions, monkeypatch):
    break_mail(monkeypatch, ValueError("a singular matrix"))
    delays = []
    for _ in range(12):
        RankingSnapshot.objects.update(retry_at=None)
        begun = now()
        with pytest.raises(snapshots.NotAnswered):
            snapshots.answer_waiting_questions(lambda done, total: None)
        row = RankingSnapshot.objects.get(question=MAIL.key)
        delays.append((row.retry_at - begun).total_seconds() / 60)
    assert delays[:3] == [pytest.approx(minutes, abs=0.2) for minutes in (1, 2, 4)]
    assert delays[-1] == pytest.approx(24 * 60, abs=0.2)
    published(900.0, 100.0)
    row.refresh_from_db()
    assert (row.attempts, row.retry_at, row.error) == (0, None, "")


def test_a_question_that_kills_its_worker_is_put_off_and_the_others_go_on(two_questions, monkeypatch, client):
    break_mail(monkeypatch, SystemExit("killed"))
    (job,) = Job.objects.filter(kind=snapshots.JOB)
    for _ in range(2):
        with pytest.raises(SystemExit):  # noqa: PT012 - either run may meet it
            jobs.run(job.pk)
            raise SystemExit
    RankingSnapshot.objects.filter(question=MAIL.key).update(retry_at=None)
    with pytest.raises(SystemExit):
        snapshots.answer_waiting_questions(lambda done, total: None)
    assert best(WEB) == "ext4-on-ext4"
    (failing,) = client.get(STATUS).json()["answers"]["failing"]
    assert (failing["attempts"], failing["reason"]) == (2, "The worker was stopped while it was answered.")


def test_a_reason_tells_nothing_of_the_database(two_questions, monkeypatch, client):
    break_mail(monkeypatch, OperationalError('connection to server at "10.0.0.5" failed'))
    work()
    assert client.get(STATUS).json()["answers"]["failing"][0]["reason"] == "OperationalError"


# Relatives: quality report and verdicts


@pytest.mark.django_db
def test_the_tick_asks_again_for_a_report_and_verdicts_that_are_behind():
    first = published(100.0, 102.0)
    make_claim(code="X-C01", publication=make_publication()).case_studies.add(first)
    verdicts.recompute()
    reports.compute()
    published(900.0, 100.0)
    Job.objects.all().delete()
    tick()
    assert set(work()) == {"done"}
    assert QualityReport.objects.first().revision == 2
    assert set(ClaimVerdict.objects.values_list("revision", flat=True)) == {2}
    tick()
    assert not Job.objects.filter(state="queued").exists()


@pytest.mark.django_db
def test_work_that_failed_is_asked_for_again_after_a_while():
    Job.objects.create(kind=reports.JOB, state="failed", finished_at=now(), error="broken")
    jobs.enqueue_with_backoff(reports.JOB)
    assert not Job.objects.filter(state="queued").exists()
    Job.objects.update(finished_at=now() - timedelta(seconds=61))
    for _ in range(2):
        jobs.enqueue_with_backoff(reports.JOB)
    assert Job.objects.filter(state="queued").count() == 1


# The check


@pytest.mark.django_db
def test_the_check_finds_an_answer_that_differs_and_mends_it(published_evidence):
    for axis in ("fs-pair", "hypervisor"):
        current_snapshot(Question(axis, "varmail"))
    assert check() == "2 standing answers were computed again; 0 wait.\n"
    row = RankingSnapshot.objects.get(question=MAIL.key)
    kept = row.result["entries"][1]["ratio"]
    row.result["entries"][1]["ratio"] = 0.123
    row.save()
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 of 2 standing answers differ"):
        call_command("check_answers", stdout=out)
    assert out.getvalue() == (
        f"differing  fs-pair?workload=varmail: entries[1].ratio: 0.123 is kept, {json.dumps(kept)} is computed\n"
    )
    call_command("check_answers", "--mend", stdout=out)
    assert check() == "1 standing answers were computed again; 0 wait.\n"


@pytest.mark.nightly
@pytest.mark.django_db
@pytest.mark.usefixtures("answers_hold")
def test_a_draft_of_the_same_publication_changes_no_answer_that_stands(published_evidence):
    for workload in ("varmail", "fileserver"):
        for axis in AXES:
            current_snapshot(Question(axis, workload))
    study = CaseStudy.objects.filter(findings__isnull=False).first()
    draft = make_case_study(publication=study.publication)
    for hypervisor in ("kvm", "proxmox", "xen", "esxi"):
        measurement = make_measurement(5.0, case_study=draft, hypervisor=hypervisor)
        measurement.configuration.cache_mode = "unsafe"
        measurement.configuration.save()


# How many are kept


@pytest.mark.django_db
def test_evidence_reaches_the_questions_that_admit_it_and_no_others(published_evidence):
    def reaches(question: Question, case_study: int) -> bool:
        rows, admits = dataframes.Evidence(question)._admitted
        findings = dataframes._admitted_findings(question, Q(case_studies=case_study))
        counts = [n for row in findings.values_list("case_studies__vm_counts", flat=True) for n in row]
        has_arms = bool((rows["case_study_id"][admits].astype(int) == case_study).any())
        return has_arms or (findings.exists() and question.vm_count in (None, *counts))

    plain = [Question("fs-pair", workload) for workload in ("varmail", "fileserver", "atto")]
    filters = [
        *({"hypervisor": name} for name in ("kvm", "qemu-tcg", "hyper-v")),
        *({"guest_fs": "btrfs", "host_fs": name} for name in ("ext4", "xfs")),
        *({"vm_count": number} for number in (1, 3, 99)),
        *({"storage": kind, "guest_os_family": family} for kind in ("hdd", "ssd") for family in ("linux", "windows")),
        *({"grade": grade, "benchmark": "filebench"} for grade in GRADES),
        {"hypervisor": "qemu-tcg", "grade": "B"},
    ]
    questions = [*plain, *(Question("fs-pair", q.workload, **fields) for q in plain for fields in filters)]
    seen = set()
    for pk in CaseStudy.objects.values_list("pk", flat=True):
        expected = {question for question in questions if reaches(question, pk)}
        assert set(filter(dataframes.Reach([pk]).admits, questions)) == expected
        seen |= expected
    assert 10 < len(seen) < len(questions)


@pytest.mark.django_db
def test_superseding_many_answers_takes_no_more_queries_than_few(published_evidence, django_assert_max_num_queries):
    study = CaseStudy.objects.get(slug="p4")
    rows = [
        RankingSnapshot(
            question=Question("fs-pair", "varmail", vm_count=n).key,
            method=snapshots.METHOD,
            revision=1,
            workload="varmail",
            result={},
            digest="",
        )
        for n in range(1, 400)
    ]
    RankingSnapshot.objects.bulk_create(rows)
    with django_assert_max_num_queries(7):
        snapshots.supersede([study.pk], 2)


@pytest.mark.django_db
def test_filters_that_change_nothing_leave_nothing_behind():
    published(100.0, 102.0, hypervisor="kvm")
    published(100.0, 102.0, hypervisor="xen")
    for question in (
        Question("fs-pair", "varmail", vm_count=1),
        Question("fs-pair", "varmail", grade="D"),
        Question("fs-pair", "varmail", benchmark="filebench"),
        Question("fs-pair", "varmail", hypervisor="kvm", vm_count=1),
    ):
        assert current_snapshot(question).result["entries"]
        assert current_snapshot(question).result["question"] == question.as_dict()
    assert not RankingSnapshot.objects.exists()
    current_snapshot(Question("fs-pair", "varmail", hypervisor="kvm"))
    assert RankingSnapshot.objects.count() == 1


@pytest.mark.django_db
def test_an_answer_that_is_not_kept_is_worked_out_once(monkeypatch):
    published(100.0, 102.0)
    idle = Question("fs-pair", "varmail", vm_count=1)
    first = current_snapshot(idle)
    monkeypatch.setattr(snapshots, "estimate", lambda *_: pytest.fail("worked out again"))
    assert current_snapshot(idle).digest == first.digest
    monkeypatch.undo()
    published(900.0, 100.0)
    assert best(idle) == "ext4-on-ext4"


@pytest.mark.nightly
@pytest.mark.django_db
@pytest.mark.usefixtures("answers_hold")
def test_beyond_the_limit_what_was_asked_least_lately_is_forgotten_and_still_answered(published_evidence, settings):
    for axis in ("fs-pair", "guest-fs", "hypervisor"):
        current_snapshot(Question(axis, "varmail"))
    retraction.retract(CaseStudy.objects.get(slug="p4"), reason="wrong disk")
    work()
    followed = RankingSnapshot.objects.followed().filter(is_followed=True)
    assert followed.exists()
    then = past_snapshot(MAIL, 1).digest
    settings.KDB_KEPT_ANSWERS = RankingSnapshot.objects.count()
    assert snapshots.delete_least_asked() == 0

    settings.KDB_KEPT_ANSWERS = standing = RankingSnapshot.objects.filter(superseded_by=None).count()
    tick()
    assert RankingSnapshot.objects.count() == standing > 1
    assert not followed.all().exists()  # history goes first
    assert past_snapshot(MAIL, 1).digest == then

    RankingSnapshot.objects.exclude(question=MAIL.key).update(asked_at=now() - timedelta(days=40))
    settings.KDB_KEPT_ANSWERS = 1
    tick()
    assert RankingSnapshot.objects.get().question == MAIL.key
    assert current_snapshot(Question("hypervisor", "varmail")).result["entries"]


@pytest.mark.django_db
def test_an_answer_keeps_through_publications_when_it_was_asked_for():
    published(100.0, 102.0)
    best(MAIL)
    long_ago = now() - timedelta(hours=20)
    RankingSnapshot.objects.update(asked_at=long_ago)
    published(900.0, 100.0)
    work()
    kept = RankingSnapshot.objects.filter(question=MAIL.key)
    assert list(kept.values_list("revision", "asked_at")) == [(2, long_ago), (1, long_ago)]


# The status


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite has one lock for all writers")
@pytest.mark.django_db(transaction=True)
def test_the_status_answers_while_another_connection_writes():
    published(100.0, 102.0)
    connection.cursor().execute("PRAGMA busy_timeout = 0")  # whoever would wait for the lock fails
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(1000):  # a busy machine has no time to look at first
            if (response := Client().get(STATUS)).status_code == 200:
                break
        other.execute("ROLLBACK")
    connection.close()
    assert (response.status_code, response.json()["health"]["workers"]["status"]) == (200, "unknown")
    assert response.json()["health"]["workers"]["detail"] == "No worker has been seen yet."
