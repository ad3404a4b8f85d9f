"""Read replicas (REPLICA_URLS): what everybody may read is read from one of them; all else from the primary.

A request of somebody unknown that only reads is answered by a replica that is up and at most MOST_BEHIND seconds
behind. Such an answer may be of an earlier knowledge revision, which it says. Whoever is signed in, or sends a token,
reads from the primary, what he just wrote among it. So does everything in a transaction.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from itertools import count
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.models import Model
from django.http import HttpRequest, HttpResponse

logger = logging.getLogger(__name__)

MOST_BEHIND = 5.0  # seconds
ASKED_EVERY = 1.0  # seconds

_chosen: ContextVar[str] = ContextVar("replica", default=DEFAULT_DB_ALIAS)


class Router:
    """DATABASE_ROUTERS: reads go where `reading_from` says, writes to the primary."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        return DEFAULT_DB_ALIAS if connections[DEFAULT_DB_ALIAS].in_atomic_block else _chosen.get()

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, first: Model, second: Model, **hints: Any) -> bool:
        return True  # the same rows, wherever they were read

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


@contextmanager
def reading_from(alias: str) -> Iterator[None]:
    token = _chosen.set(alias)
    try:
        yield
    finally:
        _chosen.reset(token)


class Replicas:
    """The replicas that may be asked, as this process sees them. Requests themselves look, one at a time."""

    def __init__(self, aliases: list[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.aliases, self.clock = aliases, clock
        self.asked_at, self.usable = -ASKED_EVERY, list[str]()
        self.written: list[tuple[float, str]] = []  # when the primary's log was at which place, the oldest first
        self.turn, self.lock = count(), threading.Lock()

    def next(self) -> str:
        """Return the alias of a replica that is up and follows; the primary's where there is none."""
        if self.clock() - self.asked_at >= ASKED_EVERY and self.lock.acquire(blocking=False):
            try:
                self.usable = self._look()
                self.asked_at = self.clock()
            finally:
                self.lock.release()
        usable = self.usable
        return usable[next(self.turn) % len(usable)] if usable else DEFAULT_DB_ALIAS

    def leave_out(self, alias: str) -> None:
        self.usable = [other for other in self.usable if other != alias]

    def _look(self) -> list[str]:
        """Return the replicas that have replayed what the primary had written MOST_BEHIND seconds ago."""
        place = _one("SELECT pg_current_wal_lsn()::text", DEFAULT_DB_ALIAS)
        at = self.clock()
        if place is None:
            self.written.clear()
            return []
        self.written.append((at, place))
        while len(self.written) > 1 and self.written[1][0] <= at - MOST_BEHIND:
            del self.written[0]
        wanted = self.written[0][1]
        usable = []
        for alias in self.aliases:
            follows = _one("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", alias, wanted)
            if follows:
                usable.append(alias)
            elif alias in self.usable:
                logger.warning(
                    "left out a replica replica=%s %s", alias, "is behind" if follows is False else "is down"
                )
        return usable


def _one(query: str, alias: str, *values: Any) -> Any:
    """Return the one value, or None where the database does not answer."""
    try:
        with connections[alias].cursor() as cursor:
            cursor.execute(query, values)
            return cursor.fetchone()[0]
    except DatabaseError:
        connections[alias].close()
        return None


def aliases() -> list[str]:
    return [alias for alias in settings.DATABASES if alias != DEFAULT_DB_ALIAS]


def replica_middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Answer strangers who only read from a replica; from the primary where it fails meanwhile."""
    replicas = Replicas(aliases())
    if not replicas.aliases:
        return get_response

    def middleware(request: HttpRequest) -> HttpResponse:
        is_known = settings.SESSION_COOKIE_NAME in request.COOKIES or "Authorization" in request.headers
        if request.method not in ("GET", "HEAD") or is_known or (alias := replicas.next()) == DEFAULT_DB_ALIAS:
            return get_response(request)
        with reading_from(alias):
            response = get_response(request)
        if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE and _one("SELECT 1", alias) is None:
            replicas.leave_out(alias)
            response = get_response(request)
        return response

    return middleware
