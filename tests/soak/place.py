"""Where a soak runs: folders, services, a laboratory host, and KDB's own processes."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from script import _services
from tests import made_once
from tests.experiments.laboratory import lab

ROOT = Path(__file__).resolve().parents[2]
HANG_SECONDS = 600  # for what is right, on a machine that has much else to do
LEASE_SECONDS = 5
_ENDS_WITHIN_SECONDS = 60  # of processes whose parent has ended


@dataclass
class Place:
    """`folder` has everything that the soak writes; it is evidence where something does not hold."""

    folder: Path
    environment: dict[str, str]
    lab: lab.Lab
    postgresql: _services.Service | None = None
    redis: _services.Service | None = None
    serve: subprocess.Popen | None = None
    starts: int = field(default=0)

    @property
    def port(self) -> int:
        return int(self.environment["PORT"])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def data_dir(self) -> Path:
        return Path(self.environment["DATA_DIR"])

    @property
    def temporary(self) -> Path:
        return Path(self.environment["TMPDIR"])

    @property
    def log(self) -> Path:
        return self.folder / "kdb.log"

    def manage(self, *arguments: str, **environment: str) -> subprocess.Popen:
        """Start a command of KDB's."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "manage.py", *arguments],
                cwd=ROOT,
                env=self.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def keep_serving(self) -> None:
        """Start KDB where it does not run, as a service manager would."""
        if self.serve is None or self.serve.poll() is not None:
            self.serve = self.manage("serve")
            self.starts += 1

    def family(self) -> list[psutil.Process]:
        """Return every process of KDB's, whatever its parent is by now: it has KDB's DATA_DIR in its environment."""
        processes = []
        for process in psutil.process_iter():
            try:
                is_ours = process.environ().get("DATA_DIR") == str(self.data_dir)
                if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                    processes.append(process)
            except psutil.Error:
                continue
        return processes

    def stop_serving(self) -> list[str]:
        """Stop KDB as a person does; what stays behind, in words."""
        assert self.serve is not None
        self.serve.send_signal(signal.SIGTERM)
        self.serve.wait(HANG_SECONDS)
        deadline = time.monotonic() + _ENDS_WITHIN_SECONDS
        while (family := self.family()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return [f"{process.pid}: {' '.join(process.cmdline())}" for process in family]

    def kill_all(self) -> None:
        if self.serve is not None and self.serve.poll() is None:
            self.serve.kill()
            self.serve.wait()
        for process in self.family():
            process.kill()


def copy_empty_database(folder: Path) -> None:
    """Copy an SQLite database with all migrations, which take long on a busy machine."""
    cache = ROOT / ".pytest_cache/d/kdb"
    cache.mkdir(parents=True, exist_ok=True)
    shutil.copy(made_once.migrated_sqlite(cache), folder / "kdb.sqlite3")


def reaches(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def place(folder: Path, database: str) -> Iterator[Place]:
    """Give a place that is ready, with nothing of KDB running yet. Raises CannotStartError if something is missing."""
    with ExitStack() as stack:
        if why := lab.missing():
            raise _services.CannotStartError(f"no laboratory: {why}")
        folder.chmod(0o711)  # PostgreSQL's user passes through
        for name in ("data", "tmp", "backups"):
            (folder / name).mkdir(mode=0o700)
        host = stack.enter_context(lab.laboratory())
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            # script/server's settings, but for a clock that keeps nobody waiting.
            "DJANGO_SETTINGS_MODULE": "tests.background.settings",
            "DATA_DIR": str(folder / "data"),
            "TMPDIR": str(folder / "tmp"),
            "KEYS_DIR": str(host.folder / "keys"),
            "PORT": str(_services.free_port()),
            "JOB_LEASE_SECONDS": str(LEASE_SECONDS),
            "API_REQUESTS_A_MINUTE": "0",
        }
        new_place = Place(folder, environment, host)
        if database == "sqlite":
            copy_empty_database(folder / "data")
        if database == "postgresql":
            services = (_services.new_postgresql(folder), _services.new_redis(folder))
            for name, variable, made in zip(
                ("postgresql", "redis"), ("DATABASE_URL", "REDIS_URL"), services, strict=True
            ):
                if made is None:
                    raise _services.CannotStartError(f"{name} is not installed")
                service, environment[variable] = made
                service.start()
                stack.callback(service.stop)
                setattr(new_place, name, service)
        stack.callback(new_place.kill_all)
        yield new_place


def complaints_in(log: str) -> list[str]:
    """Lines of a log by which a program says that it made a mistake."""
    return re.findall(r".*(?:Internal Server Error|KDB made a mistake|UnraisableHook|Fatal Python).*", log)
