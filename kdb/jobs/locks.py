"""Exclusive locks between processes, for migrations and for loading evidence. Others wait without a time limit."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

# Numbers of PostgreSQL's advisory locks, which must not change, as processes of two versions must exclude each other.
_LOCKS = {"migrate": 0x6B64626D, "load": 4_201_001, "sources": 4_201_002}


@contextmanager
def exclusive_lock(name: str) -> Iterator[None]:
    """Hold the lock of this name, which one process has at a time.

    With SQLite it is the lock of a file, because waiting for the database itself fails after 20 s.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCKS[name]])
        try:
            yield
        finally:
            if connection.is_usable():  # else the lock ended with the connection
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCKS[name]])
        return
    settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (settings.DATA_DIR / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
