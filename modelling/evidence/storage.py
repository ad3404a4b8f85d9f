"""Store computed values: in the database if the knowledge has not changed meanwhile, or in a cache."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from django.core.cache import caches
from django.db import OperationalError, connection, models, transaction
from django.db.models import Max

from experiments.models import KnowledgeRevision
from kdb.jobs import jobs

from . import counts

MOST_AT_ONCE = 300  # arms up to which a visitor waits for a report; above, a worker computes it
_SECONDS = 600  # lifetime of cached values


class Busy(Exception):  # noqa: N818 - an event, not a mistake
    """Another transaction writes, and this one must not wait."""


def store_if_current(revision: int, store: Callable[[], object], *, wait: bool) -> bool:
    """Call `store` in a transaction during which the knowledge stays at `revision`; return whether it was called.

    wait : whether to wait for a publication under way, as workers do; else nothing is stored during one
    Publications lock the row of the latest revision until they are committed. It is locked here by number, and then the
    latest number is read again, as a publication that was waited for made a newer row.
    """
    try:
        with transaction.atomic() if wait else nowait_transaction():
            rows = KnowledgeRevision.objects.select_for_update(skip_locked=not wait).filter(number=revision)
            if (revision and not list(rows)) or counts.revision() != revision:
                return False
            store()
    except Busy:
        return False
    return True


Row = TypeVar("Row", bound=models.Model)
Made = TypeVar("Made", bound=models.Model, covariant=True)


class Compute(Protocol[Made]):
    """Computes the report on the current knowledge and stores it. wait : as for store_if_current"""

    def __call__(self, *, wait: bool = True) -> Made: ...


@dataclass(frozen=True)
class KeptReport(Generic[Row]):
    """A report on everything published, with a row for each revision and method.

    job : that computes it; is_wanted : whether it is computed before anybody asks
    """

    rows: type[Row]
    method: int
    job: str
    compute: Compute[Row]
    is_wanted: bool = False

    def current(self) -> Row | None:
        """Return the newest report, computed where there is none; None while a worker computes it, if it takes long."""
        kept = self._of_method().order_by("-revision").first()
        if kept is not None:
            return kept
        if counts.has_more_arms_than(MOST_AT_ONCE):
            jobs.enqueue_once(self.job)
            return None
        return self.compute(wait=False)

    def renew(self) -> None:
        """Enqueue the computation, if there ever was a report."""
        if self.rows._default_manager.exists():
            jobs.enqueue_once(self.job)

    def reconcile(self) -> None:
        """Enqueue the computation of an outdated report, where its job was lost."""
        newest = self._of_method().aggregate(last=Max("revision"))["last"]
        if newest is None and not self.is_wanted:
            return
        if (newest or 0) < counts.revision():
            jobs.enqueue_with_backoff(self.job)

    def bring_up_to_date(self) -> None:
        """Compute the report of the current revision, again if a publication came in between."""
        while not self._of_method().filter(revision=counts.revision()).exists():
            self.compute()

    def _of_method(self) -> "models.QuerySet[Row]":
        return self.rows._default_manager.filter(method=self.method)


@contextmanager
def nowait_transaction() -> Iterator[None]:
    """Open a transaction that raises Busy where SQLite would wait for its one writer.

    Rows of PostgreSQL are locked with skip_locked inside.
    """
    with _no_busy_timeout():
        try:
            with transaction.atomic():
                yield
        except OperationalError as error:
            if connection.vendor == "sqlite" and "locked" in str(error):
                raise Busy from error
            raise


@contextmanager
def _no_busy_timeout() -> Iterator[None]:
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        timeout = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {timeout}")


def get_or_compute(key: str, work_out: Callable[[], Any], cache: str = "worked-out", seconds: int = _SECONDS) -> Any:
    """Return a value from the cache, else compute and cache it; settings.CACHES limit the memory."""
    return caches[cache].get_or_set(key, work_out, seconds)
