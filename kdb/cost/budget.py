"""Limit the processor time of the work under way, asked at each query and between long steps of computing."""

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
    """The request costs more than the web server spends on it. No Exception: templates would take it for a False."""


@contextmanager
def of_seconds(seconds: float) -> Iterator[None]:
    """Raise TooDear inside, once, where this thread has used more processor time than that.

    Of several requests at once in this process each has its part of it, down to a third: they wait for each other.
    """
    began, me = time.thread_time(), object()

    def check(ahead: float) -> None:
        if time.thread_time() - began + ahead > seconds / min(len(_at_work), _MOST_PARTS):
            raise TooDear

    _at_work.add(me)
    try:
        with checked_by(check):
            yield
    finally:
        _at_work.discard(me)


@contextmanager
def checked_by(check: Check) -> Iterator[None]:
    """Call it before each query that is in no transaction begun inside, and wherever `look` is."""
    outside = {alias: _transactions(connections[alias]) for alias in connections}

    def ask(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        connection = context["connection"]
        if _transactions(connection) == outside[connection.alias]:
            look()
        return execute(sql, params, many, context)

    token = _check.set(check)
    try:
        with ExitStack() as stack:
            for alias in connections:
                stack.enter_context(connections[alias].execute_wrapper(ask))
            yield
    finally:
        _check.reset(token)


def _transactions(connection: Any) -> tuple[bool, int]:
    """Tell whether there is one, and how many are inside it."""
    return connection.in_atomic_block, len(connection.savepoint_ids)


def look(ahead: float = 0.0) -> None:
    """Go on only where there is something left to spend. ahead : seconds that the next step is known to take"""
    if (check := _check.get()) is not None:
        lift()  # it may ask the database itself; and where it raises, what is left may ask once more
        check(ahead)
        _check.set(check)


def lift() -> None:
    """Let the rest of the work under way take as long as it needs."""
    _check.set(None)
