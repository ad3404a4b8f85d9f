"""The web server's way in."""

import logging
import os
import threading

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from kdb.database.postgresql import limit_requests

logger = logging.getLogger(__name__)

_METRICS_BYTES = 512 * 1024  # some 150 views with their times, several times over

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kdb.settings.local")


def _make_room_for_metrics() -> None:
    """Take the space of the files, mapped into memory, in which the processes of one web server count together
    (kdb.operating.metrics), before anything is counted: on a full disk, writing to a mapped hole kills the process.
    Where there is no room, each process counts by itself."""
    try:
        settings.KDB_METRICS_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kind in ("counter", "histogram"):
            with (settings.KDB_METRICS_DIR / f"{kind}_{os.getpid()}.db").open("ab") as file:
                if hasattr(os, "posix_fallocate"):  # not on macOS
                    os.posix_fallocate(file.fileno(), 0, _METRICS_BYTES)
    except OSError as error:
        logger.warning("the processes of the web server count each by itself reason=%s", error.strerror)
        return
    os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(settings.KDB_METRICS_DIR))


_make_room_for_metrics()
limit_requests(settings.DATABASES, settings.KDB_STATEMENT_SECONDS)
application = get_wsgi_application()

from kdb.api import schema  # noqa: E402 - once Django is set up

threading.Thread(target=schema.prepare, name="schema of the API", daemon=True).start()
