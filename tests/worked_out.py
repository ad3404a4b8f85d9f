"""Answers that tests work out from the published evidence, worked out once a process and not once a test.

Hundreds of tests ask the same questions of the same rows. While a test has changed no row of the evidence and patches
nothing, it is given what an earlier one worked out; what it works out is then kept for later ones. Only what follows
from the evidence alone is shared: whether an answer is kept, pinned or shown is each test's own.
"""

import pickle
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pandas as pd
from django.conf import settings
from django.core.cache.backends.locmem import LocMemCache
from django.db.backends.signals import connection_created

from modelling.answer_store import snapshots
from modelling.answers import estimate, knowledge
from modelling.estimation.hierarchy import Fitted, Knowledge
from modelling.own_lab import sessions
from modelling.prediction.validation import reports

CACHES = ("worked-out", "rankings", "verdicts", "arms")
# Who has them in memory has kept them, or reads what is kept, or what was measured in laboratories.
NOT_SHARED = ("modelling.answer:", "modelling.forecast_caveats", "modelling.speed_changes", "modelling.causes:")
PATCHING = {"monkeypatch", "settings", "django_assert_num_queries", "django_assert_max_num_queries"}

# A statement that writes what answers are worked out from, or are; its table. Jobs are no part of the evidence.
_WRITTEN = re.compile(r'\s*(?:INSERT(?: OR IGNORE)? INTO|UPDATE|DELETE FROM) "?((?:experiments|modelling)_\w+)')


class _Shared:
    """A store holds what is shared, pickled, and knows whether the running test may have it."""

    def __init__(self) -> None:
        self.kept: dict[Any, bytes] = {}
        self.is_open = False
        self.tables: set[str] = set()  # of the evidence: what writes to one of them ends the sharing

    def get(self, key: Any) -> Any:
        return pickle.loads(self.kept[key]) if self.is_open and key in self.kept else None

    def set(self, key: Any, value: Any) -> None:
        if self.is_open:
            self.kept[key] = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


SHARED = _Shared()


def begin(copying: Iterable[str], fixtures: set[str]) -> None:
    """Share from now on, in a test with these fixtures whose database has what these statements copied, and no more."""
    SHARED.tables = {match[1] for match in map(_WRITTEN.match, copying) if match}
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


def _fitted_once(fit: Callable[..., Fitted]) -> Callable[..., Fitted]:
    """Fit the same cells with the same scales once a process: what is fitted follows from them and changes nothing."""
    kept: dict[Any, Fitted] = {}

    def fitted(known: Knowledge, choices: Collection[str], load: str = "", laboratory: str = "") -> Fitted:
        cells = hash(pd.util.hash_pandas_object(known.cells).to_numpy().tobytes())
        key = cells, frozenset(choices), load, laboratory, known.scales.variances.tobytes()
        if key not in kept:
            if len(kept) > 30:
                kept.pop(next(iter(kept)))
            kept[key] = fit(known, choices, load, laboratory)
        return kept[key]

    return fitted


def _watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    if SHARED.is_open and (written := _WRITTEN.match(sql)) and written[1] in SHARED.tables:
        SHARED.is_open = False
    return execute(sql, params, many, context)


def _watch_connection(connection: Any, **kwargs: Any) -> None:
    if _watch not in connection.execute_wrappers:
        connection.execute_wrappers.append(_watch)


def install() -> None:
    """Put it in the place of what KDB remembers with, in this process."""
    for name in CACHES:
        settings.CACHES[name]["BACKEND"] = f"{__name__}.{Cache.__name__}"
    snapshots._answer = _shared(snapshots._answer)
    reports._build_report = _shared(reports._build_report)
    estimate._rank_by_metric = _shared(estimate._rank_by_metric)
    knowledge.cells = _shared(knowledge.cells)
    Knowledge.fitted = _fitted_once(Knowledge.fitted)
    sessions.prior_of_choices = _shared(sessions.prior_of_choices)
    connection_created.connect(_watch_connection)
