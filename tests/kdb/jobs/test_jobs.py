import threading
import time
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from kdb import celery
from kdb.jobs import jobs, maintenance, tasks
from kdb.models import Job, WorkerHeartbeat

pytestmark = pytest.mark.both

QUEUED, RUNNING, DONE, FAILED = Job.State.QUEUED, Job.State.RUNNING, Job.State.DONE, Job.State.FAILED


@pytest.fixture
def handle(monkeypatch):
    """handle(function) makes it the handler of jobs of kind "test"."""
    jobs.load_handlers()
    monkeypatch.setattr(jobs, "_handlers", dict(jobs._handlers))

    def register(function):
        jobs._handlers["test"] = function
        return function

    register(lambda run, **arguments: None)
    return register


@pytest.fixture
def woken(monkeypatch, settings) -> list[int]:
    """Return the jobs that Redis woke a worker for."""
    numbers: list[int] = []
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(celery.app, "send_task", lambda name, arguments: numbers.extend(arguments))
    return numbers


def make_job(**values) -> Job:
    if values.get("state") == RUNNING:
        values = {"owner": "another:1", "heartbeat_at": now()} | values
    return Job.objects.create(kind="test", **values)


def make_silent(job: Job, seconds: float = 3600) -> None:
    Job.objects.filter(pk=job.pk).update(heartbeat_at=now() - timedelta(seconds=seconds))


# Asking for work


def test_a_job_wakes_a_worker_when_the_transaction_is_committed(db, handle, woken, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        job = jobs.enqueue("test", revision=7)
        assert woken == []

    assert woken == [job.pk]
    job.refresh_from_db()
    assert (job.state, job.attempt, job.arguments) == (QUEUED, 1, {"revision": 7})


def test_a_job_of_a_transaction_rolled_back_wakes_nobody(transactional_db, handle, woken):
    with transaction.atomic():
        jobs.enqueue("test")
        transaction.set_rollback(True)

    assert woken == []
    assert not Job.objects.exists()


def test_a_kind_without_a_handler_is_refused_at_once(db, handle):
    with pytest.raises(jobs.UnknownKind, match=r"no handler for jobs of kind tset; known are .*test"):
        jobs.enqueue("tset")


# Doing it


def test_a_job_runs_with_its_arguments_and_is_done(db, handle):
    seen = []
    handle(lambda run, **arguments: seen.append((run.attempt, arguments)))
    job = make_job(arguments={"snapshot": 3})

    assert jobs.run(job.pk)

    job.refresh_from_db()
    assert seen == [(1, {"snapshot": 3})]
    assert (job.state, job.error, job.finished_at is not None) == (DONE, "", True)


def test_a_message_delivered_twice_at_the_same_time_runs_once(transactional_db, handle):
    runs, results, together = [], [], threading.Barrier(4)

    def slow(run):
        runs.append(run.attempt)
        time.sleep(0.1)

    def deliver():
        try:
            together.wait()
            results.append(jobs.run(job.pk))
        finally:
            connection.close()

    handle(slow)
    job = make_job()
    threads = [threading.Thread(target=deliver) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert runs == [1]
    assert sorted(results) == [False, False, False, True]


def test_a_job_that_another_worker_claims_between_a_look_and_the_claim_is_left_to_it(db, handle):
    claims = []

    def rival(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and not claims:
            claims.append("rival")
            Job.objects.filter(pk=job.pk).update(state=RUNNING, owner="rival:1", heartbeat_at=now())
        return execute(sql, params, many, context)

    handle(lambda run: claims.append("ours"))
    job = make_job()

    with connection.execute_wrapper(rival):
        assert not jobs.run(job.pk)

    assert claims == ["rival"]


def test_a_job_that_raises_has_failed_and_says_why(db, handle, caplog):
    def broken(run):
        raise RuntimeError("the snapshot is empty")

    handle(broken)
    job = make_job()

    assert jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error) == (FAILED, "the snapshot is empty")
    assert "Traceback" in caplog.text
    assert not jobs.run(job.pk)


def test_an_error_that_was_expected_is_one_line_of_the_log(db, handle, caplog, monkeypatch):
    def refuse(run):
        raise KeyError("the pool is not there")

    handle(refuse)
    monkeypatch.setitem(jobs._expected, "test", (LookupError,))
    job = make_job()

    assert jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, "the pool is not there" in job.error) == (FAILED, True)
    assert "Traceback" not in caplog.text
    assert caplog.text.count("the pool is not there") == 1


def test_a_job_whose_handler_was_removed_fails(db, handle):
    job = Job.objects.create(kind="gone")

    jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error) == (FAILED, "no handler for jobs of kind gone")


def test_steps_are_seen_while_the_job_runs(db, handle):
    seen = []

    def work(run):
        run.step(1, 3)
        job.refresh_from_db()
        seen.append((job.state, job.progress, job.total))
        run.step(2)

    handle(work)
    job = make_job()
    jobs.run(job.pk)

    job.refresh_from_db()
    assert seen == [(RUNNING, 1, 3)]
    assert (job.progress, job.total) == (2, 3)


def test_a_worker_told_to_stop_gives_its_job_back(db, handle):
    def interrupted(run):
        run.step(4, 10)
        raise SystemExit

    handle(interrupted)
    job = make_job()

    with pytest.raises(SystemExit):
        jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.attempt, job.progress) == (QUEUED, 1, 4)


# Leases


def test_a_worker_that_lost_its_lease_is_stopped_at_its_next_step(db, handle):
    reached = []

    def slow(run):
        run.step(1)
        Job.objects.filter(pk=job.pk).update(attempt=2, owner="another:1")  # as after `reap` and a new claim
        run.step(2)
        reached.append("behind the lost lease")

    handle(slow)
    job = make_job()

    assert not jobs.run(job.pk)

    job.refresh_from_db()
    assert reached == []
    assert (job.state, job.attempt, job.owner, job.progress) == (RUNNING, 2, "another:1", 1)


@pytest.mark.parametrize("ending", [None, RuntimeError("too late")])
def test_a_worker_that_lost_its_lease_cannot_end_the_job(db, handle, ending):
    def slow(run):
        Job.objects.filter(pk=job.pk).update(attempt=2, owner="another:1")
        if ending:
            raise ending

    handle(slow)
    job = make_job()

    assert not jobs.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error, job.finished_at) == (RUNNING, "", None)


def test_what_a_fenced_transaction_wrote_is_rolled_back(transactional_db, handle):
    def slow(run):
        with transaction.atomic():
            WorkerHeartbeat.objects.create(name="written by the slow one", seen_at=now())
            Job.objects.filter(pk=job.pk).update(attempt=2)
            run.step(1)

    handle(slow)
    job = make_job()
    jobs.run(job.pk)

    assert not WorkerHeartbeat.objects.exists()


def test_a_slow_step_keeps_its_lease(transactional_db, handle, settings, woken):
    settings.KDB_JOB_LEASE_SECONDS = 1
    given_back = []

    def slow(run):
        for _ in range(15):
            time.sleep(0.1)
            given_back.extend(jobs.reap())

    handle(slow)
    job = make_job()

    assert jobs.run(job.pk)
    assert given_back == []


# Asking for what waits


def test_a_worker_gets_the_oldest_job_of_its_queue(db):
    make_job(queue="lab-local")
    first, _ = make_job(), make_job()

    assert jobs.next_waiting("") == first.pk
    assert jobs.next_waiting("lab-elsewhere") is None


def test_what_runs_or_just_lost_the_database_does_not_wait(db):
    make_job(state=RUNNING)
    again = make_job(heartbeat_at=now(), attempt=2)
    assert jobs.next_waiting("") is None

    make_silent(again)

    assert jobs.next_waiting("") == again.pk


def test_without_redis_a_tick_keeps_no_worker_from_a_job(db, settings):
    settings.REDIS_URL = ""
    job = make_job()
    Job.objects.update(created_at=now() - timedelta(hours=1))

    assert jobs.reap() == []
    assert jobs.next_waiting("") == job.pk


@pytest.mark.sqlite
def test_asking_reads_an_index(db):
    with CaptureQueriesContext(connection) as queries:
        jobs.next_waiting("")
    with connection.cursor() as cursor:
        plan = str(cursor.execute(f"EXPLAIN QUERY PLAN {queries[0]['sql']}").fetchall())
    assert "kdb_job_by_state (state=? AND queue=?" in plan


# The reaper


def test_a_silent_workers_job_is_given_back_and_done_by_another(db, handle, woken, django_capture_on_commit_callbacks):
    job = make_job(state=RUNNING, progress=4)
    make_silent(job)

    with django_capture_on_commit_callbacks(execute=True):
        assert jobs.reap() == [job.pk]

    job.refresh_from_db()
    assert (job.state, job.attempt, job.owner) == (QUEUED, 2, "")
    assert woken == [job.pk]
    assert jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.progress) == (DONE, 2, 4)


def test_a_job_whose_message_was_lost_is_sent_again_but_not_at_every_tick(db, woken):
    job = make_job()
    Job.objects.update(created_at=now() - timedelta(hours=1))

    assert [jobs.reap(), jobs.reap()] == [[job.pk], []]

    make_silent(job)
    assert jobs.reap() == [job.pk]


def test_a_job_that_kills_every_worker_fails_in_the_end(db):
    job = make_job(state=RUNNING, attempt=jobs.MAX_ATTEMPTS)
    make_silent(job)

    assert jobs.reap() == []

    job.refresh_from_db()
    assert job.state == FAILED
    assert job.error == "Given up after 5 attempts: each time the worker stopped answering, last another:1."


def test_a_tick_reaps_and_leaves_a_trace(db):
    WorkerHeartbeat.objects.create(name="gone since long", seen_at=now() - timedelta(days=3))
    job = make_job(state=RUNNING)
    make_silent(job)

    tasks.tick()
    tasks.tick()

    job.refresh_from_db()
    assert job.attempt == 2
    assert WorkerHeartbeat.objects.count() == 1
    assert WorkerHeartbeat.objects.get().seen_at > now() - timedelta(seconds=5)


def test_of_two_beats_one_tick_counts(db, monkeypatch):
    reaped = []
    monkeypatch.setattr(jobs, "reap", lambda: reaped.append(1))
    tasks.tick.apply(kwargs={"of_beat": True})
    tasks.tick.apply(kwargs={"of_beat": True})
    assert len(reaped) == 1
    WorkerHeartbeat.objects.filter(name=maintenance.CLOCK).update(seen_at=now() - timedelta(seconds=14))
    tasks.tick.apply(kwargs={"of_beat": True})
    assert len(reaped) == 2
    tasks.tick.apply()
    assert len(reaped) == 3, "a worker that begins looks at once"
