"""Several machines on this one: PostgreSQL, Redis, web servers, workers, beats. They share no folder."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg

from kdb.jobs import processes
from tests import made_once

ROOT = Path(__file__).resolve().parents[3]
HANG_SECONDS = 300  # what is right takes a few
POSTGRESQL = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), Path("/nowhere"))


def missing() -> str:
    """Return the programs that are missing to try them here; empty where none is."""
    programs = [POSTGRESQL / name for name in ("initdb", "postgres")]
    return ", ".join(
        [p.name for p in programs if not p.exists()] + ["redis-server"] * (not shutil.which("redis-server"))
    )


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"it never came to this: {what}"
        time.sleep(0.1)


class Machine:
    """One process, as what it is started again after it was killed."""

    def __init__(self, name: str, command: list[str], log: Path, user: str | None = None, **environment: str) -> None:
        self.name, self.command, self.log, self.environment = name, command, log, environment
        self.user = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT if not self.user else self.log.parent,
                env={"PATH": os.environ["PATH"]} | self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **self.user,
            )

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Kill it and all it started."""
        os.killpg(self.process.pid, number)
        self.process.wait(HANG_SECONDS)


class Machines:
    def __init__(self, folder: Path) -> None:
        self.folder, self.all = folder, list[Machine]()

    def start(self, of_each: int) -> None:
        folder = self.folder
        folder.chmod(0o711)  # PostgreSQL's user passes through
        self.user = "postgres" if os.getuid() == 0 else None
        self.primary_port, self.redis_port = free_port(), free_port()
        self.primary = self._postgresql("primary", self.primary_port)
        made_once.migrate(DATABASE_URL=self.url(self.primary_port), DATA_DIR=str(folder))
        self.redis = self._add(
            "redis", ["redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", ""]
        )
        self.environment = {
            "DJANGO_SETTINGS_MODULE": "kdb.settings.production",
            "SECRET_KEY": "of machines that are tried and thrown away, for all of them the same",
            "ALLOWED_HOSTS": "127.0.0.1",
            "DATABASE_URL": self.url(self.primary_port),
            "REDIS_URL": f"redis://127.0.0.1:{self.redis_port}/0",
            "JOB_LEASE_SECONDS": "3",
            "API_REQUESTS_A_MINUTE": "0",
        }
        self.web_ports = [free_port() for _ in range(of_each)]
        self.webs = [self._kdb(f"web-{n}", self._web(port)) for n, port in enumerate(self.web_ports)]
        self.workers = [self._kdb(f"worker-{n}", self._worker(n)) for n in range(of_each)]
        self.beats = [self._kdb(f"beat-{n}", processes.BEAT) for n in range(2)]

    def url(self, port: int) -> str:
        return f"postgres://kdb@127.0.0.1:{port}/postgres"

    def ask(self, port: int, query: str) -> list[tuple]:
        with psycopg.connect(self.url(port), connect_timeout=5) as database:
            return database.execute(query).fetchall()

    def python(self, text: str) -> str:
        """Return what a program on a machine of its own prints."""
        program = f"import django; django.setup()\n{text}"
        environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(self.folder)} | self.environment
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def stop(self) -> None:
        for machine in reversed(self.all):
            if machine.process.poll() is None:
                machine.kill()

    def _add(self, name: str, command: list[str], user: str | None = None, **environment: str) -> Machine:
        self.all.append(Machine(name, command, self.folder / f"{name}.log", user, **environment))
        return self.all[-1]

    def _kdb(self, name: str, command: list[str]) -> Machine:
        home = self.folder / name
        home.mkdir()
        return self._add(name, [sys.executable, "-m", *command], DATA_DIR=str(home), **self.environment)

    def _web(self, port: int) -> list[str]:
        return [*processes.WEB, "--workers", "1", "--threads", "4", "--bind", f"127.0.0.1:{port}"]

    def _worker(self, number: int) -> list[str]:
        return [word.replace("%h", f"machine-{number}") for word in processes.WORKER]

    def _postgresql(self, name: str, port: int) -> Machine:
        home = self.folder / name
        home.mkdir()
        (self.folder / f"{name}.log").touch()
        if self.user:
            shutil.chown(home, self.user)
        made = ["initdb", "-U", "kdb", "-A", "trust", "--no-sync", "--locale=C", "--encoding=UTF8"]
        as_user = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []} if self.user else {}
        subprocess.run(
            [POSTGRESQL / made[0], *made[1:], "-D", home / "data"], cwd=home, check=True, capture_output=True, **as_user
        )
        options = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": home, "fsync": "off"}
        command = [str(POSTGRESQL / "postgres"), "-D", str(home / "data"), *(f"--{k}={v}" for k, v in options.items())]
        server = self._add(name, command, self.user)
        wait_until(lambda: self.answers(port), f"{name} answers")
        return server

    def answers(self, port: int) -> bool:
        try:
            return bool(self.ask(port, "SELECT 1"))
        except psycopg.OperationalError:
            return False
