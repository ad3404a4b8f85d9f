"""Tell which part of the system failed, for pages, API, jobs and the log."""

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum

import kombu.exceptions
import psycopg
import redis
from django.conf import settings
from django.db import InterfaceError, OperationalError

LEAST_FREE_BYTES = 2**20  # with less, a disk counts as full
_AMBIGUOUS = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}  # also raised on a full disk
# SQLSTATE of PostgreSQL: not reached, stopping, starting, or too many connections. Not 57014, query_canceled.
_AWAY = ("08", "57P", "53300")


class Failure(StrEnum):
    """What failed, in the words of the log."""

    DISK_FULL = "the disk is full"
    DATABASE_BUSY = "the database was kept busy by other writers"
    STATEMENT_TOO_LONG = "the database was told to end what took too long"
    DATABASE_AWAY = "the database did not answer"
    BROKER_AWAY = "the broker did not answer"


def failure_behind(error: BaseException | None) -> Failure | None:
    """Return the failure that caused `error`; None for all other errors, such as bugs."""
    return next(filter(None, map(_failure, _with_causes(error))), None)


def is_without_tables(error: BaseException) -> bool:
    """Tell whether the database lacks a table, as a new one does."""
    return any(
        isinstance(cause, psycopg.errors.UndefinedTable)
        or (isinstance(cause, sqlite3.OperationalError) and str(cause).startswith("no such table"))
        for cause in _with_causes(error)
    )


def why_unavailable(error: BaseException | None) -> str:
    """Return why the database failed, in words for the user."""
    match failure_behind(error):
        case Failure.DISK_FULL:
            return "The disk that KDB stores on is full, so nothing was stored. Whoever runs KDB has to make room."
        case Failure.DATABASE_BUSY:
            return "Others are writing here; try again soon."
        case Failure.STATEMENT_TOO_LONG:
            return f"This took the database longer than {settings.KDB_STATEMENT_SECONDS} s; ask for less, or try again."
        case _:
            return "The database does not answer; try again soon."


def is_unavailable(error: BaseException | None) -> bool:
    """Tell whether the database or a disk failed, so that the request is answered with 503."""
    return isinstance(error, (OperationalError, InterfaceError)) or failure_behind(error) is Failure.DISK_FULL


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _failure(error: BaseException) -> Failure | None:
    match error:
        case psycopg.errors.DiskFull():
            return Failure.DISK_FULL
        case psycopg.errors.LockNotAvailable():
            return Failure.DATABASE_BUSY
        case psycopg.errors.QueryCanceled():
            return Failure.STATEMENT_TOO_LONG
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return Failure.DATABASE_AWAY if error.sqlstate is None or error.sqlstate.startswith(_AWAY) else None
        case sqlite3.Error():
            return _sqlite_failure(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        case redis.ConnectionError() | redis.TimeoutError() | kombu.exceptions.OperationalError():
            return Failure.BROKER_AWAY
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return Failure.DISK_FULL
    return None


def _sqlite_failure(code: int) -> Failure | None:
    if code == sqlite3.SQLITE_FULL or (
        code in _AMBIGUOUS and free_bytes().get("the database", LEAST_FREE_BYTES) < LEAST_FREE_BYTES
    ):
        return Failure.DISK_FULL
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Failure.DATABASE_BUSY
    return Failure.DATABASE_AWAY if code in _AMBIGUOUS else None


def free_bytes() -> dict[str, int]:
    """Return the free bytes of each disk of this machine that KDB writes to; 0 where no inode is free."""
    places: dict[str, str] = {"DATA_DIR": str(settings.DATA_DIR), "temporary files": tempfile.gettempdir()}
    if "sqlite3" in settings.DATABASES["default"]["ENGINE"]:
        places["the database"] = os.path.dirname(str(settings.DATABASES["default"]["NAME"])) or "."
    free = {}
    for place, path in places.items():
        with suppress(OSError):
            space = os.statvfs(path)
            free[place] = space.f_bavail * space.f_frsize if space.f_favail or not space.f_files else 0
    return free
