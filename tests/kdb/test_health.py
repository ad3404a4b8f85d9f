import json
import os
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils.timezone import now

from kdb.models import Job, WorkerHeartbeat
from kdb.status import broker_health, health

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def silent_port():
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def folder(settings, tmp_path) -> Path:
    settings.REDIS_URL = ""
    settings.KDB_BROKER_DIR = tmp_path / "broker"
    return settings.KDB_BROKER_DIR


def health_elsewhere(tmp_path: Path, **environment: str) -> dict:
    """health() in a process of its own, which ends: what does not answer is not waited for."""
    code = (
        "import django, json; django.setup(); from kdb.status import health; print(json.dumps(health()))\n"
        "import os, sys; sys.stdout.flush(); os._exit(0)"
    )
    base = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "kdb.settings.local"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=base | environment,
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return json.loads(run.stdout)


def test_everything_is_well_when_a_worker_was_seen_lately(db, folder):
    WorkerHeartbeat.objects.create(name="kdb@here", seen_at=now())

    found = health()

    assert {name: check["status"] for name, check in found.items()} == dict.fromkeys(
        ("database", "broker", "workers"), "ok"
    )
    assert all(check["detail"].endswith(".") for check in found.values())


def test_no_worker_was_ever_seen(db, folder):
    assert health()["workers"] == {"status": "unknown", "detail": "No worker has been seen yet."}


def test_a_worker_that_was_not_seen_for_long_is_stale(db, folder):
    WorkerHeartbeat.objects.create(name="kdb@here", seen_at=now() - timedelta(seconds=300))

    assert health()["workers"] == {"status": "stale", "detail": "A worker was last seen 300 seconds ago."}


def test_a_worker_busy_with_a_long_job_is_not_stale(db, folder):
    WorkerHeartbeat.objects.create(name="kdb@here", seen_at=now() - timedelta(seconds=300))
    Job.objects.create(kind="long", state=Job.State.RUNNING, owner="here:1", heartbeat_at=now())

    assert health()["workers"]["status"] == "ok"


def test_a_folder_that_cannot_be_written_is_down(folder):
    folder.parent.joinpath("broker").write_text("a file where the folder should be")

    assert broker_health()["status"] == "down"


@pytest.mark.slow
def test_a_database_that_refuses_is_down_and_workers_are_unknown(tmp_path):
    found = health_elsewhere(tmp_path, DATABASE_URL="postgres://me:hidden@127.0.0.1:1/kdb")

    assert (found["database"]["status"], found["workers"]["status"]) == ("down", "unknown")
    assert "hidden" not in json.dumps(found)


@pytest.mark.slow
def test_a_silent_database_is_down_and_not_waited_for(tmp_path, silent_port):
    url = f"postgres://me:hidden@127.0.0.1:{silent_port}/kdb"

    found = health_elsewhere(tmp_path, DATABASE_URL=url)

    assert found["database"] == {"status": "down", "detail": "PostgreSQL is silent."}


@pytest.mark.parametrize(("port", "error"), [("refusing", "ConnectionError"), ("silent", "TimeoutError")])
def test_a_redis_that_does_not_answer_is_down_and_not_waited_for(settings, silent_port, port, error):
    settings.REDIS_URL = f"redis://:hidden@127.0.0.1:{silent_port if port == 'silent' else 1}/0"

    assert broker_health() == {"status": "down", "detail": f"Redis does not answer ({error})."}


@pytest.mark.redis
def test_a_redis_that_answers_is_ok(settings):
    assert broker_health() == {"status": "ok", "detail": "Redis answers."}


@pytest.mark.postgresql
def test_a_postgresql_that_answers_is_ok(db):
    assert health()["database"] == {"status": "ok", "detail": "PostgreSQL answers."}


# The containers' checks


def test_the_web_server_says_that_it_lives_without_asking_the_database(client):
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, b"ok\n")
    assert response["Cache-Control"] == "no-store"


def test_the_web_check_asks_the_port(live_server, monkeypatch):
    monkeypatch.setenv("PORT", live_server.url.rpartition(":")[2])
    call_command("health", "web")

    monkeypatch.setenv("PORT", "1")
    with pytest.raises(CommandError, match="no sign of life of the web"):
        call_command("health", "web")


def test_the_worker_check_wants_a_tick_of_this_machines_worker(db, folder):
    WorkerHeartbeat.objects.create(name="kdb@elsewhere", seen_at=now())
    with pytest.raises(CommandError, match="no sign of life of the worker"):
        call_command("health", "worker")

    WorkerHeartbeat.objects.create(name=f"kdb@{socket.gethostname()}", seen_at=now())
    call_command("health", "worker")


def test_the_beat_check_wants_a_fresh_schedule_file(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    with pytest.raises(CommandError, match="no sign of life of the beat"):
        call_command("health", "beat")

    schedule = tmp_path / "beat-schedule.db"
    schedule.touch()
    call_command("health", "beat")

    os.utime(schedule, (0, 0))
    with pytest.raises(CommandError):
        call_command("health", "beat")
