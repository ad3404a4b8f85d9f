"""Log each outage in one line a minute, however many requests, tasks and processes it affects.

Processes that share DATA_DIR count together. Suppressed lines are counted, and the next line has their number.
"""

import fcntl
import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from billiard.exceptions import WorkerLostError
from django.conf import settings

from kdb.operations.failures import Failure, failure_behind

INTERVAL_SECONDS = 60
_MOST_CHARACTERS = 300
_LOCK_SECONDS = 0.05
_SUMMED_UP = {Failure.DISK_FULL, Failure.DATABASE_AWAY, Failure.BROKER_AWAY}
_logged_at: dict[Path, float] = {}  # by this process, as on a full disk it cannot share the time


class SumUpOutages(logging.Filter):
    """A filter of the log's handler that lets one line a minute through for each outage."""

    def filter(self, record: logging.LogRecord) -> bool:
        outage = _outage(record)
        if outage is None:
            return True
        what, reason = outage
        suppressed = _count_suppressed(what)
        if suppressed is None:
            return False
        message = f"{what} ({_first_line(str(reason)) or type(reason).__name__}): {_first_line(record.getMessage())}"
        message = message[:_MOST_CHARACTERS] + (f"; {suppressed} more times before" if suppressed else "")
        record.msg, record.args, record.exc_info, record.exc_text = message, (), None, None
        return True


def _outage(record: logging.LogRecord) -> tuple[str, BaseException] | None:
    """Return the outage and its exception: the record's own, or one among the arguments of its message; else None."""
    quoted = record.args if isinstance(record.args, tuple) else ()
    for error in (record.exc_info[1] if record.exc_info else None, *quoted):
        error = getattr(error, "exc", error)  # Celery's wrapper of what a task raised
        if isinstance(error, WorkerLostError):
            return "a process of the worker was killed", error
        if isinstance(error, BaseException) and (failure := failure_behind(error)) in _SUMMED_UP:
            assert failure is not None
            return failure.value, error
    return None


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")


def _count_suppressed(what: str) -> int | None:
    """Return how many lines were suppressed if a line is due; else count one more and return None."""
    moment, count = time.time(), 0
    with suppress(OSError):
        settings.KDB_OUTAGES_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(_path(what), os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
            _lock(file)
            text = file.read().split()
            logged_at, count = (float(text[0]), int(text[1])) if len(text) == 2 else (0.0, 0)
            is_due = not 0 <= moment - logged_at < INTERVAL_SECONDS
            file.seek(0)
            file.write(f"{moment} 0\n" if is_due else f"{logged_at} {count + 1}\n")
            file.truncate()
            if not is_due:
                return None
    if 0 <= moment - _logged_at.get(_path(what), 0.0) < INTERVAL_SECONDS:
        return None
    _logged_at[_path(what)] = moment
    return count


def _lock(file: IO[str]) -> None:
    """Lock the file. Raises OSError after _LOCK_SECONDS, as a process may be suspended while it has the lock."""
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(0.001)


def is_recent(what: str) -> bool:
    """Tell whether any process was affected by this outage within the last minute."""
    try:
        return time.time() - _path(what).stat().st_mtime < INTERVAL_SECONDS
    except OSError:
        return False


def _path(what: str) -> Path:
    return settings.KDB_OUTAGES_DIR / what.replace(" ", "-")
