"""Locks between processes, held for migrations and for loading evidence. Others wait without a limit."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection

# Numbers of PostgreSQL's advisory locks. They must not change: processes of two versions wait for each other.
_LOCKS = {"migrate": 0x6B64626D, "load": 4_201_001, "sources": 4_201_002}


@contextmanager
def exclusive_lock(work: str) -> Iterator[None]:
    """Hold the lock of this work, which one process at a time has.

    On SQLite it is a file's lock: waiting for the database's only writer fails after 20 seconds.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCKS[work]])
        try:
            yield
        finally:
            if connection.is_usable():  # else the lock went with the connection
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCKS[work]])
        return
    settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (settings.DATA_DIR / f"{work}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
