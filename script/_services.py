"""Starts PostgreSQL and Redis for the scripts beside it, on free ports and in a folder of theirs."""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psycopg
import redis

# Variables of the person's own environment that would lead tests and trials to that person's data.
OWN_SETTINGS = ("DATABASE_URL", "REDIS_URL", "DATA_DIR", "DJANGO_SETTINGS_MODULE", "SECRET_KEY", "ALLOWED_HOSTS")
START_SECONDS = 30
STOP_SECONDS = 15
# The data may be lost with the machine, so nothing waits for the disk. What was committed survives a killed server.
WITHOUT_DISK = {"fsync": "off", "full_page_writes": "off", "jit": "off"}  # jit took most of a second for small queries


class CannotStartError(Exception):
    """A service that is installed, or that was named, does not answer; the text says which and why."""


def find_program(name: str, *folders: Path) -> str | None:
    return shutil.which(name) or next((str(f / name) for f in folders if (f / name).exists()), None)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end_with_parent() -> None:
    """Ask Linux to stop this child when what started it is killed without a chance to do so."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)  # 1: PR_SET_PDEATHSIG


class Service:
    """A server of ours, from `start` to `stop`; whoever asks what its end does kills it, and starts it again."""

    def __init__(
        self,
        command: list[str],
        log: Path,
        answers: Callable[[], bool],
        user: str | None = None,
        patience: float = START_SECONDS,
    ) -> None:
        self.command, self.log, self.answers, self.user, self.patience = command, log, answers, user, patience
        self.environment = dict(os.environ)  # as it is now, also for a later start
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        """Start the server and return once it answers. Raises CannotStartError."""
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for pytest first; the server stops after it
                preexec_fn=end_with_parent,
                **as_user(self.user),
            )
        deadline = time.monotonic() + self.patience
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                log_end = self.log.read_text(errors="replace")[-2000:]
                raise CannotStartError(f"{self.command[0]} does not start:\n{log_end}")
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def stop(self, number: signal.Signals = signal.SIGINT, patience: float = STOP_SECONDS) -> None:
        """End it: PostgreSQL and Redis end at SIGINT without waiting for clients."""
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


def as_user(user: str | None) -> dict:
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}


def unprivileged_user() -> str | None:
    """Return a user for PostgreSQL, which refuses to run as root; None where we are not root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def answers_postgresql(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def answers_redis(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, retry=None) as client:
            return client.ping()
    except redis.RedisError:
        return False


def new_postgresql(folder: Path, **options: str) -> tuple[Service, str] | None:
    """Return a PostgreSQL server with these settings, to be started, and its address; None where none is installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    initdb, postgres = find_program("initdb", *folders), find_program("postgres", *folders)
    if not initdb or not postgres:
        return None
    user, port = unprivileged_user(), free_port()
    home = folder / "postgresql"
    home.mkdir()
    if user:
        shutil.chown(home, user)
    made = subprocess.run(
        [initdb, "-D", home / "data", "-U", "kdb", "-A", "trust", "--no-sync", "--encoding=UTF8", "--locale=C"],
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **as_user(user),
    )
    if made.returncode:
        raise CannotStartError(f"{initdb} fails:\n{made.stderr}")
    where = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": home}
    settings = (f"--{name}={value}" for name, value in (where | WITHOUT_DISK | options).items())
    url = f"postgres://kdb@127.0.0.1:{port}/postgres"
    command = [postgres, "-D", str(home / "data"), *settings]
    return Service(command, folder / "postgresql.log", lambda: answers_postgresql(url), user), url


def new_redis(folder: Path) -> tuple[Service, str] | None:
    """Return a Redis server, to be started, and its address; None where none is installed."""
    program, port = find_program("redis-server"), free_port()
    if not program:
        return None
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    url = f"redis://127.0.0.1:{port}/0"
    return Service(command, folder / "redis.log", lambda: answers_redis(url)), url


def started(stack: ExitStack, made: tuple[Service, str] | None) -> str | None:
    """Start it until the stack ends; its address, None where there is none."""
    if made is None:
        return None
    service, url = made
    service.start()
    stack.callback(service.stop)
    return url
