"""Reads that span models."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Max
from django.utils.timezone import now

from kdb import broker
from kdb.models import Job, WorkerHeartbeat

# Each check of `health` ends within a second, also when the other side accepts and never answers.
CHECK_SECONDS = 0.8
WORKER_SEEN_WITHIN = timedelta(seconds=60)

Health = dict[str, str]


def health() -> dict[str, Health]:
    """What KDB stands on: database, broker and workers, each with `status` and a sentence in `detail`.

    A status is "ok", "down", or for workers also "stale" (seen, but not lately) and "unknown"
    (never seen, or not to be known without the database).
    """
    database = database_health()
    if database["status"] == "ok":
        workers = workers_health()
    else:
        workers = {"status": "unknown", "detail": "Not to be known without the database."}
    return {"database": database, "broker": broker_health(), "workers": workers}


def database_health() -> Health:
    name = connection.display_name
    try:
        if connection.vendor == "postgresql":
            # A connection of its own, in a thread, because psycopg waits long for a host that is silent.
            return _within(CHECK_SECONDS, _postgresql_health, {"status": "down", "detail": f"{name} is silent."})
        connection.cursor().execute("SELECT 1")
    except DatabaseError as error:
        return {"status": "down", "detail": f"{name} does not answer ({type(error).__name__})."}
    return {"status": "ok", "detail": f"{name} answers."}


def broker_health() -> Health:
    if settings.REDIS_URL:
        return _within(CHECK_SECONDS, _redis_health, {"status": "down", "detail": "Redis is silent."})
    folder = settings.KDB_BROKER_DIR
    with suppress(OSError):  # seen in the next line
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return {"status": "down", "detail": "The broker's folder cannot be written."}
    return {"status": "ok", "detail": f"The broker's folder holds {broker.waiting(folder)} waiting messages."}


def workers_health() -> Health:
    """By the last tick a worker did, or the lease it keeps of a job that occupies it."""
    try:
        with _limited_query():
            ticked = WorkerHeartbeat.objects.aggregate(last=Max("seen_at"))["last"]
            worked = Job.objects.filter(state=Job.State.RUNNING).aggregate(last=Max("heartbeat_at"))["last"]
    except DatabaseError as error:
        return {"status": "unknown", "detail": f"The database does not tell ({type(error).__name__})."}
    seen = [moment for moment in (ticked, worked) if moment is not None]
    if not seen:
        return {"status": "unknown", "detail": "No worker has been seen yet."}
    silence = now() - max(seen)
    ok = silence < WORKER_SEEN_WITHIN
    return {
        "status": "ok" if ok else "stale",
        "detail": f"A worker was last seen {max(0, round(silence.total_seconds()))} seconds ago.",
    }


def _redis_health() -> Health:
    limits = {"socket_connect_timeout": CHECK_SECONDS / 2, "socket_timeout": CHECK_SECONDS / 2}
    try:
        with redis.Redis.from_url(settings.REDIS_URL, **limits) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        return {"status": "down", "detail": f"Redis does not answer ({type(error).__name__})."}
    return {"status": "ok", "detail": "Redis answers."}


def _postgresql_health() -> Health:
    try:
        connection.cursor().execute("SELECT 1")
    except DatabaseError as error:
        return {"status": "down", "detail": f"PostgreSQL does not answer ({type(error).__name__})."}
    finally:
        connection.close()
    return {"status": "ok", "detail": "PostgreSQL answers."}


@contextmanager
def _limited_query() -> Iterator[None]:
    """A transaction whose statements PostgreSQL stops in time.

    On SQLite none: there a transaction begins with the lock of the one writer, and a read without one never waits.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        limit = f"{round(CHECK_SECONDS * 500)}ms"
        set_limit = "SELECT current_setting('statement_timeout'), set_config('statement_timeout', %s, true)"
        cursor.execute(set_limit, [limit])
        before = cursor.fetchone()[0]
        yield
        cursor.execute(set_limit, [before])  # that of a transaction around this one


def _within(seconds: float, check: Callable[[], Any], otherwise: Any) -> Any:
    """The check's answer, or `otherwise` when it takes longer: a name service may hang, too."""
    answer: list[Any] = []
    thread = threading.Thread(target=lambda: answer.append(check()), daemon=True)
    thread.start()
    thread.join(seconds)
    return answer[0] if answer else otherwise
