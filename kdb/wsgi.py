"""The WSGI application."""

import logging
import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connections

from kdb.database.postgresql import limit_requests
from kdb.jobs.health_check import first_host

logger = logging.getLogger(__name__)

_METRICS_BYTES = 512 * 1024  # several times what some 150 views need

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")


def _share_metrics() -> None:
    """Let the web server's processes share their metrics (kdb.operations.metrics) in files, if they can be made."""
    try:
        settings.KDB_METRICS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        _log_unshared_metrics(error)
        return
    os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(settings.KDB_METRICS_DIR))


def reserve_metrics_space() -> None:
    """Allocate the memory-mapped files of this process's metrics, as writing to a hole of one kills it on a full disk.

    Called in each process after it was forked, before it counts anything.
    """
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return
    from prometheus_client import values

    try:
        for kind in ("counter", "histogram"):
            with (settings.KDB_METRICS_DIR / f"{kind}_{os.getpid()}.db").open("ab") as file:
                if hasattr(os, "posix_fallocate"):  # not on macOS
                    os.posix_fallocate(file.fileno(), 0, _METRICS_BYTES)
    except OSError as error:
        _log_unshared_metrics(error)
        values.ValueClass = values.MutexValue


def _log_unshared_metrics(error: OSError) -> None:
    logger.warning("the processes of the web server count each by itself reason=%s", error.strerror)


def warm_up() -> None:
    """Answer the start page once, and send `web_server_began`, so that templates and caches are loaded before the fork.

    Connections are closed, as forked processes must not share them.
    """
    from kdb.cost import deferral
    from kdb.signals import web_server_began

    host = {"SERVER_NAME": first_host(settings.ALLOWED_HOSTS), "SERVER_PORT": "80", "wsgi.url_scheme": "http"}
    deferral.respond({"PATH_INFO": "/", **host})
    web_server_began.send_robust(sender=application)  # robust, as it must serve even where data are missing
    connections.close_all()


_share_metrics()
limit_requests(settings.DATABASES, settings.KDB_STATEMENT_SECONDS)
application = get_wsgi_application()
