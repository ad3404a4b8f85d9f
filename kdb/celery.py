"""The Celery application, where REDIS_URL is set: `celery -A kdb worker`, `celery -A kdb beat`."""

import os
from pathlib import Path
from typing import Any

from celery import Celery, bootsteps, signals

from kdb.jobs import health_check, supervisor
from kdb.signals import worker_process_began

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")  # made by `prepare`; they load every page, and beat needs none

_LOADED_IN = os.getpid()  # the worker's, in the processes that it forks

app = Celery("kdb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["kdb.jobs"])


class SignOfLife(bootsteps.StartStopStep):
    """A step that touches ALIVE_FILE, where one is named, while the worker's main loop turns and it has its broker."""

    requires = {"celery.worker.components:Timer"}

    def start(self, parent: Any) -> None:
        if path := os.environ.get("ALIVE_FILE"):
            parent.timer.call_repeatedly(health_check.SIGN_SECONDS, Path(path).touch)


app.steps["worker"].add(SignOfLife)


@signals.setup_logging.connect
def keep_django_logging(**kwargs: Any) -> None:
    """Do nothing: being connected is enough for Celery to leave the logging of settings.LOGGING alone."""


@signals.worker_init.connect
def begin_with_a_database_of_this_version(**kwargs: Any) -> None:
    from kdb.operations import upgrades

    upgrades.begin_worker()


@signals.worker_init.connect
def end_with_the_supervisor(**kwargs: Any) -> None:
    """End with the supervisor: told to stop, a worker waits for its pool, for ever where that process was killed."""
    supervisor.end_with_supervisor()


@signals.worker_process_init.connect
def end_with_the_worker(**kwargs: Any) -> None:
    """End if the worker is gone: Celery has only just asked the kernel to end this process of the pool with it."""
    if _LOADED_IN not in (os.getpid(), os.getppid()):
        os._exit(1)


@signals.worker_process_init.connect
def tell_that_a_process_began(**kwargs: Any) -> None:
    worker_process_began.send(sender=app)


@signals.worker_ready.connect
def tick_at_once(**kwargs: Any) -> None:
    """Take up what was left behind now, and let the status page know of this worker."""
    app.send_task("experiments.tick", expires=15)
