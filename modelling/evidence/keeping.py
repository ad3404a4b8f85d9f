"""Keeping what was worked out: in the database only where the knowledge is still what it was worked out from."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.cache import caches
from django.db import OperationalError, connection, transaction

from experiments.models import KnowledgeRevision

from . import counts

_SECONDS = 600  # that what is dear to work out is kept in memory


class Busy(Exception):  # noqa: N818 - an event, not a mistake
    """Another writer is at work, and this one was not to wait for it."""


def keep(revision: int, store: Callable[[], object], *, wait: bool) -> bool:
    """Call `store` in a transaction if the knowledge is at `revision` and stays there until its end; whether it did.

    wait : for a publication under way, as workers do; a visitor does not wait, and then nothing is kept

    The row of the latest revision is the lock that publications hold until they are committed. It is locked by its
    number, and the latest number is read again afterwards: whoever waited for a publication finds a newer row.
    """
    try:
        with transaction.atomic() if wait else at_once():
            rows = KnowledgeRevision.objects.select_for_update(skip_locked=not wait).filter(number=revision)
            if (revision and not list(rows)) or counts.revision() != revision:
                return False
            store()
    except Busy:
        return False
    return True


@contextmanager
def at_once() -> Iterator[None]:
    """Open a transaction that raises Busy where SQLite would wait for its one writer. Rows of PostgreSQL are locked
    with skip_locked inside."""
    with _no_patience():
        try:
            with transaction.atomic():
                yield
        except OperationalError as error:
            if connection.vendor == "sqlite" and "locked" in str(error):
                raise Busy from error
            raise


@contextmanager
def _no_patience() -> Iterator[None]:
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        patience = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {patience}")


def remembered(key: str, work_out: Callable[[], Any], cache: str = "worked-out") -> Any:
    """Return a value from memory where it is there, else work it out and keep it for a while. That memory is bounded:
    settings.CACHES."""
    return caches[cache].get_or_set(key, work_out, _SECONDS)
