"""Prepare the database, then keep the web server and the workers running (kdb.jobs.serving)."""

import fcntl
import logging
import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, CommandError, call_command
from django.db import DatabaseError, connection

from kdb.env import integer
from kdb.jobs import serving
from kdb.jobs.health_check import first_host
from kdb.jobs.starting_page import StartingPage
from kdb.operations import status


class Command(BaseCommand):
    help = "Prepare the database and run the web server and the workers until Ctrl-C. PORT chooses the port."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the supervisor sets its own handler
        try:
            sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # also where stdout is a file
            port = integer("PORT", 8000, lowest=1, highest=65535)
            os.umask(0o077)  # for all files that this and its children make: database, keys, logs
            lock = _lock(settings.DATA_DIR)
            for folder in (settings.DATA_DIR, settings.KDB_KEYS_DIR):
                self._make_private(folder)
            listener = _listen(port)
            starting = StartingPage(listener)
            _check_services()
            call_command("prepare", stdout=self.stdout)
            connection.close()
            self.stdout.write("Starting the web server and the workers.")
            starting.end()
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", settings.SETTINGS_MODULE)
            serving.replace_process(
                serving.Serving(
                    port=port,
                    listener=listener.fileno(),
                    lock=lock.fileno(),
                    host=first_host(settings.ALLOWED_HOSTS),
                    data_dir=str(settings.DATA_DIR),
                    with_redis=bool(settings.REDIS_URL),
                    log_form=settings.LOG_FORM,
                    log_level=logging.getLevelName(logging.getLogger("kdb").getEffectiveLevel()),
                )
            )
        except KeyboardInterrupt:
            self.stdout.write("KDB has stopped.")
        except (ImproperlyConfigured, CommandError) as error:
            sys.exit(f"KDB does not run: {error}")

    def _make_private(self, folder: Path) -> None:
        """Make an existing folder accessible to its owner only, and say so."""
        if not folder.is_dir() or not (mode := stat.S_IMODE(folder.stat().st_mode)) & 0o077:
            return
        if mode & stat.S_ISVTX or folder.stat().st_uid != os.geteuid():  # not /tmp, and nobody else's folder
            self.stderr.write(f"{folder} may be read by others; choose a folder of your own.")
            return
        folder.chmod(0o700)
        self.stdout.write(f"{folder} could be read by others; now only by you.")


def _lock(data_dir: Path) -> IO[str]:
    """Lock the data directory, on which one server may run. Raises CommandError."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (data_dir / "server.lock").open("a")
    except OSError as error:
        raise CommandError(f"DATA_DIR cannot be written: {error.strerror}: {error.filename}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CommandError(f"another server runs on {data_dir}; stop it, or choose another DATA_DIR.") from None
    return lock


def _listen(port: int) -> socket.socket:
    """Listen on the port with a socket that each web server inherits. Raises CommandError."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        raise CommandError(f"port {port} cannot be used: {error.strerror}; choose another with PORT=.") from None
    return listener


def _check_services() -> None:
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        words = str(error).strip().splitlines()
        raise CommandError(f"the database cannot be reached: {words[0] if words else type(error).__name__}") from None
    broker = status.broker_health()
    if broker["status"] != "ok":
        raise CommandError(f"the broker cannot be reached: {broker['detail']}")
