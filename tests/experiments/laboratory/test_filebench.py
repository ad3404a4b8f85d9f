"""Filebench from a source archive into a pool of a host, and campaigns with it.

KDB_FILEBENCH_SOURCE names the source of release 1.5-alpha3, a tarball or a folder: the real one is built and runs, also
in the guests of all other tests. Without it a program that only says a version takes its place, in installations.
"""

import io
import json
import os
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from experiments.campaigns import hosts
from experiments.campaigns.hosts import HostError
from experiments.laboratory.images import debian, filebench_build, filebench_tree
from experiments.laboratory.images.filebench_tree import TreeError
from tests.experiments.laboratory import lab as laboratories
from tests.experiments.laboratory.conftest import built_filebench, do, registered, said, started, work_off

RELEASE = "1.5-alpha3"
SAYS_ITS_VERSION = "#!/bin/sh\ncat {prefix}/share/filebench/banner\n"


def make_tree(folder: Path, version: str = RELEASE, program: str = SAYS_ITS_VERSION) -> Path:
    """Make a tree as build_filebench leaves it, whose program finds its version by the compiled in folder."""
    prefix = filebench_tree.padded(filebench_tree.built_prefix(version))
    for name, text in (
        ("bin/filebench", program.format(prefix=prefix)),
        ("share/filebench/banner", f"0.000: Filebench Version {version}\n"),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    digests = filebench_tree.digests(folder)
    (folder / "manifest.json").write_text(json.dumps({"filebench": version, "prefix": prefix, "sha256": digests}))
    return folder


# The tree


def test_a_folder_is_filled_with_slashes_to_one_length():
    filled = filebench_tree.padded("/srv/kdb/.kdb-filebench")
    assert (len(filled), os.path.normpath(filled)) == (160, "/srv/kdb/.kdb-filebench")
    assert filebench_tree.padded("/" + 159 * "a") == "/" + 159 * "a"
    with pytest.raises(TreeError, match="has 161 characters"):
        filebench_tree.padded("/" + 160 * "a")


def test_a_moved_program_keeps_its_size_and_names_the_new_folder_only(tmp_path):
    tree = filebench_tree.read(make_tree(tmp_path / "tree"))
    moved = filebench_tree.relocated(tree, "/srv/kdb/.kdb-filebench")["bin/filebench"]
    assert len(moved) == len(tree.files["bin/filebench"])
    assert b"/opt/kdb" not in moved
    assert b"/.kdb-filebench/share" in moved


def test_a_tree_that_is_not_as_it_was_built_is_refused(tmp_path):
    folder = make_tree(tmp_path / "tree")
    (folder / "bin/filebench").write_text("another")
    (folder / "more").touch()
    (folder / "share/filebench/banner").unlink()
    with pytest.raises(TreeError, match="not as it was built: bin/filebench, more, share/filebench/banner"):
        filebench_tree.read(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(TreeError, match=r"has no manifest.json of manage.py build_filebench"):
        filebench_tree.read(folder)


# Building


def test_building_without_root_or_mmdebstrap_says_what_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CommandError, match="This needs root"):
        call_command("build_filebench", source=tmp_path, out=tmp_path / "out")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandError, match="not installed: mmdebstrap, unshare, chroot; on Debian: mmdebstrap"):
        call_command("build_filebench", source=tmp_path, out=tmp_path / "out")


def test_only_the_source_of_a_release_is_built(tmp_path, monkeypatch):
    monkeypatch.setattr(debian, "check_root", lambda: None)
    monkeypatch.setattr(debian, "check_tools", lambda programs, packages: None)
    (tmp_path / "source").mkdir()
    (tmp_path / "source/filebench.h").write_text("int changed;\n")
    with pytest.raises(CommandError, match=r"not the source of Filebench 1\.4\.9\.1 as .*tags/1\.4\.9\.1"):
        call_command("build_filebench", source=tmp_path / "source", version="1.4.9.1", out=tmp_path / "out")
    (tmp_path / "broken.tar.gz").write_text("no archive")
    with pytest.raises(CommandError, match="is no folder and cannot be unpacked"):
        call_command("build_filebench", source=tmp_path / "broken.tar.gz", out=tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/precious").touch()
    with pytest.raises(CommandError, match="has other things in it"):
        call_command("build_filebench", source=tmp_path / "source", out=tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.tar.gz", "mine", "source"]


# Installing


@pytest.fixture
def host(plain_lab, keys):
    keys(plain_lab)
    yield registered(plain_lab, slug="lab-1")
    for path in plain_lab.pool.glob(".kdb-filebench*"):
        path.unlink() if path.is_symlink() else shutil.rmtree(path)
    plain_lab.pool.chmod(0o755)


def install(folder: Path, *more: str) -> str:
    told = io.StringIO()
    call_command("install_filebench", "lab-1", *(("--from", str(folder)) if folder else ()), *more, stdout=told)
    return told.getvalue()


def on_a_host(test):
    """It starts processes of its own and takes seconds."""
    return pytest.mark.server(pytest.mark.slow(pytest.mark.django_db(transaction=True)(test)))


@on_a_host
def test_it_lies_in_the_pool_is_found_by_the_check_and_goes_again(host, plain_lab, tmp_path):
    before = plain_lab.inside("find", "/opt", "/usr/local", "-newermt", "-5 seconds")
    place = plain_lab.pool / ".kdb-filebench"
    said_first = install(make_tree(tmp_path / "tree"))
    assert f"{place}: Filebench 1.5-alpha3, put there, 2 files, digests checked." in said_first
    assert f"has Filebench 1.5-alpha3: {place}/bin/filebench" in said_first
    host.refresh_from_db()
    assert host.facts["filebench"] == "1.5-alpha3"
    assert "filebench" not in [missing["program"] for missing in host.facts["missing"]]
    assert [path.name for path in plain_lab.pool.iterdir()] == [".kdb-filebench"]
    assert plain_lab.inside("find", "/opt", "/usr/local", "-newermt", "-5 seconds") == before
    assert "removed:" in install(None, "--undo")
    assert plain_lab.left_overs() == []
    host.refresh_from_db()
    assert host.facts.get("filebench_program") != f"{place}/bin/filebench"
    assert "Nothing of it was there" in install(None, "--undo")


@on_a_host
def test_a_second_time_changes_nothing_and_damage_is_made_good(host, plain_lab, tmp_path):
    place = plain_lab.pool / ".kdb-filebench"
    tree = make_tree(tmp_path / "tree")
    install(tree)
    inode = place.stat().st_ino
    assert "there already, undamaged" in install(tree)
    assert place.stat().st_ino == inode
    (place / "share/filebench/banner").write_text("Filebench Version 9\n")
    hosts.request_check(host)
    do(host.job)
    host.refresh_from_db()
    assert host.facts.get("filebench_program") != f"{place}/bin/filebench"
    assert "put there" in install(tree)
    assert "1.5-alpha3" in (place / "share/filebench/banner").read_text()


@on_a_host
def test_what_broke_off_half_way_leaves_what_was_there_and_is_cleared_away(host, plain_lab, tmp_path, monkeypatch):
    place = plain_lab.pool / ".kdb-filebench"
    install(make_tree(tmp_path / "old", "1.4.9.1"))
    whole = filebench_tree._packed
    with monkeypatch.context() as broken:
        broken.setattr(filebench_tree, "_packed", lambda files: whole(files)[:700])
        with pytest.raises(CommandError):
            install(make_tree(tmp_path / "new"))
    assert "1.4.9.1" in (place / "share/filebench/banner").read_text()
    place.rename(plain_lab.pool / ".kdb-filebench.old")  # killed between the two names
    install(tmp_path / "new")
    assert "1.5-alpha3" in (place / "share/filebench/banner").read_text()
    assert [path.name for path in plain_lab.pool.iterdir()] == [".kdb-filebench"]


@on_a_host
def test_bytes_that_changed_on_the_way_are_refused(host, plain_lab, tmp_path, monkeypatch):
    whole = filebench_tree._packed
    monkeypatch.setattr(filebench_tree, "_packed", lambda files: whole(files).replace(b"Version 1.5", b"Version 1.6"))
    with pytest.raises(CommandError, match="what came is not what was sent"):
        install(make_tree(tmp_path / "tree"))
    assert not (plain_lab.pool / ".kdb-filebench").exists()


@on_a_host
def test_a_program_that_does_not_run_there_takes_no_place(host, plain_lab, tmp_path):
    install(make_tree(tmp_path / "good"))
    with pytest.raises(CommandError, match="does not run here: GLIBC_9 not found"):
        install(make_tree(tmp_path / "bad", program="#!/bin/sh\necho GLIBC_9 not found; exit 1  # {prefix}\n"))
    assert "banner" in (plain_lab.pool / ".kdb-filebench/bin/filebench").read_text()


@on_a_host
def test_what_is_not_ours_and_where_others_write_is_left_alone(host, plain_lab, tmp_path):
    place, tree = plain_lab.pool / ".kdb-filebench", make_tree(tmp_path / "tree")
    place.mkdir()
    (place / "precious").touch()
    for arguments in ((tree,), (None, "--undo")):
        with pytest.raises(CommandError, match=r"\.kdb-filebench is there and is not KDB's"):
            install(*arguments)
    assert (place / "precious").exists()
    shutil.rmtree(place)
    place.symlink_to(tmp_path)
    with pytest.raises(CommandError, match=r"\.kdb-filebench is there and is not KDB's"):
        install(tree)
    place.unlink()
    plain_lab.pool.chmod(0o777)
    with pytest.raises(CommandError, match="others may write in"):
        install(tree)
    with pytest.raises(CommandError, match="/elsewhere is no storage pool"):
        install(tree, "--pool", "/elsewhere")
    assert plain_lab.left_overs() == []


@on_a_host
def test_nothing_is_exchanged_while_a_run_is_under_way(host, tmp_path):
    started(host, host_file_systems=["ext4"], run_seconds=2, disk_mib=320, scale_percent=10)
    tree = filebench_tree.read(make_tree(tmp_path / "tree"))
    for change in (lambda: hosts.install_filebench(host, tree), lambda: hosts.remove_filebench(host)):
        with pytest.raises(HostError, match="A run is under way"):
            change()


# The real one


@pytest.fixture(scope="session")
def filebench(pytestconfig) -> Path:
    if why := laboratories.no_filebench():
        pytest.skip(why)
    return built_filebench(pytestconfig.cache.mkdir("kdb"))


@on_a_host
def test_its_manifest_says_what_it_is_made_of(filebench):
    manifest = filebench_tree.read(filebench).manifest
    assert (manifest["filebench"], manifest["source"]["sha256"]) == (RELEASE, filebench_build.RELEASES[RELEASE])
    assert manifest["compiler"].startswith("gcc ")
    assert set(manifest["ops_per_s"]) == {"fileserver", "varmail", "webserver", "randomfileaccess"}
    assert min(manifest["ops_per_s"].values()) > 0


@on_a_host
def test_a_native_campaign_runs_all_four_texts_with_it(host, plain_lab, filebench):
    install(filebench)
    host.refresh_from_db()
    campaign = started(
        host,
        engine="filebench",
        host_file_systems=["ext4"],
        workloads=["fileserver", "varmail", "webserver", "randomfileaccess"],
        run_seconds=1,
        disk_mib=512,
        scale_percent=10,
    )
    work_off(campaign)
    for run in campaign.runs.all():
        assert run.state == "done", said(run)
        assert run.facts["tool_version"] == RELEASE
    assert campaign.runs.count() == 4
    install(None, "--undo")
    assert plain_lab.left_overs() == []


@on_a_host
def test_a_guest_campaign_runs_with_the_one_in_the_image(filebench, qemu_lab, keys):
    keys(qemu_lab)
    host = registered(qemu_lab, drivers=["libvirt"], guest_image=str(qemu_lab.image))
    assert host.facts["guest_image"]["filebench"] == RELEASE
    campaign = started(
        host,
        driver="libvirt",
        engine="filebench",
        host_file_systems=["ext4"],
        guest_file_systems=["xfs"],
        vm_counts=[1],
        workloads=["randomfileaccess"],
        run_seconds=2,
        disk_mib=320,
        scale_percent=10,
    )
    work_off(campaign)
    run = campaign.runs.get()
    assert (run.state, run.facts.get("tool_version")) == ("done", RELEASE), said(run)
