"""Limit the processor time of a request: checked before each query and between long steps of computing."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import connections

Check = Callable[[float], None]  # of the seconds that the next step is known to take
_at_work: set[object] = set()  # requests with a budget
_MOST_PARTS = 3
_check: ContextVar[Check | None] = ContextVar("budget", default=None)


class TooDear(BaseException):
    """The request costs more than the web server spends on it. Not an Exception: templates would swallow it."""


@contextmanager
def limit_seconds(seconds: float) -> Iterator[None]:
    """Raise TooDear inside, once, when this thread has used that much processor time.

    Requests at work in this process at the same time share it, down to a third each: they wait for each other.
    """
    began, me = time.thread_time(), object()

    def enforce(ahead: float) -> None:
        if time.thread_time() - began + ahead > seconds / min(len(_at_work), _MOST_PARTS):
            raise TooDear

    _at_work.add(me)
    try:
        with call_before_queries(enforce):
            yield
    finally:
        _at_work.discard(me)


@contextmanager
def call_before_queries(checker: Check) -> Iterator[None]:
    """Call the checker before each query outside of transactions that began inside, and wherever `check` is called."""
    outside = {alias: _transactions(connections[alias]) for alias in connections}

    def ask(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        connection = context["connection"]
        if _transactions(connection) == outside[connection.alias]:
            check()
        return execute(sql, params, many, context)

    token = _check.set(checker)
    try:
        with ExitStack() as stack:
            for alias in connections:
                stack.enter_context(connections[alias].execute_wrapper(ask))
            yield
    finally:
        _check.reset(token)


def _transactions(connection: Any) -> tuple[bool, int]:
    """Tell whether there is a transaction, and how many savepoints are in it."""
    return connection.in_atomic_block, len(connection.savepoint_ids)


def check(ahead: float = 0.0) -> None:
    """Raise TooDear if the budget does not last for the next step. ahead : seconds that the step takes"""
    if (checker := _check.get()) is not None:
        remove_limit()  # it may ask the database itself; and where it raises, what is left may ask once more
        checker(ahead)
        _check.set(checker)


def remove_limit() -> None:
    """Let the rest of the request take as long as it needs."""
    _check.set(None)
