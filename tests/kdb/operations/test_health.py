import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils.timezone import now

from kdb.jobs.processes import WEB
from kdb.models import Job, WorkerHeartbeat
from kdb.operations.status import Probe, broker_health, in_background, worker_seen_at
from kdb.operations.status import health as health_of
from tests.kdb.jobs.test_serve import HANG_SECONDS, free_port, wait_until

IN_BACKGROUND = in_background  # which most tests do without
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def silent_port():
    """Give a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def without_redis(settings) -> None:
    settings.REDIS_URL = ""


def look() -> dict:
    return {"worker_seen_at": worker_seen_at()}


def health() -> dict:
    return health_of(Probe(look))[1]


def test_everything_is_well_when_a_worker_was_seen_lately(db, without_redis):
    WorkerHeartbeat.objects.create(name="kdb@here", seen_at=now())

    checks = health()

    assert {name: check["status"] for name, check in checks.items()} == dict.fromkeys(
        ("database", "broker", "workers", "storage"), "ok"
    )
    assert all(check["detail"].endswith(".") for check in checks.values())


def test_no_worker_was_ever_seen(db, without_redis):
    assert health()["workers"] == {"status": "unknown", "detail": "No worker has been seen yet."}


def test_a_worker_that_was_not_seen_for_long_is_stale(db, without_redis):
    WorkerHeartbeat.objects.create(name="kdb@here", seen_at=now() - timedelta(seconds=300))

    assert health()["workers"] == {"status": "stale", "detail": "A worker was last seen 300 seconds ago."}


def test_a_worker_busy_with_a_long_job_is_not_stale(db, without_redis):
    WorkerHeartbeat.objects.create(name="kdb@here", seen_at=now() - timedelta(seconds=300))
    Job.objects.create(kind="long", state=Job.State.RUNNING, owner="here:1", heartbeat_at=now())

    assert health()["workers"]["status"] == "ok"


@pytest.mark.parametrize(("port", "error"), [("refusing", "ConnectionError"), ("silent", "TimeoutError")])
def test_a_redis_that_does_not_answer_is_down_and_not_waited_for(settings, silent_port, port, error):
    settings.REDIS_URL = f"redis://:hidden@127.0.0.1:{silent_port if port == 'silent' else 1}/0"

    assert broker_health() == {"status": "down", "detail": f"Redis does not answer ({error})."}


# Looks that hang


class Gate:
    """A look that hangs until it is let go."""

    def __init__(self) -> None:
        self.looks, self.go = 0, threading.Event()

    def look(self) -> int:
        self.looks += 1
        assert self.go.wait(HANG_SECONDS)
        return self.looks


@pytest.fixture
def gate(monkeypatch) -> Iterator[Gate]:
    monkeypatch.setattr("kdb.operations.status.in_background", IN_BACKGROUND)
    gate = Gate()
    yield gate
    gate.go.set()


def test_whoever_asks_gets_what_was_seen_last_and_one_thread_looks(gate):
    probe = Probe(gate.look)
    gate.go.set()
    first = probe.sight(probe.begin(), until=time.monotonic() + HANG_SECONDS)
    gate.go.clear()
    asked = [probe.begin() for _ in range(20)]
    seen = [probe.sight(ended, until=time.monotonic()) for ended in asked]
    assert (first.value, first.silent_seconds, gate.looks) == (1, None, 2)
    assert {sight.value for sight in seen} == {1}
    assert all(sight.silent_seconds is not None and sight.age_seconds >= sight.silent_seconds for sight in seen)
    gate.go.set()
    assert probe.sight(asked[0], until=time.monotonic() + HANG_SECONDS).value == 2


def test_a_look_that_never_ends_is_given_up_and_tells_nothing_later(gate, monkeypatch):
    probe = Probe(gate.look)
    lost = probe.begin()
    monkeypatch.setattr("kdb.operations.status.ABANDONED_SECONDS", -1)
    again = probe.begin()
    assert (gate.looks, again is lost) == (2, False)
    gate.go.set()
    assert lost.wait(HANG_SECONDS)
    assert probe.sight(again, until=time.monotonic() + HANG_SECONDS).value == 2


def test_a_mistake_of_ours_is_no_silence_of_the_database(gate):
    probe = Probe(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        probe.sight(probe.begin(), until=time.monotonic() + HANG_SECONDS)


# The whole answer, of a server in a process of its own


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[..., str]]:
    """The web server of these settings, by its address."""
    processes = []

    def serve(**environment: str) -> str:
        port = free_port()
        base = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "kdb.settings.local"}
        alone = ("--workers", "1")  # what one process saw last the other does not know
        command = [sys.executable, "-m", *WEB, *alone, "--bind", f"127.0.0.1:{port}"]
        process = subprocess.Popen(command, cwd=ROOT, env=base | {"DATABASE_URL": "", "REDIS_URL": ""} | environment)
        processes.append(process)
        wait_until(lambda: is_alive(port))
        return f"http://127.0.0.1:{port}"

    yield serve
    for process in processes:
        process.terminate()
        process.wait(HANG_SECONDS)


def is_alive(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=HANG_SECONDS) as response:
            return response.status == 200
    except OSError:
        return False


def ask_status(address: str) -> tuple[int, dict]:
    """Code and body; prints what it took."""
    began = time.monotonic()
    try:
        with urllib.request.urlopen(f"{address}/api/v1/status/", timeout=HANG_SECONDS) as response:
            code, body = response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            code, body = error.code, error.read()
    print(f"status code={code} milliseconds={(time.monotonic() - began) * 1000:.1f}")
    return code, json.loads(body)


@pytest.mark.server
def test_a_database_that_refuses_is_down_and_its_password_untold(serve):
    address = serve(DATABASE_URL="postgres://me:hidden@127.0.0.1:1/kdb")
    wait_until(lambda: ask_status(address)[1]["health"]["database"]["status"] == "down")
    code, body = ask_status(address)
    assert (code, body["status"], body["age_seconds"]) == (503, 503, None)
    assert body["health"]["workers"] == {"status": "unknown", "detail": "Not to be known without the database."}
    assert body["health"]["broker"]["status"] == "ok"
    assert "hidden" not in json.dumps(body)


@pytest.mark.server
def test_what_takes_connections_and_says_nothing_is_not_waited_for(serve, silent_port):
    """As a stopped PostgreSQL and a stopped Redis do; the throttle would ask Redis too."""
    address = serve(
        DATABASE_URL=f"postgres://me:hidden@127.0.0.1:{silent_port}/kdb",
        REDIS_URL=f"redis://:hidden@127.0.0.1:{silent_port}/0",
    )
    code, body = ask_status(address)
    assert (code, body["health"]["database"]["status"]) == (503, "slow")  # told before the attempt gave up
    assert body["health"]["broker"]["status"] in ("slow", "down")
    wait_until(lambda: ask_status(address)[1]["health"]["database"]["status"] == "down")


# The containers' checks


def test_the_web_server_says_that_it_lives_without_asking_the_database(client):
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, b"ok\n")
    assert response["Cache-Control"] == "no-store"


def check(name: str, **environment: str) -> subprocess.CompletedProcess:
    """Run a container's check as docker-compose.yml starts it."""
    command = [sys.executable, "-I", "-S", str(ROOT / "kdb/jobs/health_check.py"), name]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)


def test_the_web_check_asks_the_port(live_server):
    port = live_server.url.rpartition(":")[2]
    assert check("web", PORT=port, ALLOWED_HOSTS=".example.org, localhost").returncode == 0
    refused = check("web", PORT="1")
    assert (refused.returncode, refused.stderr) == (1, "no sign of life of the web\n")


def test_the_web_check_does_not_take_another_server_for_ours(live_server):
    port = live_server.url.rpartition(":")[2]
    assert check("web", PORT=port, ALLOWED_HOSTS="stranger.example.org").returncode == 1  # answered with 400


def test_the_checks_of_a_worker_and_of_beat_want_a_fresh_file(tmp_path):
    for name, path in (("worker", tmp_path / "alive"), ("beat", tmp_path / "beat-schedule.db")):
        places = {"ALIVE_FILE": str(tmp_path / "alive"), "DATA_DIR": str(tmp_path)}
        assert check(name, **places).returncode == 1
        path.touch()
        assert check(name, **places).returncode == 0
        os.utime(path, (0, 0))
        assert check(name, **places).returncode == 1


def test_a_check_starts_neither_django_nor_kdb():
    code = (
        "import runpy, sys; sys.argv = ['alive.py', 'beat']\n"
        "try: runpy.run_path(sys.argv.pop(), run_name='checked')\n"
        "finally: print(sorted(name for name in sys.modules if name.split('.')[0] in ('django', 'kdb', 'celery')))"
    )
    code = code.replace("sys.argv.pop()", repr(str(ROOT / "kdb/jobs/health_check.py")))
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
