"""Enqueue and run background jobs. A Job row is the job; workers poll for queued rows, and Redis only wakes them.

    @jobs.handler("recompute_rankings")          # in the module `job_handlers` of an installed app
    def recompute_rankings(run: jobs.JobRun, *, revision: int) -> None:
        for done, question in enumerate(questions, start=1):
            with transaction.atomic():
                store(question)
                run.step(done, len(questions))   # in the transaction, which rolls back if the lease is lost

    jobs.enqueue("recompute_rankings", revision=7)

Failures, and what happens then:

* A message of Redis is lost, or Redis is down: `reap` sends it again as long as the row is queued.
* A message arrives twice, or two workers see a row: one UPDATE claims it for one of them.
* A handler loses the database, or its worker dies and the lease expires: the row is queued again with the next
  attempt number.
* A worker is slow: a thread renews its lease. If the whole process was suspended, its attempt number is outdated when
  it continues: `step` raises LeaseLost, and its updates of the row have no effect.
* The database is migrated to a later version meanwhile: the row is queued for a worker of that version.
* A job kills each worker that runs it: it fails after MAX_ATTEMPTS.

So a handler may be started again after any step: steps must be idempotent, and it may continue from `run.progress`.
Times are the database's own, so the machines' clocks may differ.
"""

import gc
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache, partial
from itertools import takewhile
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.utils.module_loading import autodiscover_modules
from django.utils.timezone import now

from kdb.jobs import memory
from kdb.models import Job
from kdb.operations import request_ids, upgrades
from kdb.operations.failures import failure_behind, is_unavailable

logger = logging.getLogger(__name__)

RUN_TASK = "experiments.run_job"  # the Celery task in kdb.jobs.tasks
MAX_ATTEMPTS = 5
GIVEN_UP = "each time the worker stopped answering"  # in the error of a job whose workers died
NO_DATABASE = "the database could not be used"  # in the error of a job that gave up for it
_RETRY_DELAY = timedelta(minutes=1)
_LONGEST_RETRY_DELAY = timedelta(minutes=10)

Handler = Callable[..., None]
_handlers: dict[str, Handler] = {}
_expected: dict[str, tuple[type[Exception], ...]] = {}


class LeaseLost(Exception):  # noqa: N818 - an event, not a mistake
    """This attempt lost its job to another worker, and must stop."""


class UnknownKind(LookupError):  # noqa: N818
    """No installed app handles jobs of this kind."""


def handler(kind: str, *, expects: tuple[type[Exception], ...] = ()) -> Callable[[Handler], Handler]:
    """Register a function as the handler of this kind of job. It is called with a JobRun and the job's arguments.

    expects : errors whose message is enough for an operator: they are logged without a traceback
    """

    def register(function: Handler) -> Handler:
        if _handlers.setdefault(kind, function) is not function:
            raise ValueError(f"jobs of kind {kind} have a handler already: {_handlers[kind].__module__}")
        _expected[kind] = expects
        return function

    return register


@cache
def load_handlers() -> None:
    """Import the module `job_handlers` of every installed app."""
    autodiscover_modules("job_handlers")


def preload() -> None:
    """Load what jobs need before a fork, and freeze it, as the garbage collector would write to the shared pages."""
    memory.share_between_threads()
    load_handlers()
    gc.collect()
    gc.freeze()


def enqueue(kind: str, *, queue: str = "", **arguments: Any) -> Job:
    """Queue a job, which starts once the surrounding transaction is committed.

    queue : whose workers can run it, such as lab-NAME; empty: any worker
    """
    load_handlers()
    if kind not in _handlers:
        raise UnknownKind(f"no handler for jobs of kind {kind}; known are {', '.join(sorted(_handlers)) or 'none'}")
    job = Job.objects.create(kind=kind, queue=queue, arguments=arguments, request_id=request_ids.current())
    transaction.on_commit(partial(_wake, job.pk, queue))
    return job


def enqueue_once(kind: str) -> None:
    """Queue a job, unless one of its kind is queued already."""
    if not Job.objects.filter(kind=kind, state=Job.State.QUEUED).exists():
        enqueue(kind)


def enqueue_with_backoff(kind: str) -> None:
    """Queue a job, unless one of its kind is queued or running, or the last one failed recently.

    After consecutive failures the delay is 1, 2, 4, ... minutes, at most ten.
    """
    latest = list(Job.objects.filter(kind=kind).order_by("-pk")[:5])
    if any(job.finished_at is None for job in latest):
        return
    failures = len(list(takewhile(lambda job: job.state == Job.State.FAILED, latest)))
    delay = min(_RETRY_DELAY * 2 ** (failures - 1), _LONGEST_RETRY_DELAY)
    if not failures or latest[0].finished_at + delay < now():
        enqueue(kind)


def _wake(job_id: int, queue: str) -> None:
    if not settings.REDIS_URL:  # workers poll
        return
    from kdb.celery import app  # imported late, as processes without Redis do not need Celery

    try:
        app.send_task(RUN_TASK, [job_id], **({"queue": queue} if queue else {}))
    except Exception as error:  # whatever is wrong with Redis, `reap` wakes a worker later
        logger.warning("could not wake a worker job=%s reason=%r", job_id, error)


class JobRun:
    """One attempt at a job, given to its handler."""

    def __init__(self, job: Job) -> None:
        self.job_id = job.pk
        self.attempt = job.attempt
        self.progress = job.progress
        self.total = job.total

    def __str__(self) -> str:
        return f"job={self.job_id} attempt={self.attempt}"

    def step(self, done: int, total: int | None = None) -> None:
        """Record that `done` steps of `total` are done, and renew the lease.

        Raises LeaseLost where another worker has the job, which rolls back a surrounding transaction.
        """
        self.progress, self.total = done, total if total is not None else self.total
        if not self._update(progress=self.progress, total=self.total, heartbeat_at=Now()):
            raise LeaseLost(f"{self} was given to another worker")

    def renew(self) -> bool:
        return self._update(heartbeat_at=Now())

    def finish(self, state: Job.State, error: str = "") -> bool:
        return self._update(state=state, error=error, finished_at=Now())

    def requeue(self) -> bool:
        return self._update(state=Job.State.QUEUED, owner="", heartbeat_at=None)

    def try_again(self, error: str) -> bool:
        """Queue the next attempt, which starts after a lease's time; after the last one the job has failed."""
        if self.attempt >= MAX_ATTEMPTS:
            return self.finish(Job.State.FAILED, f"Given up after {self.attempt} attempts: {error}")
        return self._update(state=Job.State.QUEUED, owner="", attempt=self.attempt + 1, heartbeat_at=Now())

    def _update(self, **values: Any) -> bool:
        mine = Job.objects.filter(pk=self.job_id, attempt=self.attempt, state=Job.State.RUNNING)
        return mine.update(**values) == 1


def run(job_id: int) -> bool:
    """Run a queued job. Return whether this call ran it and recorded its end, done or failed."""
    load_handlers()
    job = _claim(job_id)
    if job is None:
        logger.debug("no such job is queued job=%s", job_id)
        return False
    with request_ids.use_id(job.request_id):
        return _run(job)


def _run(job: Job) -> bool:
    attempt = JobRun(job)
    logger.info("began kind=%s %s", job.kind, attempt)
    try:
        if job.kind not in _handlers:
            raise UnknownKind(f"no handler for jobs of kind {job.kind}")
        with _renew_lease(attempt):
            _handlers[job.kind](attempt, **job.arguments)
    except LeaseLost:
        logger.warning("lost the lease %s", attempt)
        return False
    except Exception as error:
        if is_unavailable(error):
            logger.exception("lost the database kind=%s %s", job.kind, attempt)
            if not connection.in_atomic_block:
                connection.close()  # a dead connection could not store the failure
            attempt.try_again(f"{NO_DATABASE}: {failure_behind(error) or error}")
            return False
        if isinstance(error, _expected.get(job.kind, ())):
            logger.warning("failed kind=%s %s reason=%r", job.kind, attempt, str(error))
        else:
            logger.exception("failed kind=%s %s", job.kind, attempt)
        if not connection.in_atomic_block and upgrades.is_newer():  # newer code may be able to run it
            attempt.requeue()
            return False
        return attempt.finish(Job.State.FAILED, str(error) or type(error).__name__)
    except BaseException:  # the worker is being stopped
        logger.warning("interrupted %s", attempt)
        attempt.requeue()
        raise
    ended = attempt.finish(Job.State.DONE)
    logger.info("ended %s" if ended else "lost the lease at the end %s", attempt)
    return ended


def next_waiting(queue: str) -> int | None:
    """Return the id of the oldest job of a queue that may start; one that lost the database waits a lease."""
    waiting = Job.objects.filter(state=Job.State.QUEUED, queue=queue)
    is_due = Q(heartbeat_at__isnull=True) | Q(heartbeat_at__lt=_silent_since())
    return waiting.filter(is_due).order_by("pk").values_list("pk", flat=True).first()


def _silent_since() -> Any:
    return Now() - timedelta(seconds=settings.KDB_JOB_LEASE_SECONDS)


def _claim(job_id: int) -> Job | None:
    """Claim the queued job in one UPDATE, or return None."""
    job = Job.objects.filter(pk=job_id, state=Job.State.QUEUED).first()
    if job is None:
        return None
    waiting = Job.objects.filter(pk=job_id, state=Job.State.QUEUED, attempt=job.attempt)
    claimed = waiting.update(state=Job.State.RUNNING, owner=f"{socket.gethostname()}:{os.getpid()}", heartbeat_at=Now())
    return job if claimed else None


@contextmanager
def _renew_lease(attempt: JobRun) -> Iterator[None]:
    """Renew the lease in a thread, so that steps of a handler may take longer than a lease."""
    stop = threading.Event()

    def renew() -> None:
        try:
            while not stop.wait(settings.KDB_JOB_LEASE_SECONDS / 4):
                try:
                    if not attempt.renew():
                        return  # the handler's next step raises LeaseLost
                except DatabaseError as error:
                    logger.warning("could not renew the lease %s reason=%r", attempt, error)
        finally:
            connection.close()  # this thread's own

    thread = threading.Thread(target=renew, name=f"lease of {attempt}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def reap() -> list[int]:
    """Requeue the jobs of silent workers. With Redis, wake workers for jobs that wait too long; return their ids."""
    silent_since = _silent_since()
    with transaction.atomic():
        silent = _skip_locked(Job.objects.filter(state=Job.State.RUNNING, heartbeat_at__lt=silent_since))
        for pk, attempt, owner in silent.values_list("pk", "attempt", "owner"):
            _requeue_silent(pk, attempt, owner)

        if not settings.REDIS_URL:
            return []
        # The heartbeat of a queued row is the last time that a worker was woken for it.
        forgotten = _skip_locked(Job.objects.filter(state=Job.State.QUEUED)).annotate(
            woken_at=Coalesce("heartbeat_at", "created_at")
        )
        overdue = dict(forgotten.filter(woken_at__lt=silent_since).order_by("pk").values_list("pk", "queue"))
        Job.objects.filter(pk__in=overdue, state=Job.State.QUEUED).update(heartbeat_at=Now())
        for pk, queue in overdue.items():
            transaction.on_commit(partial(_wake, pk, queue))
    return list(overdue)


def _requeue_silent(pk: int, attempt: int, owner: str) -> None:
    job = Job.objects.filter(pk=pk, attempt=attempt, state=Job.State.RUNNING)
    if attempt >= MAX_ATTEMPTS:
        error = f"Given up after {attempt} attempts: {GIVEN_UP}, last {owner}."
        job.update(state=Job.State.FAILED, error=error, finished_at=Now())
        logger.error("gave up job=%s attempt=%s", pk, attempt)
    else:
        job.update(state=Job.State.QUEUED, owner="", attempt=F("attempt") + 1)
        logger.warning("took a job from a silent worker job=%s attempt=%s owner=%s", pk, attempt, owner)


def _skip_locked(rows: QuerySet[Job]) -> QuerySet[Job]:
    """Skip rows that another reaper has locked on PostgreSQL; SQLite has one writer at a time."""
    return rows.select_for_update(skip_locked=True)
