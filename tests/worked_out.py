"""Answers that tests work out from the published evidence, worked out once a process and not once a test.

Hundreds of tests ask the same questions of the same rows. While a test has changed no row of the evidence and patches
nothing, it is given what an earlier one worked out; what it works out is then kept for later ones. Only what follows
from the evidence alone is shared: whether an answer is kept, pinned or shown is each test's own.
"""

import pickle
import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache.backends.locmem import LocMemCache
from django.db.backends.signals import connection_created

from modelling.answers import estimate
from modelling.foretelling import selectors as foretelling
from modelling.here import sittings
from modelling.kept_answers import snapshots
from modelling.validation import reports

CACHES = ("worked-out", "rankings", "verdicts", "arms")
# Who has them in memory has kept them, or reads what is kept, or what was measured in laboratories.
NOT_SHARED = ("modelling.answer:", "modelling.doubts", "modelling.aged", "modelling.causes:")
PATCHING = {"monkeypatch", "settings", "django_assert_num_queries", "django_assert_max_num_queries"}

# Tables that no published answer is worked out from: of hosts and campaigns, of work, of laboratories, of fleets.
_BESIDE = (
    "host|askedcommand|privatekey|storagepool|campaign|run|observed|diskstatistics|signature|job|workerheartbeat",
    "rankingsnapshot|pinnedanswer|qualityreport|keptmachine|followedquestion",
    "laboratory|sitting|serieschange|monthoftests|detect|statedmix|placement|moveline",
)
# A statement that may write what answers are worked out from.
_WRITES = re.compile(
    r"\s*(?!SELECT|SAVEPOINT|RELEASE|ROLLBACK|PRAGMA)\w+ .*\b(?:experiments|modelling)_" f"(?!{'|'.join(_BESIDE)})",
    re.DOTALL,
)


class _Shared:
    """A store holds what is shared, pickled, and knows whether the running test may have it."""

    def __init__(self) -> None:
        self.kept: dict[Any, bytes] = {}
        self.is_open = False

    def get(self, key: Any) -> Any:
        return pickle.loads(self.kept[key]) if self.is_open and key in self.kept else None

    def set(self, key: Any, value: Any) -> None:
        if self.is_open:
            self.kept[key] = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


SHARED = _Shared()


def begin(fixtures: set[str]) -> None:
    """Share from now on, in a test with these fixtures whose database has the published evidence and nothing else."""
    SHARED.is_open = not PATCHING & fixtures


def end() -> None:
    SHARED.is_open = False


class Cache(LocMemCache):
    """A process's memory that looks into what is shared where it has nothing itself."""

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        value = super().get(key, default, version)
        if value is not default or key.startswith(NOT_SHARED):
            return value
        shared = SHARED.get(key)
        return default if shared is None else shared

    def add(self, key: str, value: Any, *arguments: Any, **options: Any) -> bool:
        if not key.startswith(NOT_SHARED):
            SHARED.set(key, value)
        return super().add(key, value, *arguments, **options)

    def set(self, key: str, value: Any, *arguments: Any, **options: Any) -> None:
        if not key.startswith(NOT_SHARED):
            SHARED.set(key, value)
        super().set(key, value, *arguments, **options)


def _shared(work_out: Callable[..., Any]) -> Callable[..., Any]:
    """Share what a function of the evidence and of its arguments alone returns."""

    def shared(*arguments: Any, **options: Any) -> Any:
        key = work_out.__qualname__, repr(arguments), repr(options)
        if (value := SHARED.get(key)) is None:
            value = work_out(*arguments, **options)
            SHARED.set(key, value)
        return value

    return shared


def _watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    if SHARED.is_open and _WRITES.match(sql):
        SHARED.is_open = False
    return execute(sql, params, many, context)


def _watch_connection(connection: Any, **kwargs: Any) -> None:
    if _watch not in connection.execute_wrappers:
        connection.execute_wrappers.append(_watch)


def install() -> None:
    """Put it in the place of what KDB remembers with, in this process."""
    for name in CACHES:
        settings.CACHES[name]["BACKEND"] = f"{__name__}.{Cache.__name__}"
    snapshots._answered = _shared(snapshots._answered)
    reports._result = _shared(reports._result)
    estimate._in_one_metric = _shared(estimate._in_one_metric)
    foretelling.model = _shared(foretelling.model)
    sittings.known_of = _shared(sittings.known_of)
    connection_created.connect(_watch_connection)
