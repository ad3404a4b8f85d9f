"""The Celery application, where REDIS_URL is set: `celery -A kdb worker`, `celery -A kdb beat`."""

import os
from pathlib import Path
from typing import Any

from celery import Celery, bootsteps, signals

from kdb.jobs import health_check, supervisor
from kdb.signals import worker_process_began

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")
os.environ.setdefault(
    "CELERY_SKIP_CHECKS", "1"
)  # `prepare` makes them; they import every view, which beat does not need

_LOADED_IN = os.getpid()  # of the worker, also in the processes that it forks

app = Celery("kdb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["kdb.jobs"])


class SignOfLife(bootsteps.StartStopStep):
    """A boot step that touches ALIVE_FILE, if set, while the main loop runs and the broker is connected."""

    requires = {"celery.worker.components:Timer"}

    def start(self, parent: Any) -> None:
        if path := os.environ.get("ALIVE_FILE"):
            parent.timer.call_repeatedly(health_check.SIGN_SECONDS, Path(path).touch)


app.steps["worker"].add(SignOfLife)


@signals.setup_logging.connect
def keep_django_logging(**kwargs: Any) -> None:
    """Do nothing. Celery leaves settings.LOGGING alone if this signal has any receiver."""


@signals.worker_init.connect
def wait_for_migrations(**kwargs: Any) -> None:
    from kdb.operations import upgrades

    upgrades.begin_worker()


@signals.worker_init.connect
def end_with_the_supervisor(**kwargs: Any) -> None:
    """Exit once the supervisor was killed. A worker that was told to stop may otherwise wait for its pool for ever."""
    supervisor.end_with_supervisor()


@signals.worker_process_init.connect
def end_with_the_worker(**kwargs: Any) -> None:
    """Exit if the worker died before Celery asked the kernel to end this process of its pool with it."""
    if _LOADED_IN not in (os.getpid(), os.getppid()):
        os._exit(1)


@signals.worker_process_init.connect
def send_worker_process_began(**kwargs: Any) -> None:
    worker_process_began.send(sender=app)


@signals.worker_ready.connect
def tick_at_once(**kwargs: Any) -> None:
    """Requeue lost jobs at once, and record for the status page that this worker lives."""
    app.send_task("experiments.tick", expires=15)
