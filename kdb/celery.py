"""The Celery application: `celery -A kdb worker`, `celery -A kdb beat`."""

import logging
import os
import sys
from pathlib import Path
from typing import Any

from celery import Celery, bootsteps, signals
from django.conf import settings
from django.db import DatabaseError

from kdb.work import alive, broker, supervisor

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")

logger = logging.getLogger(__name__)

_LOADED_IN = os.getpid()  # the worker's, in the processes that it forks

app = Celery("kdb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["kdb.work"])


class SignOfLife(bootsteps.StartStopStep):
    """A step that touches ALIVE_FILE, where one is named, while the worker's main loop turns and it has its broker."""

    requires = {"celery.worker.components:Timer"}

    def start(self, parent: Any) -> None:
        if path := os.environ.get("ALIVE_FILE"):
            parent.timer.call_repeatedly(alive.SIGN_SECONDS, Path(path).touch)


app.steps["worker"].add(SignOfLife)


@signals.setup_logging.connect
def keep_django_logging(**kwargs: Any) -> None:
    """Do nothing: being connected is enough for Celery to leave the logging of settings.LOGGING alone."""


@signals.worker_init.connect
def begin_with_a_database_of_this_version(**kwargs: Any) -> None:
    """End the worker if the database does not fit, by SystemExit: Celery only logs what else a receiver raises."""
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
    """End with the supervisor: told to stop, a worker waits for its pool, for ever where that process was killed."""
    supervisor.end_with_supervisor()


@signals.worker_process_init.connect
def end_with_the_worker(**kwargs: Any) -> None:
    """End if the worker is gone: Celery has only just asked the kernel to end this process of the pool with it."""
    if _LOADED_IN not in (os.getpid(), os.getppid()):
        os._exit(1)


@signals.celeryd_after_setup.connect
def give_back_what_the_last_worker_held(instance: Any, **kwargs: Any) -> None:
    """Give back what lies in the queues of this worker: the others' are not held by one that is gone."""
    queues = instance.app.amqp.queues.consume_from
    if not settings.REDIS_URL and (count := broker.requeue_inflight(settings.KDB_BROKER_DIR, queues)):
        logger.warning("gave back messages of a worker that is gone count=%s", count)


@signals.worker_ready.connect
def tick_at_once(**kwargs: Any) -> None:
    """Take up what was left behind now, and let the status page know of this worker."""
    app.send_task("experiments.tick", expires=15)
