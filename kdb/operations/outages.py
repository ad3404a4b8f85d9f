"""One line of the log for what is away, however many requests and tasks meet it.

The first that meets it is told in one line, without its traceback; the others are counted, those of all processes that
share DATA_DIR, and told once a minute: "the database did not answer, 213 times in 60 s".
"""

import fcntl
import logging
import os
import threading
from contextlib import suppress
from pathlib import Path

from billiard.exceptions import WorkerLostError
from django.conf import settings

from kdb.operations.failures import Failure, failure_behind

logger = logging.getLogger(__name__)

TOGETHER_SECONDS = 60
_MOST_CHARACTERS = 300
_TOLD = {Failure.DISK_FULL, Failure.DATABASE_AWAY, Failure.BROKER_AWAY}
_told_by_us: set[int] = set()  # the open files of the outages that this process reports


class SumUpOutages(logging.Filter):
    """A filter of the handler that writes the log: of one outage it lets one line through."""

    def filter(self, record: logging.LogRecord) -> bool:
        outage = _outage(record)
        if outage is None:
            return True
        what, reason = outage
        if not _is_first(what):
            return False
        message = f"{what} ({_first_line(str(reason)) or type(reason).__name__}): {_first_line(record.getMessage())}"
        record.msg, record.args, record.exc_info, record.exc_text = message[:_MOST_CHARACTERS], (), None, None
        return True


def _outage(record: logging.LogRecord) -> tuple[str, BaseException] | None:
    """Return what is away, and the exception by which the record says so: its own, or one that its message quotes."""
    quoted = record.args if isinstance(record.args, tuple) else ()
    for error in (record.exc_info[1] if record.exc_info else None, *quoted):
        error = getattr(error, "exc", error)  # Celery's wrapper of what a task raised
        if isinstance(error, WorkerLostError):
            return "a process of the worker was killed", error
        if isinstance(error, BaseException) and (what := failure_behind(error)) in _TOLD:
            assert what is not None
            return what.value, error
    return None


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")


def _is_first(what: str) -> bool:
    """Tell whether no other process tells of this outage: then this one does, for a minute; else it is counted, by a
    byte of the file that whoever tells holds a lock of. Where there is no room for that, each is told."""
    try:
        settings.KDB_OUTAGES_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(_path(what), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(OSError):
            os.write(file, b".")
        os.close(file)
        return False
    os.ftruncate(file, 0)  # what one counted who was killed
    _told_by_us.add(file)
    _begin_minute(what, file)
    return True


def is_told(what: str) -> bool:
    """Tell whether some process saw this outage within the last minute: it holds the lock."""
    try:
        with _path(what).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _path(what: str) -> Path:
    return settings.KDB_OUTAGES_DIR / what.replace(" ", "-")


def _begin_minute(what: str, file: int) -> None:
    timer = threading.Timer(TOGETHER_SECONDS, _end_minute, (what, file))
    timer.daemon = True
    timer.start()


def _end_minute(what: str, file: int) -> None:
    count = os.fstat(file).st_size
    if count:
        os.ftruncate(file, 0)
        logger.warning("%s, %s more times in %s s", what, count, TOGETHER_SECONDS)
        _begin_minute(what, file)
    else:
        _told_by_us.discard(file)
        os.close(file)


def _leave_to_parent() -> None:
    """Close, in a child, the locks that it shares: it would hold them when who tells is gone."""
    while _told_by_us:
        os.close(_told_by_us.pop())


os.register_at_fork(after_in_child=_leave_to_parent)
