"""Requests to Proxmox VE, in its words, and its answers; whose machines are ended."""

import os
import shlex
import shutil
import subprocess

import pytest

from experiments.laboratory.targets import disks, proxmox
from experiments.laboratory.targets.hypervisors import SERIAL, Guest, GuestGone, GuestStopped
from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Area
from experiments.laboratory.transport.ssh import Answer
from tests.experiments.fleet.driver.scripted import FAILED, ScriptedHost

NOWHERE = Area(None, "/srv/kdb", 1234502)
# Options of `qm create` and of disks, as far as KDB uses them: $confdesc of PVE::QemuServer, PVE::QemuServer::Drive.
OPTIONS = {
    *("args", "balloon", "cores", "cpu", "kvm", "memory", "name", "onboot", "ostype", "reboot", "scsihw", "sockets"),
    *("tablet", "tags", "vga", "virtio0", "scsi0"),
}
OF_A_DISK = {*("aio", "backup", "cache", "discard", "format", "iothread", "rerror", "serial", "werror")}
MISSING = Answer(2, b"", "Configuration file 'nodes/pve-1/qemu-server/901234507.conf' does not exist")


def guest(**fields) -> Guest:
    defaults = {"name": "kdb-1234502-7", "number": 7, "image_folder": "/srv/image", "disk": "local-lvm:8"}
    return Guest(
        **defaults | {"console": "/srv/kdb/.kdb/c7", "ram_mib": 512, "vcpus": 2, "accelerator": "kvm"} | fields
    )


def words_of(**fields) -> list[str]:
    return proxmox.creation(guest(**fields))


def options_of(words: list[str]) -> dict[str, str]:
    return dict(zip(words[2::2], words[3::2], strict=True))


def test_numbers_are_from_a_range_of_their_own_and_differ_within_a_run():
    assert proxmox.vmid("kdb-1234502-7") == 901_234_507
    assert proxmox.vmid("kdb-1234503-7") == 901_234_507  # the next attempt, which ends the one before
    assert proxmox.vmid("kdb-1234602-7") == 901_234_607
    assert 900_000_000 <= proxmox.vmid("kdb-99999999999999-99") < 999_999_999
    assert proxmox.vmid("kdb-probe-700") == 900_000_700


@pytest.mark.parametrize("name", ["mail", "kdb-1", "100", "kdb-1-", "kdb-x-1", "kdb-1-100"])
def test_a_machine_of_others_has_no_number_here(name):
    if name == "kdb-1":  # as a name of two parts it could be that of an attempt; its number is still in the range
        assert proxmox.vmid(name) >= proxmox.FIRST_ID
        return
    with pytest.raises(ValueError, match="is no machine of a campaign"):
        proxmox.vmid(name)


def test_a_machine_is_tagged_and_has_only_options_that_proxmox_ve_has():
    words = words_of()
    assert words[:2] == ["create", "901234507"]
    options = options_of(words)
    assert (options["--name"], options["--tags"]) == ("kdb-1234502-7", "kdb")
    assert {name.removeprefix("--") for name in options} <= OPTIONS
    assert (options["--kvm"], options["--cpu"], options["--cores"], options["--memory"]) == ("1", "host", "2", "512")
    assert options_of(words_of(accelerator="qemu"))["--cpu"] == "max"


def test_what_boots_it_goes_to_qemu_as_words_and_never_as_text():
    to_qemu = shlex.split(options_of(words_of(image_folder="/srv/a b;c"))["--args"])
    assert to_qemu[to_qemu.index("-kernel") + 1] == "/srv/a b;c/vmlinuz"
    assert "restrict=on" in to_qemu[to_qemu.index("-netdev") + 1]
    assert to_qemu[to_qemu.index("-serial") + 1] == "file:/srv/kdb/.kdb/c7"


def test_the_disk_is_asked_for_in_the_words_of_proxmox_ve():
    chosen = disks.Options(
        **{"cache_mode": "writeback", "io_mode": "io_uring", "image_format": "qcow2", "allocation": "metadata"},
        **{"disk_bus": "scsi", "iothread": "yes", "discard": "unmap"},
    )
    drive = proxmox.make_disk(NOWHERE, "local", "ext4", 1, 320, chosen)
    volume, *rest = drive.split(",")
    assert volume == "local:0.3125"  # GiB
    about = dict(part.split("=") for part in rest)
    assert about.keys() <= OF_A_DISK
    wanted = {"format": "qcow2", "cache": "writeback", "aio": "io_uring", "discard": "on", "iothread": "1"}
    assert about.items() >= (wanted | {"serial": SERIAL, "werror": "stop", "backup": "0"}).items()
    assert "iothread" not in proxmox.make_disk(NOWHERE, "local", "ext4", 1, 8192, disks.Options())
    assert proxmox.make_disk(NOWHERE, "local", "ext4", 1, 8192, disks.Options()).startswith("local:8,")
    assert options_of(words_of(disk=drive, options=chosen))["--scsi0"] == drive


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"type": "dir"}, {"raw": "sparse", "qcow2": "metadata"}),
        ({"type": "dir", "preallocation": "off"}, {"raw": "sparse", "qcow2": "sparse"}),
        ({"type": "nfs", "preallocation": "full"}, {"raw": "full", "qcow2": "full"}),
        ({"type": "lvmthin"}, {"raw": "sparse"}),
        ({"type": "lvm"}, {"raw": ""}),
        ({"type": "zfspool"}, {"raw": ""}),
        ({"type": "zfspool", "sparse": 1}, {"raw": "sparse"}),
        ({"type": "rbd"}, {"raw": "sparse"}),
    ],
)
def test_allocation_is_as_the_storage_has_it(settings, expected):
    """preallocation_cmd_opt of PVE::Storage::Plugin: metadata where nothing is said, which is off for raw images."""
    assert proxmox.allocations(settings) == expected


def test_a_guest_is_noted_then_created_then_started_and_reached_by_the_port_that_qemu_tells():
    usernet = "Hub -1 (kdbnet):\r\n  TCP[HOST_FORWARD]  14       127.0.0.1 40123        10.0.2.15    22     0     0"
    monitor = "pvesh create /nodes/pve-1/qemu/901234507/monitor --command info usernet"
    host = ScriptedHost({"note-proxmox": "", "qm": "", "uname": "pve-1.lan\n", monitor: usernet})
    proxmox.start(Area(host, "/srv/kdb", 1234502), guest())
    noted, created, started = host.asked
    assert noted[4:] == ["note-proxmox", "/srv/kdb", "1234502", "901234507", "kdb-1234502-7"]
    assert (created, started) == (["qm", *words_of()], ["qm", "start", "901234507"])
    assert proxmox.way_in(host, "kdb-1234502-7") == ("127.0.0.1", 40123)
    host.answers["qm"] = Answer(255, b"", "storage 'local-lvm' does not exist")
    with pytest.raises(remote.Refused, match="qm create: storage 'local-lvm' does not exist"):
        proxmox.start(Area(host, "/srv/kdb", 1234502), guest())


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("status: stopped\n", GuestGone),
        (MISSING, GuestGone),
        ("status: paused\n", GuestStopped),
        ("status: io-error\n", GuestStopped),
        ("status: unheard-of\n", remote.NotNow),
        (FAILED, remote.NotNow),
    ],
)
def test_a_guest_that_stands_still_is_told_from_one_that_is_gone_and_from_silence(answer, kind):
    with pytest.raises(kind):
        proxmox.check_running(ScriptedHost({"qm": answer}), "kdb-1234502-7")
    proxmox.check_running(ScriptedHost({"qm": "status: running\n"}), "kdb-1234502-7")


def test_storages_are_known_by_what_they_are():
    room = {"active": 1, "avail": 50 * 2**30, "content": "iso,images"}
    there = {"local": {"type": "dir"}, "thin": {"type": "lvmthin"}, "odd": {"type": "pbs"}}
    there |= {"backups": {"type": "dir", "content": "backup"}, "away": {"type": "nfs", "active": 0}}
    answers = {"uname": "pve-1\n", "findmnt": "ext4 rw,noatime\n"}
    answers["pvesh get /nodes/pve-1/storage"] = [room | {"storage": name} | about for name, about in there.items()]
    answers |= {f"pvesh get /storage/{name}": about | {"path": "/srv"} for name, about in there.items()}
    facts = proxmox.storages(ScriptedHost(answers), [*there, "nowhere"])
    assert {name: about["file_system"] for name, about in facts.items() if "why" not in about} == {
        **{"local": "ext4", "thin": "lvm-thin"}
    }
    assert (facts["local"]["mount_options"], facts["thin"]["free_mib"]) == ("rw,noatime", 50 * 2**10)
    assert {name: about["why"] for name, about in facts.items() if about.get("is_missing")} == {
        "odd": "a storage of type pbs is none that KDB knows",
        "backups": "the storage backups holds no disks of machines (content: images)",
        "away": "the storage away is not active",
        "nowhere": "Proxmox VE has no storage nowhere on this host",
    }


# remote.sh

QM = """#!/bin/sh
cd {folder}
echo "$*" >>asked
[ ! -e away ] || { echo "ipcc_send_rec[1] failed"; exit 255; }
case $1 in
list) for file in 9*; do echo "  $file $(sed -n 's/^name: //p' "$file") running"; done ;;
config) cat "$2" 2>/dev/null || { echo "Configuration file '$2.conf' does not exist"; exit 2; } ;;
destroy) rm "$2" ;;
esac
"""
NUMBER, OURS = "900000401", "name: kdb-400-1\ntags: kdb\n"


class Host:
    """A folder of machines, one file each, and remote.sh with a `qm` that reads them."""

    def __init__(self, folder) -> None:
        self.folder, self.pool = folder / "machines", folder / "pool"
        self.machine, self.away = self.folder / NUMBER, self.folder / "away"
        for name in ("machines", "pool", "bin"):
            (folder / name).mkdir()
        (folder / "bin/qm").write_text(QM.replace("{folder}", str(self.folder)))
        (folder / "bin/qm").chmod(0o755)
        self.script = remote.SCRIPT.replace("\nPATH=", f"\nPATH={folder}/bin:", 1)

    def call(self, verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        words = ["sh", "-c", self.script, "kdb-remote", verb, str(self.pool), *arguments]
        return subprocess.run(words, capture_output=True, text=True, env=dict(os.environ))


@pytest.fixture
def host(tmp_path) -> Host:
    host = Host(tmp_path)
    assert host.call("begin", "400").stderr == ""
    return host


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "is_ended"),
    [
        (OURS, True),
        ("lock: create\n", True),  # its making broke off
        ("name: mail\ntags: kdb\n", False),
        ("name: kdb-400-1\ntags: prod\n", False),
    ],
)
def test_the_machines_of_others_are_neither_overwritten_nor_ended(host, config, is_ended):
    assert host.call("note-proxmox", "400", NUMBER, "kdb-400-1").returncode == 0
    host.machine.write_text(config)
    assert "is that of somebody's virtual machine" in host.call("note-proxmox", "400", NUMBER, "kdb-400-1").stderr
    host.away.touch()
    assert "does not say" in host.call("clean", "400").stderr
    assert "does not say whether" in host.call("note-proxmox", "400", "900000402", "kdb-400-2").stderr
    host.away.unlink()
    assert host.call("clean", "400").stderr == ""
    assert host.machine.exists() != is_ended
    ended = [line for line in (host.folder / "asked").read_text().splitlines() if line.startswith(("stop", "destroy"))]
    words = f"destroy {NUMBER} --purge 1 --destroy-unreferenced-disks 1"
    assert ended == ([f"stop {NUMBER}", words] if is_ended else [])


@pytest.mark.slow
def test_a_machine_whose_area_was_removed_is_known_by_its_console_and_that_of_another_pool_is_nobodys(host):
    host.machine.write_text(f"{OURS}args: -serial file:{host.pool}/.kdb/console1\n")
    shutil.rmtree(host.pool / ".kdb")
    host.machine.with_name("900000501").write_text("name: kdb-500-1\nargs: -serial file:/srv/kdb/.kdb/console1\n")
    assert host.call("left", "proxmox").stdout.split("\t")[-1].strip() == "virtual machine kdb-400-1"
    assert host.call("clear", "proxmox").returncode == 0
    assert [path.name for path in host.folder.glob("9*")] == ["900000501"]
