"""The web server's way in."""

import logging
import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connections

from kdb.database.postgresql import limit_requests
from kdb.jobs.health_check import first_host

logger = logging.getLogger(__name__)

_METRICS_BYTES = 512 * 1024  # some 150 views with their times, several times over

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")


def _share_metrics() -> None:
    """Let the processes of one web server count together (kdb.operations.metrics), where there is a place for it."""
    try:
        settings.KDB_METRICS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        _count_alone(error)
        return
    os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(settings.KDB_METRICS_DIR))


def make_room_for_metrics() -> None:
    """Take the space of the files, mapped into memory, in which this process counts, before anything is counted: on a
    full disk, writing to a mapped hole kills the process. Called in each process that answers, after it was forked."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return
    from prometheus_client import values

    try:
        for kind in ("counter", "histogram"):
            with (settings.KDB_METRICS_DIR / f"{kind}_{os.getpid()}.db").open("ab") as file:
                if hasattr(os, "posix_fallocate"):  # not on macOS
                    os.posix_fallocate(file.fileno(), 0, _METRICS_BYTES)
    except OSError as error:
        _count_alone(error)
        values.ValueClass = values.MutexValue


def _count_alone(error: OSError) -> None:
    logger.warning("the processes of the web server count each by itself reason=%s", error.strerror)


def answer_nobody() -> None:
    """Show the first page to nobody, and let applications do what their first answers would: with its templates, the
    catalogue's names and what lies behind each choice read, the first visitor waits for none of that. Nothing stays
    open in a process that is going to fork."""
    from kdb.cost import deferral
    from kdb.signals import web_server_began

    host = {"SERVER_NAME": first_host(settings.ALLOWED_HOSTS), "SERVER_PORT": "80", "wsgi.url_scheme": "http"}
    deferral.respond({"PATH_INFO": "/", **host})
    web_server_began.send_robust(sender=application)  # it serves what it can, whatever is not yet there
    connections.close_all()


_share_metrics()
limit_requests(settings.DATABASES, settings.KDB_STATEMENT_SECONDS)
application = get_wsgi_application()
