"""A real failure is called by its name: to whoever asks, in jobs, and in the log."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
import redis
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction
from django.urls import reverse
from redis.backoff import NoBackoff
from redis.retry import Retry

from kdb.jobs import jobs
from kdb.models import Job
from kdb.operations.failures import Failure, failure_behind
from tests.factories import make_case_study, make_token, make_user
from tests.kdb.jobs.test_serve import ROOT
from tests.kdb.test_api_errors import problem_of


def caught(act) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is what is asked
        act()
    return raised.value


def write_to_a_full_device() -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        full.write(b"x")


@pytest.fixture
def full_sqlite(transactional_db) -> Iterator[None]:
    """Let the database grow by 100 kB only. SQLite then rolls back the whole transaction, a test's own included."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # pages that other tests left free would take it all
        pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages + 25}")
        yield
        cursor.execute("PRAGMA max_page_count = 1073741823")


# Which failure it is


def test_a_device_without_room_is_a_full_disk():
    assert failure_behind(caught(write_to_a_full_device)) is Failure.DISK_FULL


@pytest.mark.sqlite
def test_a_full_sqlite_is_a_full_disk(full_sqlite):
    def store() -> None:
        Job.objects.create(kind="test", arguments={"much": "x" * 1_000_000})

    assert failure_behind(caught(store)) is Failure.DISK_FULL


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("53100", Failure.DISK_FULL),
        ("55P03", Failure.DATABASE_BUSY),
        ("57014", Failure.STATEMENT_TOO_LONG),
        ("57P01", Failure.DATABASE_AWAY),
        ("42P01", None),
    ],
)
def test_postgresql_says_by_its_code_what_failed(db, code, expected):
    def fail() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION 'so it says' USING ERRCODE = '{code}'; END $$")

    assert failure_behind(caught(fail)) is expected


def test_a_server_that_is_not_there_is_away():
    assert failure_behind(caught(lambda: psycopg.connect("postgres://127.0.0.1:1/kdb"))) is Failure.DATABASE_AWAY
    assert failure_behind(caught(redis.Redis(port=1, retry=Retry(NoBackoff(), 0)).ping)) is Failure.BROKER_AWAY


def test_a_locked_sqlite_is_busy_and_a_missing_table_is_a_mistake(tmp_path):
    with (
        closing(sqlite3.connect(tmp_path / "one.sqlite3", isolation_level=None)) as first,
        closing(sqlite3.connect(tmp_path / "one.sqlite3", isolation_level=None, timeout=0)) as second,
    ):
        first.execute("BEGIN EXCLUSIVE")
        locked = caught(lambda: second.execute("BEGIN EXCLUSIVE"))
        first.execute("ROLLBACK")
        missing = caught(lambda: second.execute("SELECT * FROM nothing"))

    assert failure_behind(locked) is Failure.DATABASE_BUSY
    assert failure_behind(missing) is None


@pytest.mark.server
def test_a_command_elsewhere_than_the_server_says_so(tmp_path):
    command = [sys.executable, "manage.py", "import_table", "table.csv", "conditions.toml", "--user", "ada"]
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("There is no knowledge base here (no such table")
    assert f"DATA_DIR is {tmp_path}: set DATA_DIR" in done.stderr


# Who is told


@pytest.mark.sqlite
def test_an_upload_to_a_full_disk_is_told_so(client, full_sqlite):
    author = make_user()
    make_case_study("full", owner=author)
    headers = {"Authorization": f"Bearer {make_token(author)}"}
    upload = {"file": SimpleUploadedFile("big.txt", os.urandom(2_000_000)), "case_study": "full"}

    response = client.post("/api/v1/imports/", upload, headers=headers)

    assert "disk that KDB stores on is full" in problem_of(response, 503)["detail"]
    assert int(response["Retry-After"]) > 0


def test_a_page_tells_of_a_full_disk(client, db, monkeypatch):
    client.raise_request_exception = False
    monkeypatch.setattr("modelling.answer_pages.views.render", lambda *args, **kwargs: write_to_a_full_device())

    response = client.get(reverse("answer"))

    assert response.status_code == 503
    assert "disk that KDB stores on is full" in response.content.decode()


def test_a_job_that_found_no_room_is_tried_again_and_says_why(db, monkeypatch):
    jobs.load_handlers()
    monkeypatch.setitem(jobs._handlers, "test", lambda run: write_to_a_full_device())
    job = Job.objects.create(kind="test", attempt=jobs.MAX_ATTEMPTS - 1)

    assert not jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt) == (Job.State.QUEUED, jobs.MAX_ATTEMPTS)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert job.error == "Given up after 5 attempts: the database could not be used: the disk is full"


@pytest.mark.server
def test_the_web_server_has_the_room_for_its_counters_before_it_counts(tmp_path):
    """On a full disk the first count would kill its process, which writes to files mapped into memory."""
    environment = {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "kdb.settings.local",
    }

    begin = "from kdb import gunicorn_settings, wsgi; gunicorn_settings.post_fork(None, None)"
    subprocess.run([sys.executable, "-c", begin], cwd=ROOT, env=environment, check=True)

    counters = [path.stat() for path in (tmp_path / "metrics").iterdir()]
    assert len(counters) == 2
    assert all(file.st_blocks * 512 >= file.st_size > 0 for file in counters)
