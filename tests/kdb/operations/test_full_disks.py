"""A real disk without room: commands say so and leave nothing half, the status says where it is."""

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.files import uploadhandler
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadedfile import TemporaryUploadedFile as Temporary
from django.core.management import CommandError, call_command
from django.urls import reverse

from experiments.published_evidence.releases.signing import own_key
from kdb.operations import outages
from kdb.operations.atomic_files import atomic_file
from kdb.operations.failures import Failure
from kdb.operations.status import storage_health
from tests.factories import make_case_study, make_measurement, make_token, make_user, publish
from tests.kdb.jobs.test_serve import ROOT
from tests.kdb.test_api_errors import problem_of

MakeDisk = Callable[[str], Path]
NO_ROOM = "No space left on device|File too large"


@pytest.fixture
def disk(tmp_path) -> Iterator[MakeDisk]:
    """Mount disks of a size, as "16k"; for root alone."""
    if os.geteuid():
        pytest.skip("only root may mount a small disk")
    mounted: list[Path] = []

    def make(size: str) -> Path:
        place = tmp_path / f"disk-{len(mounted)}"
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
        mounted.append(place)
        return place

    yield make
    for place in mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> None:
    with contextlib.suppress(OSError), (place / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


@pytest.fixture
def published(transactional_db, settings, tmp_path) -> None:
    settings.DATA_DIR = tmp_path / "data"
    own_key()
    study = make_case_study("lab", notes=[os.urandom(1_900).hex() for _ in range(40)])
    make_measurement(100.0, case_study=study, guest_fs="ext4", host_fs="ext4")
    publish(study)


@pytest.mark.parametrize("size", ["4k", "16k", "48k"])  # where it ends: at once, in the middle, at the end
@pytest.mark.parametrize("command", [["release_data"], ["backup"], ["export_case_study", "lab"]])
def test_a_command_says_that_a_full_disk_is_full_and_leaves_what_was_there(published, disk, size, command):
    folder = disk(size)

    with pytest.raises(CommandError, match=NO_ROOM):
        call_command(*command, str(folder / "new.zip"))

    assert not list(folder.iterdir())


@pytest.mark.parametrize("command", [["release_data"], ["export_case_study", "lab"]])
def test_a_file_that_was_there_stays_where_the_new_one_has_no_room(published, disk, command):
    folder = disk("16k")
    (folder / "kept.zip").write_text("of yesterday")

    with pytest.raises(CommandError, match=NO_ROOM):
        call_command(*command, str(folder / "kept.zip"))

    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("kept.zip", "of yesterday")]


def test_a_release_without_room_for_temporary_files_says_where_they_are(published, disk, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(disk("16k")))

    with pytest.raises(CommandError, match=r"TMPDIR"):
        call_command("release_data", str(tmp_path / "new.zip"))

    assert not (tmp_path / "new.zip").exists()
    assert not list(Path(tempfile.gettempdir()).iterdir())


def test_a_file_that_may_not_grow_is_not_left_half(tmp_path):
    """As by a quota, and for who is not root, too."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        with pytest.raises(OSError, match=NO_ROOM), atomic_file(tmp_path / "new") as file:
            file.write(bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [["check_answers"], ["release_data", "x.zip"], ["load_evidence"], ["migrate"]])
def test_a_command_whose_database_has_no_room_says_so_without_a_traceback(disk, migrated_sqlite, command):
    folder = disk("20m")
    shutil.copy(migrated_sqlite, folder / "kdb.sqlite3")
    (folder / "secret_key").write_text("x" * 50)
    fill(folder)
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "kdb.settings.local"}

    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "A disk is full" in done.stderr
    assert "0 KiB for DATA_DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_upload_without_room_for_temporary_files_is_told_so(client, db, disk, monkeypatch):
    author = make_user()
    make_case_study("full", owner=author)
    monkeypatch.setattr(tempfile, "tempdir", str(disk("64k")))
    begun = []  # which Django leaves to the collector: it is closed before the disk goes
    monkeypatch.setattr(
        uploadhandler, "TemporaryUploadedFile", lambda *args: begun.append(Temporary(*args)) or begun[0]
    )
    upload = {"file": SimpleUploadedFile("big.txt", os.urandom(6 * 2**20)), "case_study": "full"}

    response = client.post("/api/v1/imports/", upload, headers={"Authorization": f"Bearer {make_token(author)}"})

    assert "disk that KDB stores on is full" in problem_of(response, 503)["detail"]
    with contextlib.suppress(OSError):
        begun[0].close()


# The status


def test_the_status_says_which_disk_is_full_and_not_where_it_is(client, db, settings, disk):
    settings.DATA_DIR = disk("8m")
    assert storage_health()["status"] == "low"
    fill(settings.DATA_DIR)

    health = client.get("/api/v1/status/").json()["health"]
    page = client.get(reverse("status-page")).content.decode()

    assert health["storage"]["status"] == "full"
    for told in (health["storage"]["detail"], page):
        assert "0 MiB for DATA_DIR" in told
        assert "At least 256 MiB should be" in told
        assert str(settings.DATA_DIR) not in told


def test_a_disk_without_room_for_another_file_is_full(settings, disk):
    settings.DATA_DIR = disk("300m,nr_inodes=2")
    (settings.DATA_DIR / "last").touch()

    assert storage_health()["status"] == "full"


def test_the_status_tells_of_a_disk_that_only_the_database_sees(settings, tmp_path, monkeypatch):
    """As PostgreSQL's, on another machine: what was not stored in the last minute is known to the log."""
    monkeypatch.setattr(outages, "INTERVAL_SECONDS", 60)
    settings.KDB_OUTAGES_DIR = tmp_path / "outages"
    assert storage_health()["status"] != "full"
    outages._count_suppressed(Failure.DISK_FULL)

    assert storage_health() == {
        "status": "full",
        "detail": "Within the last minute something was not stored, because a disk is full.",
    }
    os.utime(outages._path(Failure.DISK_FULL), (0, 0))
    assert storage_health()["status"] != "full"
