"""The Celery application: `celery -A kdb worker`, `celery -A kdb beat`."""

import logging
import os
import sys
from typing import Any

from celery import Celery, signals
from django.conf import settings
from django.db import DatabaseError

from kdb import broker, supervisor

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")

logger = logging.getLogger(__name__)

_LOADED_IN = os.getpid()  # the worker's, in the processes that it forks

app = Celery("kdb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect
def keep_django_logging(**kwargs: Any) -> None:
    """Being connected is enough: Celery then leaves the logging of settings.LOGGING alone."""


@signals.worker_init.connect
def begin_with_a_database_of_this_version(**kwargs: Any) -> None:
    """Celery only logs what a receiver raises; SystemExit ends the worker."""
    from kdb.operating import upgrades

    upgrades.note_worker()
    try:
        upgrades.wait_for_database()
    except (upgrades.DatabaseIsNewer, TimeoutError) as error:
        sys.exit(str(error))
    except DatabaseError as error:  # the worker waits for the database itself
        logger.warning("could not compare the database with this version reason=%r", error)


@signals.worker_init.connect
def end_with_the_supervisor(**kwargs: Any) -> None:
    """Told to stop, a worker waits for what its pool has under way: for ever where that process was killed, too."""
    supervisor.end_with_supervisor()


@signals.worker_process_init.connect
def end_with_the_worker(**kwargs: Any) -> None:
    """Celery has just asked the kernel to end this process of the pool with the worker's, which may be gone."""
    if _LOADED_IN not in (os.getpid(), os.getppid()):
        os._exit(1)


@signals.worker_init.connect
def give_back_what_the_last_worker_held(**kwargs: Any) -> None:
    if not settings.REDIS_URL and (count := broker.requeue_inflight(settings.KDB_BROKER_DIR)):
        logger.warning("gave back messages of a worker that is gone count=%s", count)


@signals.worker_ready.connect
def tick_at_once(**kwargs: Any) -> None:
    """Take up what was left behind now, and let the status page know of this worker."""
    app.send_task("experiments.tick", expires=15)
