"""Whether a process lives: what a container's health check and the start of the server ask."""

import socket
import time
import urllib.error
import urllib.request
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from kdb.celery import app
from kdb.models import WorkerHeartbeat


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """The web process answers. What it stands on is at /api/v1/status/."""
    return HttpResponse("ok\n", content_type="text/plain", headers={"Cache-Control": "no-store"})


def answers(port: int, timeout: float) -> bool:
    """Whether a web server of ours answers on this machine."""
    host = next((host for host in settings.ALLOWED_HOSTS if host[0] not in "*."), "localhost")
    request = urllib.request.Request(f"http://127.0.0.1:{port}/healthz", headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:  # noqa: S310 - http only
            return response.read() == b"ok\n"
    except (OSError, urllib.error.URLError):
        return False


def beat_is_alive(within_seconds: float) -> bool:
    """Beat writes its schedule file after each task it sends (CELERY_BEAT_SYNC_EVERY)."""
    files = settings.DATA_DIR.glob("beat-schedule*")
    return any(time.time() - path.stat().st_mtime < within_seconds for path in files)


def worker_is_alive(within_seconds: float) -> bool:
    """The worker of this machine answers; without Redis, where nobody can ask it, it did a task lately."""
    name = f"kdb@{socket.gethostname()}"
    if settings.REDIS_URL:
        return _answers_ping(name)
    lately = now() - timedelta(seconds=within_seconds)
    return WorkerHeartbeat.objects.filter(name=name, seen_at__gt=lately).exists()


def laboratory_is_alive() -> bool:
    """The worker of this machine's laboratory answers; only Redis can ask it."""
    return bool(settings.REDIS_URL) and _answers_ping(f"lab@{socket.gethostname()}")


def _answers_ping(name: str) -> bool:
    return bool(app.control.ping(destination=[name], timeout=2))
