"""Store what was computed: in the database only while the knowledge is what it was computed from; or in memory."""

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

MOST_AT_ONCE = 300  # arms for which a visitor waits; with more, a worker does it
_SECONDS = 600  # that what is dear to work out is kept in memory


class Busy(Exception):  # noqa: N818 - an event, not a mistake
    """Another writer is at work, and this one was not to wait for it."""


def store_if_current(revision: int, store: Callable[[], object], *, wait: bool) -> bool:
    """Call `store` in a transaction if the knowledge is at `revision` until its end; tell whether.

    wait : for a publication under way, as workers do; a visitor does not wait, and then nothing is stored
    The row of the latest revision is the lock that publications hold until they are committed. It is locked by its
    number, and the latest number is read again afterwards: whoever waited for a publication finds a newer row.
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
    """Makes the report on the knowledge as it is, and stores it; wait : as of store_if_current."""

    def __call__(self, *, wait: bool = True) -> Made: ...


@dataclass(frozen=True)
class KeptReport(Generic[Row]):
    """A report on everything published, with a row by revision and method.

    job : that makes a new one; is_wanted : whether one is made before anybody asks
    """

    rows: type[Row]
    method: int
    job: str
    compute: Compute[Row]
    is_wanted: bool = False

    def current(self) -> Row | None:
        """Return the newest; where there is none, compute it, or None while a worker does as it takes long."""
        kept = self._of_method().order_by("-revision").first()
        if kept is not None:
            return kept
        if counts.has_more_arms_than(MOST_AT_ONCE):
            jobs.enqueue_once(self.job)
            return None
        return self.compute(wait=False)

    def renew(self) -> None:
        """Enqueue a new one, if anybody has ever asked for one."""
        if self.rows._default_manager.exists():
            jobs.enqueue_once(self.job)

    def look_after(self) -> None:
        """Enqueue one again that is behind, whatever became of the job."""
        newest = self._of_method().aggregate(last=Max("revision"))["last"]
        if newest is None and not self.is_wanted:
            return
        if (newest or 0) < counts.revision():
            jobs.enqueue_with_backoff(self.job)

    def bring_up_to_date(self) -> None:
        """Make that of the current revision; again where a publication came in between."""
        while not self._of_method().filter(revision=counts.revision()).exists():
            self.compute()

    def _of_method(self) -> "models.QuerySet[Row]":
        return self.rows._default_manager.filter(method=self.method)


@contextmanager
def nowait_transaction() -> Iterator[None]:
    """Open a transaction that raises Busy where SQLite would wait for its one writer.

    Rows of PostgreSQL are locked with skip_locked inside.
    """
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


def get_or_compute(key: str, work_out: Callable[[], Any], cache: str = "worked-out", seconds: int = _SECONDS) -> Any:
    """Return a value from memory, else compute and keep it for a while; settings.CACHES bound the memory."""
    return caches[cache].get_or_set(key, work_out, seconds)
