"""manage.py backup and restore: nothing is lost, nothing half done, and either database reads what the other wrote."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from experiments.models import CaseStudy, Measurement, RawFile
from kdb.models import WorkerHeartbeat
from kdb.operations import backups
from modelling.models import RankingSnapshot
from tests import factories

WORKLOADS = ("fileserver", "varmail", "webserver", "randomfileaccess")
AXES = ("guest-fs", "host-fs", "fs-pair", "hypervisor")


def rows(path: Path) -> dict[str, list[Any]]:
    """Return every table of an archive, as data: PostgreSQL keeps JSON in an order of its own."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name != backups.MANIFEST]
        return {name: [json.loads(line) for line in archive.open(name)] for name in names}


def answers() -> list[Any]:
    """Return an answer over each axis, worked out anew."""
    RankingSnapshot.objects.all().delete()
    asked = [f"/api/v1/rankings/{axis}/?workload={workload}" for axis, workload in zip(AXES, WORKLOADS, strict=True)]
    responses = [Client().get(address) for address in asked]
    assert all(response.status_code == 200 for response in responses)
    return [_timeless(response.json()) for response in responses]


def _timeless(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if "_at" not in name}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_what_was_backed_up_is_restored_and_gives_the_same_answers(published_evidence, tmp_path):
    user = factories.make_user("administrators", username="carla")
    factories.make_token(user)
    factories.make_raw_file(CaseStudy.objects.first(), content=bytes(range(256)))
    factories.make_job(arguments={"text": "naïve \x01 line\nbreak", "big": 2**53 + 1, "share": 0.1})
    archive = tmp_path / "all.kdb"
    expected = answers()
    backups.write(archive)
    stored = {model: list(model._base_manager.order_by("pk").values()) for model in backups.models()}
    assert archive.stat().st_mode & 0o777 == 0o600

    Measurement.objects.all().delete()
    User.objects.update(is_active=False)
    call_command("restore", archive, replace=True, verbosity=0)

    for model, before in stored.items():
        assert list(model._base_manager.order_by("pk").values()) == before, model._meta.label
    assert answers() == expected
    # The next row gets a key that none of the restored has.
    assert factories.make_case_study().pk > max(row["id"] for row in stored[CaseStudy])


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_postgresql_restores_what_sqlite_wrote_and_sqlite_what_postgresql_wrote(migrated_sqlite, tmp_path):
    def on_sqlite(folder: str, *command: str) -> None:
        place = tmp_path / folder
        environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=settings.BASE_DIR,
            check=True,
            capture_output=True,
            env={**environment, "DATA_DIR": str(place), "DJANGO_SETTINGS_MODULE": "kdb.settings.local"},
        )

    for folder in ("grown", "back"):
        (tmp_path / folder).mkdir()
        shutil.copy(migrated_sqlite, tmp_path / folder / "kdb.sqlite3")
    on_sqlite("grown", "load_evidence", "--papers")
    on_sqlite("grown", "backup", str(tmp_path / "sqlite.kdb"))
    call_command("restore", tmp_path / "sqlite.kdb", replace=True, verbosity=0)
    assert connection.vendor == "postgresql"
    assert Measurement.objects.exists()
    backups.write(tmp_path / "postgresql.kdb")
    on_sqlite("back", "restore", str(tmp_path / "postgresql.kdb"))
    on_sqlite("back", "backup", str(tmp_path / "again.kdb"))
    wrote = rows(tmp_path / "sqlite.kdb")
    assert rows(tmp_path / "postgresql.kdb") == wrote
    assert rows(tmp_path / "again.kdb") == wrote


@pytest.fixture
def archive(transactional_db, tmp_path) -> Path:
    """Return the archive of a database with one user."""
    factories.make_user(username="carla")
    backups.write(tmp_path / "archive.kdb")
    return tmp_path / "archive.kdb"


def changed(archive: Path, name: str, content: bytes) -> Path:
    """Return a copy of the archive in which one member is another."""
    copy = archive.with_name("changed.kdb")
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(copy, "w") as target:
        for member in source.namelist():
            target.writestr(member, content if member == name else source.read(member))
    return copy


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "no whole archive"),
        (lambda path: path.write_text("a letter"), "no whole archive"),
        (lambda path: path.unlink(), "No such file"),
        (lambda path: changed(path, "auth_user.jsonl", b"[]\n").replace(path), "auth_user is not what was written"),
    ],
    ids=["torn", "another file", "missing", "changed"],
)
def test_an_archive_that_is_not_whole_is_refused_before_anything_changes(archive, harm, told):
    harm(archive)
    with pytest.raises(CommandError, match=told):
        call_command("restore", archive, replace=True, verbosity=0)
    assert User.objects.filter(username="carla").exists()


def test_a_database_that_holds_something_is_not_overwritten_unasked(archive):
    with pytest.raises(CommandError, match="holds 1 rows in auth_user"):
        call_command("restore", archive, verbosity=0)
    User.objects.all().delete()
    call_command("restore", archive, verbosity=0)
    assert User.objects.get().username == "carla"


def test_an_archive_of_other_migrations_names_the_release_that_reads_it(archive):
    with zipfile.ZipFile(archive) as whole:
        manifest = json.loads(whole.read(backups.MANIFEST))
    manifest["release"], manifest["migrations"] = "9.9.9", [*manifest["migrations"], "experiments.9999_later"]
    other = changed(archive, backups.MANIFEST, json.dumps(manifest).encode())
    with pytest.raises(CommandError, match=r"release 9\.9\.9 .*experiments\.9999_later"):
        call_command("restore", other, replace=True, verbosity=0)
    assert User.objects.exists()


def test_a_row_that_cannot_be_stored_leaves_the_database_as_it_was(archive, monkeypatch):
    columns, row = rows(archive)["auth_user.jsonl"]
    row[columns.index("username")] = None
    torn = changed(archive, "auth_user.jsonl", f"{json.dumps(columns)}\n{json.dumps(row)}\n".encode())
    monkeypatch.setattr(backups, "check", lambda path: json.loads(zipfile.ZipFile(path).read(backups.MANIFEST)))
    with pytest.raises(CommandError, match=r"auth_user, rows 1 to 1: (NOT NULL|null value)"):
        call_command("restore", torn, replace=True, verbosity=0)
    assert User.objects.get().username == "carla"


def test_an_archive_is_never_written_over_and_half_a_one_never_has_its_name(archive, monkeypatch):
    before = archive.read_bytes()
    with pytest.raises(CommandError, match="is there already"):
        call_command("backup", archive)
    assert archive.read_bytes() == before
    monkeypatch.setattr(backups, "_write_table", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(CommandError, match="cannot be written: No space left"):
        call_command("backup", archive.with_name("second.kdb"))
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]


def test_what_belongs_to_the_moment_is_left_out(transactional_db, tmp_path):
    user = factories.make_user(username="carla")
    Client().force_login(user)
    RawFile.objects.all().delete()
    WorkerHeartbeat.objects.create(name="kdb@here", seen_at="2026-01-01T00:00:00Z")
    backups.write(tmp_path / "archive.kdb")
    tables = rows(tmp_path / "archive.kdb")
    assert not {name for name in tables if "session" in name or "axes" in name or "heartbeat" in name}
    assert len(tables["auth_user.jsonl"]) == 2  # the columns, and carla
