"""Limit the processor time of a request: checked before each query and between long steps of computing."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import connections

Check = Callable[[float], None]  # called with the seconds that the next step takes, as far as known
_running: set[object] = set()  # the requests of this process that have a budget
_MAX_DIVISOR = 3  # a request keeps a third of its seconds, however many run at the same time
_check: ContextVar[Check | None] = ContextVar("budget", default=None)


class BudgetExceeded(BaseException):
    """The request has used up its processor time. Not an Exception, which templates would swallow."""


@contextmanager
def limit_seconds(seconds: float) -> Iterator[None]:
    """Raise BudgetExceeded inside, once, when this thread has used this much processor time.

    Requests that run in this process at the same time wait for each other, so each has less, down to a third.
    """
    began, request = time.thread_time(), object()

    def enforce(ahead: float) -> None:
        if time.thread_time() - began + ahead > seconds / min(len(_running), _MAX_DIVISOR):
            raise BudgetExceeded

    _running.add(request)
    try:
        with call_before_queries(enforce):
            yield
    finally:
        _running.discard(request)


@contextmanager
def call_before_queries(checker: Check) -> Iterator[None]:
    """Call the checker wherever `check` is called, and before each query, except in transactions that begin inside."""
    outside = {alias: _transactions(connections[alias]) for alias in connections}

    def check_first(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        connection = context["connection"]
        if _transactions(connection) == outside[connection.alias]:
            check()
        return execute(sql, params, many, context)

    token = _check.set(checker)
    try:
        with ExitStack() as stack:
            for alias in connections:
                stack.enter_context(connections[alias].execute_wrapper(check_first))
            yield
    finally:
        _check.reset(token)


def _transactions(connection: Any) -> tuple[bool, int]:
    """Return whether a transaction is open, and the number of its savepoints."""
    return connection.in_atomic_block, len(connection.savepoint_ids)


def check(ahead: float = 0.0) -> None:
    """Raise BudgetExceeded if the next step does not fit into the budget. ahead : seconds that the step takes"""
    if (checker := _check.get()) is not None:
        remove_limit()  # the checker may query the database itself; once it raised, cleaning up is not checked
        checker(ahead)
        _check.set(checker)


def remove_limit() -> None:
    """Let the rest of the request take as long as it needs."""
    _check.set(None)
