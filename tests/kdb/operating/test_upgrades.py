"""One version in place of another: the data of the last release, and workers of both versions side by side."""

import gzip
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from kdb import __version__, jobs, tasks
from kdb.models import Job, WorkerHeartbeat
from kdb.operating import upgrades
from kdb.processes import WORKER
from tests.kdb.test_serve import HANG_SECONDS, wait_until
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
    """A place with the database of the last release, as its own code filled it."""
    (tmp_path / "kdb.sqlite3").write_bytes(gzip.decompress(RELEASE.read_bytes()))
    return tmp_path


def ask(data_dir: Path, query: str) -> list:
    with closing(sqlite3.connect(data_dir / "kdb.sqlite3")) as database:
        return database.execute(query).fetchall()


COUNTS = (
    "SELECT (SELECT count(*) FROM experiments_measurement), (SELECT count(*) FROM experiments_claim),"
    " (SELECT count(*) FROM experiments_casestudy WHERE status = 'published')"
)


@pytest.mark.slow
@pytest.mark.server
def test_the_data_of_the_last_release_are_migrated_and_the_answers_hold(released):
    before = ask(released, COUNTS)
    manage(released, "migrate", "--verbosity=0")
    checked = manage(released, "check_answers")
    assert ask(released, COUNTS) == before
    assert before[0][0] > 100
    assert int(re.search(r"(\d+) standing answers were computed again", checked)[1]) > 0
    assert ask(released, "PRAGMA foreign_key_check") == []


# What migrations do to the code before them


def stops_older_code(operation: migrations.operations.base.Operation) -> bool:
    """Whether code that does not know of the operation fails after it."""
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
    """A database that a later version migrated."""
    MigrationRecorder(connection).record_applied("experiments", "9999_of_a_later_version")


def test_code_and_database_of_one_version_do_not_differ(db):
    assert upgrades.difference() == (set(), set())


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


@pytest.mark.slow
@pytest.mark.server
def test_processes_that_migrate_at_the_same_time_wait_for_each_other(tmp_path):
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    running = [subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate(timeout=HANG_SECONDS)[1].decode() for process in running]
    assert ([process.returncode for process in running], said) == ([0, 0], ["", ""])


@pytest.mark.slow
@pytest.mark.server
def test_an_older_worker_ends_and_leaves_its_jobs_to_the_new_version(tmp_path, migrated_sqlite):
    shutil.copy(migrated_sqlite, tmp_path / "kdb.sqlite3")
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}

    def run(*command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def change(query: str) -> None:
        with closing(sqlite3.connect(tmp_path / "kdb.sqlite3", timeout=60)) as database:
            database.execute(query)
            database.commit()

    worker = run("-m", *WORKER)
    try:
        wait_until(lambda: ask(tmp_path, "SELECT count(*) FROM experiments_workerheartbeat") == [(1,)])
        change("INSERT INTO django_migrations (app, name, applied) VALUES ('kdb', '9999_later', '2026-01-01')")
        enqueue = "import django; django.setup(); from kdb.jobs import enqueue; enqueue('recompute_rankings')"
        local = "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'kdb.settings.local'"
        enqueued = run("-c", f"{local}; {enqueue}")
        enqueued.communicate(timeout=HANG_SECONDS)
        assert enqueued.returncode == 0
        said = worker.communicate(timeout=HANG_SECONDS)[1]
    finally:
        worker.kill()
        worker.wait()
    assert (worker.returncode, "the database is newer than this worker, which ends" in said) == (0, True), said
    jobs_left = "SELECT state, attempt FROM experiments_job WHERE kind = 'recompute_rankings'"
    assert ask(tmp_path, jobs_left) == [("queued", 1)]

    again = run("-m", *WORKER)  # from the older code still
    said = again.communicate(timeout=HANG_SECONDS)[1]
    assert again.returncode == 1
    assert "migrated by a later version of KDB (kdb.9999_later); run that version." in said
    assert ask(tmp_path, jobs_left) == [("queued", 1)]
