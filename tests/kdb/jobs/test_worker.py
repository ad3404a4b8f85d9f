"""Real workers in processes of their own, killed in the middle of their work."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import psutil
import pytest
from django.utils.timezone import now

from kdb.jobs import processes, supervisor

pytestmark = [pytest.mark.server, pytest.mark.slow]

LEASE_SECONDS = 2
HANG_SECONDS = 300  # what is right takes a few, also on a machine that has much else to do
ROOT = Path(__file__).resolve().parents[3]


class Row(NamedTuple):
    """One row of Job."""

    state: str
    attempt: int
    progress: int
    owner: str
    error: str


class Place:
    """A data directory with a copy of an empty database, and the workers on it."""

    def __init__(self, data_dir: Path, migrated_sqlite: Path, redis_url: str = "") -> None:
        shutil.copy(migrated_sqlite, data_dir / "kdb.sqlite3")
        self.data_dir = data_dir
        self.notes = data_dir / "notes"
        self.workers: list[subprocess.Popen] = []
        self.environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
            "DJANGO_SETTINGS_MODULE": "tests.background.settings",
            "DATA_DIR": str(data_dir),
            "REDIS_URL": redis_url,
            "JOB_LEASE_SECONDS": str(LEASE_SECONDS),
            "TEST_QUEUE": f"test-{uuid4().hex}",
        }

    def run_python(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        run = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment | environment,
            timeout=HANG_SECONDS,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        return run

    def start_worker(self, *module: str) -> subprocess.Popen:
        """Return a worker as it is run, or another program that does jobs."""
        usual = (*processes.WORKER, "--beat") if self.environment["REDIS_URL"] else processes.POLLING_WORKER
        command = [sys.executable, "-m", *(module or usual)]
        with (self.data_dir / "worker.log").open("a") as log:
            worker = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, start_new_session=True, stdout=log, stderr=log
            )
        self.workers.append(worker)
        return worker

    def stop_between_writes(self, worker: subprocess.Popen) -> None:
        """Stop all of a worker where it does not hold SQLite's one lock of writers, which nobody could take from it."""
        family = [psutil.Process(worker.pid), *psutil.Process(worker.pid).children()]
        while True:
            os.killpg(worker.pid, signal.SIGSTOP)
            wait_until(lambda: all(process.status() == psutil.STATUS_STOPPED for process in family))
            try:
                with closing(sqlite3.connect(self.data_dir / "kdb.sqlite3", timeout=0)) as database:
                    database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                os.killpg(worker.pid, signal.SIGCONT)
                time.sleep(0.01)
            else:
                return

    def enqueue(self, count: int, steps: int = 6, **environment: str) -> None:
        self.enqueue_jobs("count_slowly", count, {"steps": steps, "seconds": 0.25}, **environment)

    def enqueue_jobs(
        self, kind: str, count: int, arguments: dict[str, Any], queue: str = "", **environment: str
    ) -> None:
        text = json.dumps({**arguments, "file": str(self.notes)})
        if not (self.environment | environment)["REDIS_URL"]:  # then a row is all that is asked
            row = {"kind": kind, "arguments": text, "state": "queued", "attempt": 1, "created_at": f"{now():%F %T}"}
            row |= {"queue": queue, "owner": "", "error": "", "progress": 0}
            statement = f"INSERT INTO kdb_job ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
            with closing(sqlite3.connect(self.data_dir / "kdb.sqlite3")) as database, database:
                database.executemany(statement, [[*row.values()]] * count)
            return
        code = (
            "import django; django.setup(); from kdb.jobs import jobs\n"
            f"for _ in range({count}): jobs.enqueue({kind!r}, **{text})"
        )
        self.run_python("-c", code, **environment)

    def jobs(self) -> list[Row]:
        with closing(sqlite3.connect(self.data_dir / "kdb.sqlite3")) as database:
            rows = database.execute(f"SELECT {', '.join(Row._fields)} FROM kdb_job ORDER BY id")
            return [Row(*row) for row in rows]

    def steps_done(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []


@pytest.fixture
def place(request, tmp_path, migrated_sqlite) -> Iterator[Place]:
    redis_url = os.environ["REDIS_URL"] if getattr(request, "param", "rows") == "redis" else ""
    place = Place(tmp_path, migrated_sqlite, redis_url)
    yield place
    for worker in place.workers:
        kill(worker)


def kill(worker: subprocess.Popen) -> None:
    """Kill all of a worker at once, as the kernel does when memory runs out, or a power cut."""
    if worker.poll() is None:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "took too long"
        time.sleep(0.05)


@pytest.mark.parametrize("place", ["rows", pytest.param("redis", marks=pytest.mark.redis)], indirect=True)
def test_a_worker_killed_in_the_middle_loses_nothing(place):
    place.enqueue(3)
    worker = place.start_worker()
    wait_until(lambda: len(place.steps_done()) >= 4)  # two jobs under way, one waiting

    kill(worker)
    assert sorted(job.state for job in place.jobs()) == ["queued", "running", "running"]
    place.start_worker()
    wait_until(lambda: {job.state for job in place.jobs()} == {"done"})

    assert sorted(job.attempt for job in place.jobs()) == [1, 2, 2]
    assert {job.progress for job in place.jobs()} == {6}
    # Each step of each job was done, and only the two under way at the kill may have been done twice.
    assert 18 <= len(place.steps_done()) <= 20


def test_processes_for_the_laboratory_are_forked_when_it_has_a_job(place):
    place.enqueue(1, steps=1)
    worker = place.start_worker()
    wait_until(lambda: place.jobs()[0].state == "done")
    assert len(psutil.Process(worker.pid).children()) == 3  # two that take jobs, and one that ticks

    place.enqueue_jobs("count_slowly", 2, {"steps": 6, "seconds": 0.25}, queue="lab-local")
    wait_until(lambda: {job.state for job in place.jobs()} == {"done"})

    assert len({job.owner for job in place.jobs()[1:]}) == 2  # at once
    assert len(psutil.Process(worker.pid).children()) == 5
    assert "WARNING" not in (place.data_dir / "worker.log").read_text()


def test_one_killed_pool_process_loses_nothing(place):
    place.enqueue(1)
    place.start_worker()
    wait_until(lambda: len(place.steps_done()) >= 2)

    os.kill(int(place.jobs()[0].owner.rpartition(":")[2]), signal.SIGKILL)
    wait_until(lambda: place.jobs()[0].state == "done")

    assert place.jobs()[0].attempt == 2
    assert len(place.steps_done()) in (6, 7)


def test_a_stopped_worker_is_fenced_off_when_it_wakes(place):
    place.enqueue(1)
    slow = place.start_worker()
    wait_until(lambda: len(place.steps_done()) >= 2)

    place.stop_between_writes(slow)
    place.start_worker()
    wait_until(lambda: place.jobs()[0].state == "done")
    os.killpg(slow.pid, signal.SIGCONT)
    wait_until(lambda: "lost the lease" in (place.data_dir / "worker.log").read_text())

    assert (place.jobs()[0].state, place.jobs()[0].attempt) == ("done", 2)


def test_a_worker_told_to_stop_ends_its_job_first(place):
    place.enqueue(3)
    worker = place.start_worker()
    wait_until(lambda: len(place.steps_done()) >= 2)

    worker.send_signal(signal.SIGTERM)

    assert worker.wait(HANG_SECONDS) == 0
    assert sorted(job.state for job in place.jobs()) == ["done", "done", "queued"]
    assert {job.attempt for job in place.jobs()} == {1}


@pytest.mark.nightly
@pytest.mark.parametrize("module", [(), ("tests.background.impatient",)])
def test_what_takes_longer_than_its_worker_may_goes_back(place, module):
    place.environment[supervisor.SUPERVISED_BY] = "0"  # who was killed, and interrupts nobody
    place.enqueue(1, steps=1000)
    worker = place.start_worker(*module)
    wait_until(lambda: len(place.steps_done()) >= 1)
    job = psutil.Process(int(place.jobs()[0].owner.rpartition(":")[2]))

    worker.send_signal(signal.SIGTERM if module else signal.SIGQUIT)

    assert worker.wait(HANG_SECONDS) == 0
    assert not job.is_running()
    assert [(row.state, row.attempt, row.owner) for row in place.jobs()] == [("queued", 1, "")]


@pytest.mark.nightly
def test_a_job_that_loses_its_interruption_is_killed_and_its_lease_runs_out(place):
    place.environment[supervisor.SUPERVISED_BY] = "0"  # who was killed, and kills nobody
    place.environment["LOST_AFTER_SECONDS"] = "1"
    place.enqueue_jobs("lose_interruptions", 1, {})
    worker = place.start_worker("tests.background.impatient")
    wait_until(lambda: place.steps_done() == ["begun"])

    worker.send_signal(signal.SIGTERM)

    assert worker.wait(HANG_SECONDS) == 0
    assert [(row.state, row.attempt) for row in place.jobs()] == [("running", 1)]


@pytest.mark.nightly
def test_processes_whose_worker_was_killed_end_after_their_jobs(place):
    place.enqueue(3)
    worker = place.start_worker()
    wait_until(lambda: len(place.steps_done()) >= 2)
    family = psutil.Process(worker.pid).children()

    worker.kill()

    psutil.wait_procs(family, HANG_SECONDS)
    assert sorted(job.state for job in place.jobs()) == ["done", "done", "queued"]


def test_a_redis_that_is_down_neither_breaks_the_request_nor_loses_the_job(place):
    place.enqueue(1, REDIS_URL="redis://127.0.0.1:1/0")  # would never come back if it waited for the broker

    assert place.jobs()[0].state == "queued"  # and the tick sends it again: see test_jobs


# Of the pool: the worker forks; what it forked waits until the worker has ended, or goes on under it.
_POOL = """
import os, sys, time
from kdb import celery

worker = os.getpid()
if os.fork():
    sys.exit() if sys.argv[1] == "killed" else os.wait()
else:
    while sys.argv[1] == "killed" and os.getppid() == worker:
        time.sleep(0.01)
    celery.end_with_the_worker()
    print("goes on", flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize(("worker", "said"), [("running", "goes on\n"), ("killed", "")])
def test_a_process_of_the_pool_ends_where_its_worker_has(worker, said):
    assert (
        subprocess.run([sys.executable, "-c", _POOL, worker], cwd=ROOT, capture_output=True, text=True).stdout == said
    )


# What hangs when it is told to stop, under a supervisor that is killed: it says so once it runs.
_HANGS = """
import os, signal, sys, time
from kdb.jobs import supervisor

supervisor.PATIENCE_SECONDS, supervisor.LAST_PATIENCE_SECONDS = 1, 0
if len(sys.argv) == 1:
    child = supervisor.Child("hangs", [sys.executable, "-c", os.environ["PROGRAM"], "child"])
    supervisor.Supervisor([child]).run(lambda: None)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
supervisor.end_with_supervisor()
print("runs", flush=True)
time.sleep(20)
print("is still there", flush=True)
"""


def test_a_worker_that_hangs_ends_though_its_supervisor_was_killed():
    environment = os.environ | {"PROGRAM": _HANGS}
    command = [sys.executable, "-c", _HANGS]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as supervised:
        assert supervised.stdout.readline() == b"runs\n"
        supervised.kill()
        assert supervised.stdout.read() == b""  # its end is that of the last process that has it


@pytest.mark.nightly
@pytest.mark.redis
@pytest.mark.parametrize("place", ["redis"], indirect=True)
def test_a_worker_watches_for_the_supervisor_that_started_it(place):
    place.environment[supervisor.SUPERVISED_BY] = "0"  # who was gone before it could look
    worker = place.start_worker(*processes.WORKER)  # as it is run there, without a clock of its own

    wait_until(lambda: worker.poll() is not None)
    assert "the supervisor is gone" in (place.data_dir / "worker.log").read_text()


@pytest.mark.nightly
@pytest.mark.redis
@pytest.mark.parametrize("place", ["redis"], indirect=True)
def test_a_worker_gives_signs_of_life_until_its_loop_stands_still(place):
    sign = place.data_dir / "alive"
    place.environment["ALIVE_FILE"] = str(sign)
    worker = place.start_worker("tests.background.quick_signs", *processes.WORKER[1:])
    wait_until(sign.exists)
    os.utime(sign, (0, 0))
    wait_until(lambda: sign.stat().st_mtime > 0)

    worker.send_signal(signal.SIGSTOP)
    os.utime(sign, (0, 0))
    time.sleep(3)  # several signs long

    assert sign.stat().st_mtime == 0
