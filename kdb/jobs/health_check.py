"""Check whether a process of this machine is alive: `python -I -S kdb/jobs/health_check.py web|worker|beat`.

Containers run it twice a minute, so it imports neither KDB nor Django, whose start takes four seconds of a processor.
"""

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

SIGN_SECONDS = 10  # between two touches of a worker's ALIVE_FILE
STALE_SECONDS = 60
TIMEOUT_SECONDS = 3


def web_answers(port: int, host: str, timeout: float = TIMEOUT_SECONDS) -> bool:
    """Tell whether the web server on this port answers its health check. host : one of ALLOWED_HOSTS"""
    request = f"GET /healthz HTTP/1.0\r\nHost: {host}\r\n\r\n".encode()
    response = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout) as connection:
            connection.sendall(request)
            while data := connection.recv(4096):
                response += data
    except OSError:
        return False
    return response.partition(b"\r\n")[0].endswith(b"200 OK") and response.endswith(b"\r\n\r\nok\n")


def first_host(allowed_hosts: list[str]) -> str:
    """Return a host name that the web server accepts."""
    return next((host for host in allowed_hosts if host[:1] not in ("", "*", ".")), "localhost")


def is_fresh(paths: list[Path]) -> bool:
    return any(path.exists() and time.time() - path.stat().st_mtime < STALE_SECONDS for path in paths)


def _web() -> bool:
    hosts = [host.strip() for host in os.environ.get("ALLOWED_HOSTS", "").split(",")]
    return web_answers(int(os.environ.get("PORT") or 8000), first_host(hosts))


def _worker() -> bool:
    """Tell whether the worker touched ALIVE_FILE recently, as it does while its main loop runs (kdb/celery.py)."""
    return is_fresh([Path(os.environ["ALIVE_FILE"])])


def _beat() -> bool:
    """Tell whether beat touched its schedule recently, as it does after each task (CELERY_BEAT_SYNC_EVERY)."""
    return is_fresh(list(Path(os.environ["DATA_DIR"]).glob("beat-schedule*")))


CHECKS: dict[str, Callable[[], bool]] = {"web": _web, "worker": _worker, "beat": _beat}

if __name__ == "__main__":
    name = sys.argv[1]
    sys.exit(None if CHECKS[name]() else f"no sign of life of the {name}")
