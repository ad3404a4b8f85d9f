"""One version in place of another: the data of the last release, and workers of both versions side by side."""

import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from kdb import __version__
from kdb.jobs import jobs, tasks
from kdb.jobs.processes import POLLING_WORKER
from kdb.models import Job, WorkerHeartbeat
from kdb.operations import upgrades
from modelling.estimation.ranking import METHOD
from tests.kdb.jobs.test_serve import HANG_SECONDS, wait_until
from tests.test_architecture import ROOT

RELEASE = ROOT / "tests" / "data" / "release.sqlite3.gz"


def manage(data_dir: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(data_dir),
        "DJANGO_SETTINGS_MODULE": "kdb.settings.local",
    }
    command = [sys.executable, "manage.py", *arguments]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture
def released(tmp_path) -> Path:
    """Return a place with the database of the last release, as its own code filled it."""
    (tmp_path / "kdb.sqlite3").write_bytes(gzip.decompress(RELEASE.read_bytes()))
    return tmp_path


def ask(data_dir: Path, query: str) -> list:
    with closing(sqlite3.connect(data_dir / "kdb.sqlite3")) as database:
        return database.execute(query).fetchall()


def change(data_dir: Path, query: str) -> None:
    with closing(sqlite3.connect(data_dir / "kdb.sqlite3", timeout=60)) as database:
        database.execute(query)
        database.commit()


COUNTS = (
    "SELECT (SELECT count(*) FROM experiments_measurement), (SELECT count(*) FROM experiments_claim),"
    " (SELECT count(*) FROM experiments_casestudy WHERE status = 'published')"
)
KEPT = "SELECT question, method FROM modelling_rankingsnapshot WHERE revision > 0 AND superseded_by IS NULL"


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.server
def test_the_data_of_the_last_release_are_migrated_and_the_answers_hold(released):
    def computed_again() -> int:
        return int(re.search(r"(\d+) standing answers were computed again", manage(released, "check_answers"))[1])

    before, kept = ask(released, COUNTS), ask(released, KEPT)
    manage(released, "migrate", "--verbosity=0")
    assert computed_again() == sum(method == METHOD for _, method in kept)  # by another method none stands
    addresses = [f"/api/v1/rankings/{question.replace('?', '/?')}" for question, _ in kept]
    assert {status for status, _ in ask_server(released, addresses, methods_later=0).values()} == {200}
    assert computed_again() == len(kept) > 10
    assert ask(released, COUNTS) == before
    assert before[0][0] > 100
    assert ask(released, "PRAGMA foreign_key_check") == []


# Permanent addresses

PUBLISHED = (
    "SELECT (SELECT count(*) FROM experiments_casestudy WHERE status = 'published'),"
    " (SELECT count(*) FROM experiments_knowledgerevision)"
)
# As a later release would: another method, which tells nothing apart that is not far ahead.
ASK = """
import json, os, sys
from modelling.estimation import ranking
ranking.METHOD += int(os.environ["METHODS_LATER"])
import django
django.setup()
from django.conf import settings
from django.test import Client
settings.KDB_CPU_SECONDS_A_REQUEST = settings.KDB_CPU_SECONDS_A_MINUTE = 0  # nothing is left to a worker, however slow
settings.KDB_MARGIN = 0.95 if os.environ["METHODS_LATER"] != "0" else settings.KDB_MARGIN
client = Client(SERVER_NAME="localhost")
found = {address: client.get(address) for address in json.load(sys.stdin)}
print(json.dumps({address: [answer.status_code, answer.content.decode()] for address, answer in found.items()}))
"""


def ask_server(data_dir: Path, addresses: list[str], *, methods_later: int) -> dict[str, tuple[int, str]]:
    """Return what each address gives, by code whose method is so much later."""
    environment = {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(data_dir),
        "DJANGO_SETTINGS_MODULE": "kdb.settings.local",
        "METHODS_LATER": str(methods_later),
    }
    run = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        env=environment,
        input=json.dumps(addresses),
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def handed_out(data_dir: Path) -> dict[str, dict]:
    """Return the permanent addresses that the release gave, with what each gave."""
    return {address: json.loads(body) for address, body in ask(data_dir, "SELECT address, body FROM handed_out")}


def holds(now: Any, then: Any) -> bool:
    """Tell whether all that an answer had then is there, the same in every digit; fields may have come since."""
    if isinstance(then, dict):
        return all(holds(now[name], value) for name, value in then.items())
    if isinstance(then, list):
        return len(now) == len(then) and all(map(holds, now, then))
    return bool(now == then)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.server
def test_permanent_addresses_give_after_an_upgrade_what_they_gave_before(released):
    then = handed_out(released)
    studies, revisions = ask(released, PUBLISHED)[0]
    stdout = manage(released, "prepare")

    (now_studies, now_revisions) = ask(released, PUBLISHED)[0]
    # Two revisions more: what is new, and the case study that was measured again.
    assert (studies, now_studies > studies + 20, now_revisions) == (7 + (revisions > 1), True, revisions + 2)
    assert "case studies that are there stay as they are" in stdout
    change(released, "DELETE FROM modelling_rankingsnapshot")  # forgotten, as nobody asked for them
    asked_now = "/api/v1/rankings/fs-pair/?workload=fileserver"
    for methods_later in (0, 1):
        now = ask_server(released, [*then, asked_now], methods_later=methods_later)
        _, current = now.pop(asked_now)
        assert json.loads(current)["method"] == METHOD + methods_later
        assert len(now) >= 12
        for address, (status, text) in now.items():
            assert status == 200, address
            body = json.loads(text)
            for left in ("fit", "machines"):  # how a visitor's machine stands to it; what left the API (CHANGELOG.md)
                then[address].pop(left, None)
            assert [name for name, value in then[address].items() if not holds(body[name], value)] == [], address


# What migrations do to the code before them


def stops_older_code(operation: migrations.operations.base.Operation) -> bool:
    """Tell whether code that does not know of the operation fails after it."""
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        return any(map(stops_older_code, operation.database_operations))
    if isinstance(operation, migrations.AddField):
        field = operation.field
        return not (field.null or field.many_to_many or field.has_db_default())  # it writes rows without the column
    gone = (migrations.RemoveField, migrations.DeleteModel, migrations.AlterModelTable)
    return isinstance(operation, (*gone, migrations.RenameField, migrations.RenameModel)) or (
        isinstance(operation, migrations.AlterField)
        and not (operation.field.null or operation.field.many_to_many or operation.field.has_db_default())
    )


@pytest.mark.parametrize(
    ("operation", "stops"),
    [
        (migrations.AddField("job", "x", models.IntegerField(null=True)), False),
        (migrations.AddField("job", "x", models.IntegerField(db_default=0)), False),
        (migrations.AddField("job", "x", models.IntegerField(default=0)), True),
        (migrations.AlterField("job", "x", models.IntegerField()), True),
        (migrations.RemoveField("job", "x"), True),
        (migrations.RenameField("job", "x", "y"), True),
        (migrations.DeleteModel("job"), True),
        (migrations.SeparateDatabaseAndState([migrations.RemoveField("job", "x")]), True),
        (migrations.CreateModel("x", []), False),
    ],
)
def test_what_older_code_cannot_live_with_is_known(operation, stops):
    assert stops_older_code(operation) is stops


def test_migrations_since_the_release_let_older_code_live_or_say_why_not(released):
    """See "Changes to the database" in CONTRIBUTING.md."""
    known = set(ask(released, "SELECT app, name FROM django_migrations"))
    loader = MigrationLoader(None)
    assert known >= {("kdb", "0001_initial")}
    for (app, name), migration in loader.disk_migrations.items():
        if app in upgrades.OURS and (app, name) not in known and not getattr(migration, "stops_older_code", ""):
            assert not [*filter(stops_older_code, migration.operations)], f"{app}.{name}"


# Code and database of different versions


@pytest.fixture
def later(db) -> None:
    """Make the database look as if a later version had migrated it."""
    MigrationRecorder(connection).record_applied("experiments", "9999_of_a_later_version")


def test_older_code_does_not_migrate(later):
    with pytest.raises(CommandError, match=r"later version of KDB \(experiments.9999_of_a_later_version\)"):
        call_command("migrate", verbosity=0)


def test_newer_code_waits_for_the_migration(db, monkeypatch):
    latest = max(name for app, name in MigrationRecorder(connection).applied_migrations() if app == "kdb")
    MigrationRecorder(connection).record_unapplied("kdb", latest)
    monkeypatch.setattr(upgrades.connection, "close", lambda: None)  # the test's transaction
    monkeypatch.setattr(
        upgrades.time, "sleep", lambda seconds: MigrationRecorder(connection).record_applied("kdb", latest)
    )
    upgrades.wait_for_database()
    assert upgrades.difference() == (set(), set())


def test_an_older_worker_takes_no_job_and_does_not_tick(later):
    @jobs.handler("work of a later version")
    def never(run: jobs.JobRun) -> None:
        raise AssertionError

    try:
        job = jobs.enqueue("work of a later version")
        tasks.run_job(job.pk)
        tasks.tick.apply()
    finally:
        del jobs._handlers["work of a later version"]
    job.refresh_from_db()
    assert (job.state, job.attempt, WorkerHeartbeat.objects.count()) == (Job.State.QUEUED, 1, 0)


@pytest.mark.django_db(transaction=True)
def test_a_job_that_fails_on_the_tables_of_a_later_version_goes_back():
    recorder = MigrationRecorder(connection)

    @jobs.handler("overtaken")
    def overtaken(run: jobs.JobRun) -> None:
        recorder.record_applied("experiments", "9999_of_a_later_version")
        raise ValueError("no such column")

    try:
        job = jobs.enqueue("overtaken")
        assert jobs.run(job.pk) is False
    finally:
        del jobs._handlers["overtaken"]
        recorder.record_unapplied("experiments", "9999_of_a_later_version")
    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.QUEUED, "")


def test_the_version_is_at_the_foot_of_the_page(client, db):
    assert f"Version {__version__}" in client.get("/").content.decode()


# Real processes


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.server
def test_processes_that_migrate_at_the_same_time_wait_for_each_other(tmp_path):
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    running = [subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    stderr = [process.communicate(timeout=HANG_SECONDS)[1].decode() for process in running]
    assert ([process.returncode for process in running], stderr) == ([0, 0], ["", ""])


STEP_BY_STEP = """
import django; django.setup()
from django.core.management import call_command
from django.core.management.commands import migrate
call_command(migrate.Command(), verbosity=0)
"""


def tables_and_rows(data_dir: Path) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return what each table and index is made of, in any order, and how many rows each table has."""
    made = {
        name: sorted(sql.partition("(")[2].removesuffix(")").split(", "))
        for name, sql in ask(data_dir, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    }
    tables = [name for (name,) in ask(data_dir, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {name: ask(data_dir, f'SELECT count(*) FROM "{name}"')[0][0] for name in tables}
    return made, {name: count for name, count in rows.items() if name != "sqlite_sequence"}


@pytest.mark.nightly
@pytest.mark.slow
def test_an_empty_place_gets_at_once_what_all_migrations_would_make(tmp_path, migrated_sqlite):
    environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "kdb.settings.local"}
    subprocess.run(
        [sys.executable, "-c", STEP_BY_STEP],
        cwd=ROOT,
        env=environment | {"DATA_DIR": str(tmp_path / "steps")},
        check=True,
    )

    (tmp_path / "once").mkdir()
    shutil.copy(migrated_sqlite, tmp_path / "once" / "kdb.sqlite3")  # an empty place was migrated for all tests

    assert tables_and_rows(tmp_path / "once") == tables_and_rows(tmp_path / "steps")
    assert "No migrations to apply" in manage(tmp_path / "once", "migrate")


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.server
def test_an_older_worker_ends_and_leaves_its_jobs_to_the_new_version(tmp_path, migrated_sqlite):
    shutil.copy(migrated_sqlite, tmp_path / "kdb.sqlite3")
    settings = {"DJANGO_SETTINGS_MODULE": "kdb.settings.local"}
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), **settings}

    def run(*command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    worker = run("-m", *POLLING_WORKER)
    try:
        wait_until(lambda: ask(tmp_path, "SELECT count(*) FROM kdb_workerheartbeat") == [(1,)])
        change(
            tmp_path, "INSERT INTO django_migrations (app, name, applied) VALUES ('kdb', '9999_later', '2026-01-01')"
        )
        enqueue = "import django; django.setup(); from kdb.jobs.jobs import enqueue; enqueue('recompute_rankings')"
        enqueued = run("-c", enqueue)
        enqueued.communicate(timeout=HANG_SECONDS)
        assert enqueued.returncode == 0
        stderr = worker.communicate(timeout=HANG_SECONDS)[1]
    finally:
        worker.kill()
        worker.wait()
    assert (worker.returncode, "the database is newer than this worker, which ends" in stderr) == (0, True), stderr
    jobs_left = "SELECT state, attempt FROM kdb_job WHERE kind = 'recompute_rankings'"
    assert ask(tmp_path, jobs_left) == [("queued", 1)]

    again = run("-m", *POLLING_WORKER)  # from the older code still
    stderr = again.communicate(timeout=HANG_SECONDS)[1]
    assert again.returncode == 1
    assert "migrated by a later version of KDB (kdb.9999_later); run that version." in stderr
    assert ask(tmp_path, jobs_left) == [("queued", 1)]
