"""script/server and `manage.py serve`, started as a person starts them."""

import fcntl
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.server]

ROOT = Path(__file__).resolve().parents[3]
HANG_SECONDS = 300  # what is right takes a few, also on a machine that has much else to do


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


class Server:
    """`manage.py serve` in a process group of its own, and what it says."""

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.data_dir = data_dir
        self.port = free_port()
        places = {"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir), "PORT": str(self.port)}
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "serve"],
            cwd=ROOT,
            env=places | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stdout))
        self.reader.start()

    def wait_until_ready(self) -> None:
        wait_until(lambda: any("KDB answers at" in line for line in list(self.said)) or self.has_ended())
        assert not self.has_ended(), self.said

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def answers(self) -> bool:
        return self.status() == 200

    def status(self) -> int:
        """Return the status of its answer to the check of health; 0 where it gives none."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=2) as response:
                return response.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except OSError:
            return 0

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, word: str) -> psutil.Process:
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):  # a zombie, too
                if word in child.cmdline():
                    return child
        raise LookupError(word)

    def ask(self, query: str) -> list:
        with closing(sqlite3.connect(self.data_dir / "kdb.sqlite3")) as database:
            return database.execute(query).fetchall()

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(HANG_SECONDS)


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(**environment: str) -> Server:
        servers.append(Server(tmp_path / "data", **environment))
        return servers[-1]

    yield start
    for server in servers:
        family = [] if server.has_ended() else server.family()
        server.process.kill()
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        server.process.wait()
        server.reader.join()
        server.process.stdout.close()


@pytest.fixture
def migrated_place(tmp_path, migrated_sqlite) -> None:
    """Put a database where `start` finds it, so that the server need not make one."""
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(migrated_sqlite, tmp_path / "data/kdb.sqlite3")


def wait_until(condition: Callable[[], bool], seconds: float = HANG_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "took too long"
        time.sleep(0.05)


def wait_until_gone(family: list[psutil.Process]) -> None:
    wait_until(lambda: not any(process.is_running() for process in family))


def proportional_mib(server: Server) -> float:
    """Return what all processes hold of the memory, each page that several share counted once."""
    total = 0
    for process in (psutil.Process(server.process.pid), *server.family()):
        with suppress(psutil.NoSuchProcess):
            total += process.memory_full_info().pss
    return total / 2**20


FIRST_WORDS = (
    "Making the database.\n",
    "Loaded the published evidence: 69 case studies, 1320 measurements, 36 ordinal findings, 282 claims.\n",
    "Starting the web server and the workers.\n",
)


@pytest.mark.slow
def test_an_empty_place_becomes_a_running_server_that_stops_without_a_trace(start):
    server = start()
    wait_until(lambda: server.status() == 503)  # while the database is made
    server.wait_until_ready()
    assert server.answers()
    assert server.ask("SELECT count(*) FROM experiments_casestudy") == [(69,)]
    family = server.family()

    assert server.stop(signal.SIGINT) == 0

    wait_until_gone(family)
    server.reader.join()
    assert server.said[:4] == [
        *FIRST_WORDS,
        f"KDB answers at http://127.0.0.1:{server.port}/ (data in {server.data_dir}; Ctrl-C stops).\n",
    ]
    assert server.said[-1] == "KDB has stopped.\n"


@pytest.mark.nightly
@pytest.mark.slow
def test_a_first_start_ends_its_jobs_quietly_keeps_its_files_to_itself_and_gives_memory_back(start):
    server = start()
    server.wait_until_ready()
    wait_until(lambda: server.ask("SELECT count(*) FROM kdb_workerheartbeat") == [(1,)])
    wait_until(lambda: len(server.family()) == 7)  # web with two workers; a worker with two, and one that ticks
    with closing(sqlite3.connect(server.data_dir / "kdb.sqlite3")) as database:
        database.execute("SELECT count(*) FROM experiments_casestudy")  # the last to close takes the WAL away
        readable = [path for path in (server.data_dir, *server.data_dir.rglob("*")) if path.stat().st_mode & 0o077]
        assert (server.data_dir / "kdb.sqlite3-wal").exists()
    assert readable == []
    server.data_dir.chmod(0o755)
    # A job that is interrupted says so, and the first start leaves the report on quality to one.
    wait_until(
        lambda: server.ask("SELECT count(*) FROM kdb_job WHERE state IN ('queued', 'running')") == [(0,)],
        3 * HANG_SECONDS,  # half a minute of the processor, of which a busy machine may give it a tenth
    )
    wait_until(lambda: proportional_mib(server) < 500)  # what the report took is given back
    assert server.stop(signal.SIGINT) == 0
    server.reader.join()
    assert [*server.said[:3], *server.said[4:]] == [*FIRST_WORDS, "KDB has stopped.\n"]

    again = start()
    again.wait_until_ready()
    assert again.ask("SELECT count(*) FROM experiments_casestudy") == [(69,)]
    assert again.said[:2] == [
        f"{server.data_dir} could be read by others; now only by you.\n",
        "Starting the web server and the workers.\n",
    ]
    assert len(again.said) == 3
    assert server.data_dir.stat().st_mode & 0o777 == 0o700
    assert again.stop(signal.SIGTERM) == 0


@pytest.mark.slow
def test_killed_children_come_back_and_a_killed_server_takes_them_along(migrated_place, start):
    server = start()
    server.wait_until_ready()
    wait_until(lambda: server.ask("SELECT count(*) FROM kdb_workerheartbeat") == [(1,)])
    seen = server.ask("SELECT max(seen_at) FROM kdb_workerheartbeat")

    for word in ("gunicorn", "work"):
        killed = server.child(word)
        orphans = killed.children(recursive=True)
        killed.kill()
        wait_until_gone(orphans)
        if word == "gunicorn":
            wait_until(lambda: server.status() == 503)  # told so until it is back
    wait_until(lambda: len(server.family()) == 7)
    wait_until(server.answers)
    wait_until(lambda: server.ask("SELECT max(seen_at) FROM kdb_workerheartbeat") > seen)

    family = server.family()
    server.process.kill()
    wait_until_gone(family)


def run_serve(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess:
    places = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path / "data"), "PORT": str(free_port())}
    return subprocess.run(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env=places | environment,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )


def assert_one_sentence(run: subprocess.CompletedProcess, *words: str) -> None:
    assert run.returncode not in (0, None)
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1, run.stderr
    assert "hidden" not in run.stderr
    for word in words:
        assert word in run.stderr


def at_night(environment: dict[str, str], words: list[str]):
    """Each starts a process: by default one of each kind."""
    return pytest.param(environment, words, marks=pytest.mark.nightly)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"PORT": "http"}, ["PORT", "'http'"]),
        at_night({"PORT": "70000"}, ["PORT", "65535"]),
        at_night({"DATABASE_URL": "me:hidden@127.0.0.1/kdb"}, ["DATABASE_URL", "postgres://"]),
        at_night({"DATABASE_URL": "mysql://me:hidden@127.0.0.1/kdb"}, ["DATABASE_URL", "postgres://"]),
        at_night({"DATABASE_URL": "postgres://me:hidden@127.0.0.1:port/kdb"}, ["DATABASE_URL", "port"]),
        at_night({"DATABASE_URL": "postgres://me:hidden@127.0.0.1:1/"}, ["DATABASE_URL", "names no database"]),
        ({"DATABASE_URL": "postgres://me:hidden@127.0.0.1:1/kdb"}, ["database cannot be reached", "port 1"]),
        at_night({"REDIS_URL": "http://:hidden@127.0.0.1"}, ["REDIS_URL", "redis://"]),
        ({"REDIS_URL": "redis://:hidden@127.0.0.1:1/0"}, ["broker cannot be reached", "Redis"]),
        ({"DATA_DIR": "/dev/null/data"}, ["DATA_DIR", "/dev/null"]),
        at_night({"JOB_LEASE_SECONDS": "soon"}, ["JOB_LEASE_SECONDS", "'soon'"]),
    ],
)
def test_what_cannot_work_ends_in_one_sentence(tmp_path, environment, words):
    assert_one_sentence(run_serve(tmp_path, **environment), *words)


def test_an_occupied_port_ends_in_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = occupied.getsockname()[1]
        assert_one_sentence(run_serve(tmp_path, PORT=str(port)), f"port {port}", "in use")


def test_a_second_server_on_the_same_data_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    with (tmp_path / "data" / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert_one_sentence(run_serve(tmp_path), "another server", str(tmp_path / "data"))


@pytest.mark.slow
def test_a_child_that_cannot_start_ends_everything_with_one_sentence(tmp_path):
    code = (
        "import sys; from kdb.jobs.supervisor import *\n"
        "good = Child('good', [sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "bad = Child('bad', [sys.executable, '-c', 'raise SystemExit(3)'])\n"
        "try: Supervisor([good, bad]).run(each_turn=lambda: None)\n"
        "except CannotStartError as error: print(error, good.is_running())"
    )

    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS)

    assert run.stdout == "the bad does not stay up (exit status 3); its words are above. False\n"


# script/server, before there is a .venv


@pytest.fixture
def checkout(tmp_path) -> Path:
    """Make a clone with what script/server needs to get as far as making .venv."""
    shutil.copytree(ROOT / "script", tmp_path / "clone" / "script")
    for name in ("requirements.txt", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / "clone")
    return tmp_path / "clone"


def run_script(checkout: Path, fake_python: str) -> subprocess.CompletedProcess:
    """script/server from another directory, with a python3 that is a shell script."""
    folder = checkout.parent / "bin"
    folder.mkdir()
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        (folder / name).write_text(f"#!/bin/sh\nREAL={sys.executable}\n{fake_python}\n")
        (folder / name).chmod(0o755)
    return subprocess.run(
        ["sh", "../clone/script/server"],
        cwd=folder,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )


def test_a_python_that_is_too_old_ends_in_one_sentence(checkout):
    run = run_script(checkout, 'case "$*" in *version_info*) exit 1 ;; esac; exec $REAL "$@"')

    assert_one_sentence(run, "Python 3.11 or newer")


def test_a_venv_that_fails_ends_in_one_sentence_and_leaves_nothing_behind(checkout):
    run = run_script(checkout, 'case "$*" in "-m venv"*) echo no room >&2; exit 1 ;; esac; exec $REAL "$@"')

    run.stdout = ""  # it said which Python it takes
    assert_one_sentence(run, "venv .venv failed (no room)", "apt-get install python3-venv")
    assert not (checkout / ".venv").exists()


def test_a_first_start_says_what_it_makes_and_leaves_compiling_to_the_first_import(checkout):
    fake = (
        'case "$*" in "-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python; exit ;; '
        '*"pip install"*) echo "$*" >asked; exit ;; *manage.py*) exit ;; esac; exec $REAL "$@"'
    )

    run = run_script(checkout, fake)

    packages = (checkout / "requirements.lock").read_text().count("==")
    python = f"Python {'.'.join(map(str, sys.version_info[:3]))}"
    assert run.stdout == f"Making .venv with {python}.\nInstalling {packages} packages.\n", run.stderr
    assert "-r requirements.lock --require-hashes --no-compile" in (checkout / "asked").read_text()
