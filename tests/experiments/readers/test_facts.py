"""What programs say of a machine: facts with their place, typed, and nothing where the program says nothing."""

from pathlib import Path

import pytest

from experiments.readers import read
from experiments.readers.base import Fact

DATA = Path(__file__).parents[2] / "data"


def facts(name: str) -> dict[tuple[str, str], Fact]:
    reading = read((DATA / "facts" / name).read_bytes())
    assert (reading.runs, reading.refused) == ((), ())
    return {(fact.about, fact.name): fact for fact in reading.facts}


def values(name: str) -> dict[tuple[str, str], str | int | float | bool]:
    return {place: fact.value for place, fact in facts(name).items()}


def fills(name: str) -> list[tuple[str, str | int | float | bool]]:
    return [(fact.fills, fact.value) for fact in facts(name).values() if fact.fills]


def test_lsblk_says_what_disks_are_and_what_lies_on_them():
    assert values("lsblk.json") == {
        ("sda", "size_bytes"): 480103981056,
        ("sda", "kind"): "disk",
        ("sda", "transport"): "sata",
        ("sda", "model"): "EXAMPLE SSD",
        ("sda", "scheduler"): "mq-deadline",
        ("sda", "physical_sector_bytes"): 4096,
        ("sda", "rotational"): False,
        ("sda1", "size_bytes"): 480102932480,
        ("sda1", "kind"): "part",
        ("sda1", "file_system"): "ext4",
        ("sda1", "rotational"): False,
        ("sda1", "mounted_at"): "/srv",
        ("sdb", "size"): "3.6T",
        ("sdb", "kind"): "disk",
        ("sdb", "rotational"): True,
    }
    assert {about: fact.line for (about, _), fact in facts("lsblk.json").items()} == {"sda": 9, "sda1": 21, "sdb": 30}


def test_findmnts_one_file_system_fills_the_form():
    assert fills("findmnt.json") == [("fs", "ext4"), ("mount_options", "rw,noatime")]
    assert values("findmnt.json")["/srv", "source"] == "/dev/sda1"


def test_zpool_says_the_layout_and_what_is_wrong():
    assert values("zpool.txt") == {
        ("pool tank", "state"): "ONLINE",
        ("pool tank", "errors"): "No known data errors",
        ("pool tank", "layout"): "2 x mirror of 2",
        ("pool tank", "logs"): "1 x disk",
        ("pool tank", "spares"): "1 x disk",
        ("pool rpool", "state"): "DEGRADED",
        ("pool rpool", "errors"): "No known data errors",
        ("pool rpool", "layout"): "1 x raidz1 of 3",
    }


def test_qm_says_what_each_disk_says_and_no_defaults():
    said = values("qm.txt")
    assert (said["machine", "vcpus"], said["machine", "ram_gib"]) == (8, 8.0)
    assert [name for about, name in said if about == "scsi0"] == [
        *("storage", "cache_mode", "discard", "iothread", "size", "shown_as_ssd", "bus"),
    ]
    assert (said["scsi0", "discard"], said["scsi0", "iothread"], said["scsi1", "image_format"]) == (True, True, "qcow2")
    assert ("cache_mode", "writeback") in fills("qm.txt")
    assert not any(about == "ide2" for about, _ in said)


def test_virsh_says_what_its_disks_say_and_no_names():
    assert fills("virsh.xml") == [
        *[("hypervisor", "kvm"), ("vm_vcpus", 4), ("vm_ram_gib", 8.0)],
        *[("image_format", "qcow2"), ("cache_mode", "none"), ("disk_bus", "virtio")],
        *[("image_format", "raw"), ("cache_mode", "none"), ("disk_bus", "virtio")],
    ]
    assert facts("virsh.xml")["vdb", "image_format"].line == 15
    assert "bench" not in str(values("virsh.xml"))


def test_iostat_is_the_mean_of_its_intervals_without_the_time_before():
    said = values("iostat.json")
    assert said["iostat", "intervals"] == 2
    assert (said["processors", "iowait_percent"], said["processors", "steal_percent"]) == (15.0, 2.0)
    assert (said["sda", "busy_percent"], said["sda", "read_kib_per_s"]) == (70.0, 800.0)


def test_pidstat_is_read_from_its_averages():
    assert values("pidstat.txt") == {
        ("qemu-system-x86 (1234)", "wait_percent"): 1.5,
        ("qemu-system-x86 (1234)", "cpu_percent"): 15.0,
        ("qemu-system-x86 (1234)", "read_kib_per_s"): 40.0,
        ("qemu-system-x86 (1234)", "written_kib_per_s"): 800.5,
        ("qemu-system-x86 (1234)", "io_delay_ticks"): 7.0,
    }


@pytest.mark.parametrize("name", ["lsblk.json", "findmnt.json", "iostat.json", "virsh.xml"])
def test_what_is_cut_is_refused(name):
    (refusal,) = read((DATA / "facts" / name).read_bytes()[:-30]).refused
    assert "cut, or broken" in refusal.reason


def test_facts_beside_results_in_one_file_are_passed_over_with_a_word():
    reading = read((DATA / "sysbench/sysbench-1.0.txt").read_bytes() + (DATA / "facts/zpool.txt").read_bytes())
    assert reading.runs
    assert reading.refused[-1].reason == "zpool beside sysbench is not read: give it its own file"
