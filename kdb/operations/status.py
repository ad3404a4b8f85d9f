"""Check database, broker, workers and disks, and answer in time even if one of them hangs."""

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import redis
from django.conf import settings
from django.db import Error, connection
from django.db.models import Max
from django.utils.timezone import now

from kdb.models import Job, WorkerHeartbeat
from kdb.operations.failures import LEAST_FREE_BYTES, Failure, free_bytes
from kdb.operations.outages import is_recent

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 0.07  # so that the status is answered within 0.1 s
SEEN_SECONDS = 1  # for which a result is used again, so that a flood of requests makes one check a second
SILENT_SECONDS = 5  # after which a part without an answer is down
ABANDONED_SECONDS = 30  # after which a new thread checks, as the connection of the first may be dead
REDIS_SECONDS = 0.8
LITTLE_FREE_BYTES = 256 * 2**20  # with less, storage is low, as an import or an upgrade may need as much
WORKER_SEEN_WITHIN = timedelta(seconds=60)

Health = dict[str, str]


@dataclass(frozen=True)
class Sight:
    """The result of a probe: the last value, its age, and the outcome of the latest attempt."""

    value: Any  # None: no attempt has succeeded in this process
    age_seconds: float | None
    silent_seconds: float | None  # that the running attempt has taken so far; None: it ended
    error: Exception | None  # of the last ended attempt


class Probe:
    """Calls a function that may hang in a thread, one at a time, so that callers need not wait for its end."""

    def __init__(self, look: Callable[[], Any]) -> None:
        self._look = look
        self._lock = threading.RLock()
        self._began: float | None = None
        self._ended = threading.Event()
        self._value: Any = None
        self._seen_at: float | None = None
        self._ended_at = -math.inf
        self._error: Exception | None = None

    def begin(self) -> threading.Event:
        """Start an attempt, unless one is running or has just ended. Return the event that is set at its end."""
        with self._lock:
            if self._began is None and time.monotonic() - self._ended_at < SEEN_SECONDS:
                return self._ended
            if self._began is None or time.monotonic() - self._began > ABANDONED_SECONDS:
                self._began, self._ended = time.monotonic(), threading.Event()
                ended = self._ended
                in_background(partial(self._attempt, ended))
                return ended
            return self._ended

    def sight(self, ended: threading.Event, until: float) -> Sight:
        """Return the result at the time `until` (time.monotonic), or at the attempt's end if that is earlier.

        Raises what the attempt raised, except for errors of the database.
        """
        has_ended = ended.wait(max(0.0, until - time.monotonic()))
        with self._lock:
            if has_ended and self._error and not isinstance(self._error, Error):
                raise self._error
            moment = time.monotonic()
            return Sight(
                value=self._value,
                age_seconds=None if self._seen_at is None else moment - self._seen_at,
                silent_seconds=None if has_ended or self._began is None else moment - self._began,
                error=self._error,
            )

    def _attempt(self, ended: threading.Event) -> None:
        began, value, error = time.monotonic(), None, None
        try:
            value = self._look()
        except Exception as caught:  # reported by `sight`
            error = caught
            logger.warning("could not look at %s reason=%r", self._look.__name__, caught)
        with self._lock:
            if self._ended is ended:  # not abandoned
                self._began, self._error, self._ended_at = None, error, time.monotonic()
                if error is None:
                    self._value, self._seen_at = value, began
        ended.set()


def in_background(work: Callable[[], None]) -> None:
    """Run a function in a thread, and close the thread's database connection afterwards."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    threading.Thread(target=run, daemon=True).start()


def health(database: Probe) -> tuple[Sight, dict[str, Health]]:
    """Return the result of the probe `database`, whose value has `worker_seen_at`, and the health of all parts.

    Each part has a `status` and a sentence in `detail`. The status is "ok", "down" or "slow" (no answer yet), for
    workers also "stale" (not seen recently) or "unknown", for storage also "low" or "full". Returns within
    ANSWER_SECONDS.
    """
    until = time.monotonic() + ANSWER_SECONDS
    asked, asked_broker, asked_storage = database.begin(), BROKER.begin(), STORAGE.begin()
    sight, sight_of_broker = database.sight(asked, until), BROKER.sight(asked_broker, until)
    parts = {
        "database": _database_health(sight),
        "broker": _probe_health("Redis", sight_of_broker),
        "workers": _workers_health(sight),
        "storage": _probe_health("A disk", STORAGE.sight(asked_storage, until)),
    }
    return sight, parts


def _database_health(sight: Sight) -> Health:
    name = connection.display_name
    if sight.error is not None:
        return {"status": "down", "detail": f"{name} does not answer ({type(sight.error).__name__})."}
    return _silence_health(name, sight) or {"status": "ok", "detail": f"{name} answers."}


def _probe_health(name: str, sight: Sight) -> Health:
    if sight.silent_seconds is None or (sight.value and sight.value["status"] == "down"):
        return dict(sight.value)
    return _silence_health(name, sight) or dict(sight.value)


def _silence_health(name: str, sight: Sight) -> Health | None:
    if sight.silent_seconds is None:
        return None
    status = "down" if sight.silent_seconds > SILENT_SECONDS else "slow"
    return {"status": status, "detail": f"{name} has not answered for {sight.silent_seconds:.1f} seconds."}


def _workers_health(sight: Sight) -> Health:
    if sight.value is None:
        return {"status": "unknown", "detail": "Not to be known without the database."}
    seen_at = sight.value["worker_seen_at"]
    if seen_at is None:
        return {"status": "unknown", "detail": "No worker has been seen yet."}
    silence = now() - seen_at
    ok = silence < WORKER_SEEN_WITHIN
    return {
        "status": "ok" if ok else "stale",
        "detail": f"A worker was last seen {max(0, round(silence.total_seconds()))} seconds ago.",
    }


def worker_seen_at() -> datetime | None:
    """Return when a worker was last seen, by its tick or by its renewal of a job's lease."""
    ticked = WorkerHeartbeat.objects.aggregate(last=Max("seen_at"))["last"]
    worked = Job.objects.filter(state=Job.State.RUNNING).aggregate(last=Max("heartbeat_at"))["last"]
    return max((moment for moment in (ticked, worked) if moment is not None), default=None)


def broker_health() -> Health:
    if not settings.REDIS_URL:
        return {"status": "ok", "detail": "There is none: workers ask the database for jobs."}
    limits = {"socket_connect_timeout": REDIS_SECONDS / 2, "socket_timeout": REDIS_SECONDS / 2}
    try:
        with redis.Redis.from_url(settings.REDIS_URL, **limits) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        return {"status": "down", "detail": f"Redis does not answer ({type(error).__name__})."}
    return {"status": "ok", "detail": "Redis answers."}


BROKER = Probe(broker_health)


def storage_health() -> Health:
    """Return the free space of KDB's disks without their paths, as the status is public."""
    free = free_bytes()
    least = min(free.values(), default=LITTLE_FREE_BYTES)
    if is_recent(Failure.DISK_FULL):
        return {"status": "full", "detail": "Within the last minute something was not stored, because a disk is full."}
    listed = ", ".join(f"{size // 2**20:,} MiB for {place}" for place, size in free.items())
    return {
        "status": "full" if least < LEAST_FREE_BYTES else "low" if least < LITTLE_FREE_BYTES else "ok",
        "detail": f"Free: {listed}. At least {LITTLE_FREE_BYTES // 2**20} MiB should be.",
    }


STORAGE = Probe(storage_health)
