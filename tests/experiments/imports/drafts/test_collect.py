"""collect.sh: what it packs is what the readers read, with the tools and without them."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.urls import reverse

from experiments import readers
from experiments.imports.drafts.import_views import COLLECT_SCRIPT
from experiments.readers import archives
from experiments.readers.base import Fact

DATA = Path(__file__).parents[3] / "data"
MACHINES = DATA / "collect"
RESULT = DATA / "sysbench/sysbench-1.0.txt"
NEEDED = (
    *("sh", "sed", "grep", "date", "mkdir", "rm", "cp", "cat", "basename", "awk", "sort", "tr", "wc", "uname"),
    *("readlink", "du"),
)
# What the made-up machines are called, or have in them, that is nobody's business.
PRIVATE = (
    *("acme", "ac:ac", "acac", "hunter2", "S5Y2NG0R", "5000c5", "10.11"),
    *("/srv", "/mnt", "rpool", "vm-100", "golden"),
)


@pytest.fixture
def collect(tmp_path):
    """Run the script in an empty folder, where nothing but the needed tools and a machine's stand-ins is found."""
    tools, folder = tmp_path / "bin", tmp_path / "work"
    tools.mkdir()
    folder.mkdir()

    def run(*arguments: str, machine: str = "", with_tools: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        stand_ins = {path.name: path for path in (MACHINES / machine).iterdir()} if machine else {}
        for tool in NEEDED:
            (tools / tool).symlink_to(stand_ins.get(tool) or shutil.which(tool) or "")
        for name in stand_ins.keys() - set(NEEDED):
            (tools / name).symlink_to(stand_ins[name])
        if "python3" in with_tools:
            (tools / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
            (tools / "python3").chmod(0o755)
        env = {"PATH": str(tools), "SBIN": "", "ETC_PVE": str(MACHINES / machine)}
        return subprocess.run(["sh", COLLECT_SCRIPT, *arguments], cwd=folder, env=env, capture_output=True, text=True)

    run.folder = folder
    return run


def packed(collect) -> dict[str, bytes]:
    (path,) = collect.folder.glob("*.zip")
    return {member.name.partition("/")[2]: member.data for member in archives.members("a.zip", path.read_bytes())}


def facts(members: dict[str, bytes]) -> list[Fact]:
    readings = [readers.read(data) for name, data in members.items() if not name.startswith("results/")]
    assert not any(reading.refused for reading in readings)
    return [fact for reading in readings for fact in reading.facts]


def settings(members: dict[str, bytes], about: str) -> dict[str, str | int | float | bool]:
    """Return what fills a configuration's fields, of one thing."""
    return {fact.fills: fact.value for fact in facts(members) if fact.fills and fact.about == about}


def test_it_packs_what_the_readers_read(collect):
    done = collect("-m", "100", str(RESULT), str(RESULT), machine="proxmox", with_tools=("python3",))
    assert done.returncode == 0, done.stderr
    (path,) = collect.folder.iterdir()
    assert done.stdout == f"{path.name}\n"
    assert path.stat().st_mode & 0o077 == 0
    members = packed(collect)
    assert {name: readers.read(data).format for name, data in members.items()} == {
        "host/settings.txt": "kdb-settings",
        "host/lsblk.json": "lsblk",
        "host/zpool.txt": "zpool",
        "host/machine-1.txt": "qm-config",
        "results/1-sysbench-1.0.txt": "sysbench",
        "results/2-sysbench-1.0.txt": "sysbench",
    }
    assert members["results/1-sysbench-1.0.txt"] == RESULT.read_bytes()


def test_proxmox_says_what_each_disk_lies_on(collect):
    assert collect("-m", "100", machine="proxmox", with_tools=("python3",)).returncode == 0
    members = packed(collect)
    assert settings(members, "machine") == {
        **{"host_kernel": "6.8.12-4-pve", "hypervisor": "proxmox-ve"},
        **{"hypervisor_release": "Proxmox VE 8.2.7 (QEMU 9.0.2)", "vm_vcpus": 8, "vm_ram_gib": 8.0},
    }
    assert settings(members, "scsi0") == {
        **{"backend": "zvol", "volume_block_bytes": 16384, "compression": "lz4", "encryption": "none"},
        **{"snapshot": "storage", "allocation": "sparse", "host_io_scheduler": "none", "storage_kind": "nvme"},
        **{"cache_mode": "writeback", "discard": "unmap", "iothread": "yes", "disk_bus": "scsi"},
    }
    assert settings(members, "scsi1") == {
        **{"backend": "file", "image_format": "qcow2", "volume_block_bytes": 65536, "snapshot": "none"},
        **{"host_fs": "xfs", "host_mount_options": "rw,noatime,attr2,logbufs=8,prjquota", "compression": "off"},
        **{"encryption": "none", "pool_layout": "single", "host_io_scheduler": "mq-deadline", "storage_kind": "hdd"},
        **{"io_mode": "native", "cache_mode": "none", "disk_bus": "scsi"},
    }
    assert settings(members, "scsi2") == {
        **{"backend": "lvm-thin", "volume_block_bytes": 262144, "allocation": "sparse", "encryption": "block"},
        **{"snapshot": "none", "pool_layout": "single", "host_io_scheduler": "mq-deadline", "storage_kind": "ssd"},
        "disk_bus": "scsi",
    }
    assert settings(members, "scsi3")["backend"] == "raw"
    assert settings(members, "pool pool1") == {"pool_layout": "mirror", "pool_devices": "slog"}
    stated = {(fact.about, fact.name): fact.value for fact in facts(members)}
    assert (stated["scsi0", "storage_sparse"], stated["scsi1", "storage_preallocation"]) == (1, "metadata")
    assert (stated["scsi1", "allocated_percent"], stated["scsi0", "zfs_sync"]) == (25, "standard")


def test_libvirt_says_what_each_disk_lies_on(collect):
    assert collect("-m", "acme-db", machine="libvirt", with_tools=("python3",)).returncode == 0
    members = packed(collect)
    assert settings(members, "machine")["hypervisor_release"] == "QEMU 7.2.13"
    assert settings(members, "machine")["hypervisor"] == "kvm"
    assert settings(members, "vda") == {
        **{"backend": "file", "image_format": "qcow2", "volume_block_bytes": 2**21, "snapshot": "overlay"},
        **{"host_fs": "btrfs", "host_mount_options": "rw,noatime,compress=zstd:1,space_cache=v2"},
        **{"compression": "zstd", "encryption": "block", "pool_layout": "mirror", "storage_kind": "nvme"},
        **{"host_io_scheduler": "none", "cache_mode": "none", "io_mode": "io_uring", "discard": "unmap"},
        **{"iothread": "yes", "disk_bus": "virtio"},
    }
    assert settings(members, "sda")["disk_bus"] == "scsi"
    assert [(fact.name, fact.value) for fact in facts(members) if fact.about == "not seen"] == [
        ("lvs", "the program is not here"),
        ("lsblk", "it says nothing"),
    ]


@pytest.mark.parametrize(("machine", "name"), [("proxmox", "100"), ("libvirt", "acme-db")])
def test_names_addresses_and_identifiers_stay_where_they_are(collect, machine, name):
    assert collect("-m", name, machine=machine, with_tools=("python3",)).returncode == 0
    (path,) = collect.folder.glob("*.zip")
    with zipfile.ZipFile(path) as archive:
        text = "\n".join([*archive.namelist(), *(archive.read(member).decode() for member in archive.namelist())])
    assert "kernel" in text
    assert not [secret for secret in PRIVATE if secret.lower() in text.lower()]


def test_what_a_machine_does_not_tell_is_listed(collect):
    done = collect("-m", "100", "-m", "other", "-d", ".", machine="", with_tools=("python3",))
    assert done.returncode == 0
    unseen = {fact.name: fact.value for fact in facts(packed(collect)) if fact.about == "not seen"}
    assert unseen == dict.fromkeys(("findmnt", "qm", "virsh", "lsblk"), "the program is not here")
    assert "not seen: findmnt (the program is not here)" in done.stderr


def test_without_tools_it_says_so_and_leaves_the_folder(collect):
    done = collect("-s", "guest", str(RESULT))
    assert done.returncode == 0
    assert "not seen: lsblk" in done.stderr
    assert "pack the folder" in done.stderr
    (left,) = collect.folder.iterdir()
    assert sorted(path.relative_to(left).as_posix() for path in left.rglob("*")) == [
        *("guest", "guest/settings.txt", "results", "results/1-sysbench-1.0.txt"),
    ]


@pytest.mark.parametrize("side", ["host", "guest"])
def test_this_machine_tells_its_kernel_and_file_system(tmp_path, side):
    """The output of the real programs is read; which programs there are depends on the machine."""
    done = subprocess.run(
        ["sh", COLLECT_SCRIPT, "-s", side, "-d", str(tmp_path)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.zip")
    members = {member.name.partition("/")[2]: member.data for member in archives.members("a.zip", path.read_bytes())}
    filled = {fact.fills for fact in facts(members)}
    assert f"{side}_kernel" in filled
    assert f"{side}_fs" in filled or shutil.which("findmnt") is None
    assert str(tmp_path).encode() not in b"".join(members.values())


@pytest.mark.parametrize(
    "arguments", [["-s", "elsewhere"], ["-x"], ["-d", "/nowhere"], ["-m", "a;rm -r b"], ["missing.txt"]]
)
def test_what_it_does_not_understand_leaves_nothing(collect, arguments):
    done = collect(*arguments)
    assert (done.returncode, list(collect.folder.iterdir())) == (2, [])
    assert done.stderr


def test_a_program_that_fails_is_not_packed(collect):
    (collect.folder.parent / "bin/lsblk").write_text("#!/bin/sh\necho half\nexit 1\n")
    (collect.folder.parent / "bin/lsblk").chmod(0o755)
    done = collect()
    assert "not seen: lsblk" in done.stderr
    assert not list(collect.folder.rglob("lsblk.json"))


def test_it_is_there_for_everybody(client):
    response = client.get(reverse("collect-script"))
    assert response.content == COLLECT_SCRIPT.read_bytes()
    assert response["Content-Type"] == "text/x-shellscript; charset=utf-8"
