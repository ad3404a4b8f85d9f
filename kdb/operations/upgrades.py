"""Let two versions run side by side during an upgrade.

A worker whose code is older than the database exits instead of taking jobs, and the supervisor or Docker Compose starts
it again with the new code. One whose code is newer waits for the migration. CONTRIBUTING.md says how migrations keep
the older code working meanwhile.
"""

import logging
import os
import signal
import sys
import time

from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest

from kdb import __version__

logger = logging.getLogger(__name__)

OURS = ("kdb", "experiments", "modelling")
WAIT_SECONDS = 600
_worker_pid: int | None = None  # of the parent of a worker's processes


class DatabaseIsNewer(Exception):  # noqa: N818 - an event, not a mistake
    """The database was migrated by a later version of KDB."""


def difference() -> tuple[set[str], set[str]]:
    """Return the applied migrations that this code does not know, and its own that are not applied."""
    loader = MigrationLoader(connection, replace_migrations=False)
    known = {key for key in loader.disk_migrations if key[0] in OURS}
    applied = {key for key in loader.applied_migrations if key[0] in OURS}
    return _names(applied - known), _names(known - applied)


def refuse_newer() -> None:
    """Raise DatabaseIsNewer where the database has migrations that this code does not know."""
    unknown, _ = difference()
    if unknown:
        raise DatabaseIsNewer(
            f"The database has been migrated by a later version of KDB ({max(unknown)}); run that version."
        )


def is_newer() -> bool:
    """Tell whether the database has migrations that this code does not know."""
    return bool(difference()[0])


def wait_for_database() -> None:
    """Wait until all migrations are applied. Raises DatabaseIsNewer, or TimeoutError after WAIT_SECONDS."""
    give_up_at, is_logged = time.monotonic() + WAIT_SECONDS, False
    while True:
        refuse_newer()
        missing = difference()[1]
        connection.close()  # as the process is going to fork
        if not missing:
            return
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"The database still waits for migrations ({min(missing)}).")
        if not is_logged:
            logger.warning("wait for migrations first=%s count=%s", min(missing), len(missing))
            is_logged = True
        time.sleep(0.5)


def version(request: HttpRequest) -> dict[str, str]:
    """Give templates the version for the footer. A context processor."""
    return {"KDB_VERSION": __version__}


def begin_worker() -> None:
    """Wait for migrations, in the parent of a worker's processes.

    Raises SystemExit where the database does not fit, as Celery would only log other exceptions of a receiver.
    """
    global _worker_pid
    _worker_pid = os.getpid()
    try:
        wait_for_database()
    except (DatabaseIsNewer, TimeoutError) as error:
        sys.exit(str(error))
    except DatabaseError as error:  # the worker itself waits for a database that is away
        logger.warning("could not compare the database with this version reason=%r", error)
        connection.close()


def end_outdated_worker() -> bool:
    """If the database is newer, stop the worker after its current jobs. Return whether it is newer."""
    if not is_newer():
        return False
    logger.warning("the database is newer than this worker, which ends")
    if _worker_pid is not None:
        os.kill(_worker_pid, signal.SIGTERM)
    return True


def _names(keys: set[tuple[str, str]]) -> set[str]:
    return {".".join(key) for key in keys}
