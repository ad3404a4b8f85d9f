"""Requests to Proxmox VE, in its words; the programs that answer are played in test_hypervisors."""

import shlex

import pytest

from experiments.laboratory.places import disks, proxmox
from experiments.laboratory.places.hypervisors import SERIAL, Guest
from experiments.laboratory.reach.remote import Area
from tests.experiments.laboratory import proxmox_programs

NOWHERE = Area(None, "/srv/kdb", 1234502)


def words_of(**fields) -> list[str]:
    defaults = {"name": "kdb-1234502-7", "number": 7, "image_folder": "/srv/image", "disk": "local-lvm:8"}
    return proxmox.creation(
        Guest(**defaults | {"console": "/srv/kdb/.kdb/c7", "ram_mib": 512, "vcpus": 2, "accelerator": "kvm"} | fields)
    )


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
    assert {name.removeprefix("--") for name in options} <= {*proxmox_programs.OPTIONS, "virtio0"}
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
    assert about.keys() <= proxmox_programs.DRIVE
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
