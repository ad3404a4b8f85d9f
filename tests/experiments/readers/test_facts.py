"""Readers of what programs say of a machine: typed facts with their place, and none where the program says nothing."""

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
    assert fills("zpool.txt") == []  # which of two pools holds the disk it does not say


@pytest.mark.parametrize(
    ("rows", "layout", "devices"),
    [
        ("  sda", "single", "none"),
        ("  sda\n  sdb", "stripe", "none"),
        ("  mirror-0\n    sda\n    sdb\nlogs\n  sdc", "mirror", "slog"),
        ("  mirror-0\n    sda\n    sdb\n  mirror-1\n    sdc\n    sdd\ncache\n  sde", "striped-mirrors", "cache"),
        ("  raidz2-0\n    sda\n    sdb\nspecial\n  mirror-1\n    sdc\nlogs\n  sdd", "raidz2", "slog-special"),
        ("  draid2:4d:8c:1s-0\n    sda\n    sdb", "draid", "none"),
        ("  raidz1-0\n    sda\n  mirror-1\n    sdb", None, "none"),
    ],
)
def test_one_pool_alone_fills_its_layout_and_devices(rows, layout, devices):
    lines = "".join(
        f"\t{row:<40}ONLINE 0 0 0\n" if row not in ("logs", "cache", "special") else f"\t{row}\n"
        for row in rows.split("\n")
    )
    head = "  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\ttank ONLINE 0 0 0\n"
    text = f"{head}{lines}\nerrors: No known data errors\n"
    filled = {fact.fills: fact.value for fact in read(text.encode()).facts if fact.fills}
    assert filled == {"pool_devices": devices, **({"pool_layout": layout} if layout else {})}


@pytest.mark.parametrize(
    ("controller", "bus", "fills_it"),
    [("virtio-scsi-single", "scsi", True), ("lsi", "lsilogic", True), ("megasas", "scsi", False), ("", "scsi", False)],
)
def test_a_scsi_disk_is_virtio_scsis_where_the_controller_says_so(controller, bus, fills_it):
    text = (DATA / "facts/qm.txt").read_text().replace("scsihw: virtio-scsi-single\n", "")
    text += f"scsihw: {controller}\n" if controller else ""
    buses = [fact for fact in read(text.encode()).facts if fact.name == "bus"]
    assert {(fact.value, fact.fills == "disk_bus") for fact in buses} == {(bus, fills_it)}
    model = {"virtio-scsi-single": "virtio-scsi", "lsi": "lsilogic"}.get(controller, controller)
    xml = (DATA / "facts/virsh.xml").read_text().replace("bus='virtio'", "bus='scsi'")
    xml = xml.replace("</devices>", f"<controller type='scsi' model='{model}'/></devices>" if model else "</devices>")
    buses = [fact for fact in read(xml.encode()).facts if fact.name == "bus"]
    assert {(fact.value, fact.fills == "disk_bus") for fact in buses} == {(bus, fills_it)}


def test_zpool_iostat_is_the_mean_of_its_intervals_for_each_pool():
    figures = values("zpool-iostat-l.txt")
    assert {name: value for (about, name), value in figures.items() if about == "pool tank"} == {
        **{"samples": 2, "reads_per_s": 2.0, "writes_per_s": 2048.0, "read_kib_per_s": 4.0},
        **{"written_kib_per_s": 20480.0, "total_wait_write_ms": 3.0, "disk_wait_write_ms": 0.6},
        **{"syncq_wait_write_ms": 0.02, "asyncq_wait_write_ms": 1.0},
        **{"total_wait_read_ms": 1.0, "disk_wait_read_ms": 0.5},
    }
    assert {about for about, _ in figures} == {"pool tank", "pool rpool"}  # devices are in them
    one = (DATA / "facts/zpool-iostat-l.txt").read_text().split("\n")
    alone = {fact.name: fact.value for fact in read("\n".join(one[:4]).encode()).facts}
    assert (alone["samples"], alone["scrub_wait_ms"]) == ("one, of all the time since import", 0.194)


def test_histograms_of_a_pool_are_told_by_what_most_requests_stayed_below():
    percentiles = values("zpool-iostat-w.txt")
    assert [percentiles["pool tank", f"total_wait_read_p{percent}_at_most_ms"] for percent in (50, 95, 99)] == [
        0.131,
        0.524,
        16.0,
    ]
    assert percentiles["pool tank", "disk_wait_write_p99_at_most_ms"] == 0.524
    by_size = values("zpool-iostat-r.txt")
    assert by_size["pool tank", "sync_write_most_frequent_bytes"] == 16384
    assert by_size["pool tank", "async_write_joined_percent"] == 39.1
    assert ("pool tank", "trim_requests") not in by_size


def test_a_cut_histogram_is_refused():
    text = (DATA / "facts/zpool-iostat-w.txt").read_text()
    (refusal,) = read(text[: text.index("511ns")].encode()).refused
    assert "it is cut" in refusal.reason


SETTINGS = "kdb settings 1, {}\n{}"


def derived(side: str, *lines: str) -> dict[str, str | int]:
    """Return field to value of what settings fill."""
    text = SETTINGS.format(side, "\n".join(line.replace(" ", "\t", 2) for line in lines) + "\n")
    return {fact.fills: fact.value for fact in read(text.encode()).facts if fact.fills}


def test_settings_of_a_machine_are_of_the_side_it_is():
    lines = (
        "machine kernel 6.8.12-4-pve",
        "folder scheduler none",
        "folder file_system xfs",
        "machine zfs_release 2.2.6",
    )
    assert derived("guest", *lines) == {
        **{"guest_kernel": "6.8.12-4-pve", "guest_io_scheduler": "none", "guest_fs": "xfs"},
        "guest_fs_release": "OpenZFS 2.2.6",
    }
    host = derived("host", *lines, "machine qemu_release 9.0.2")
    assert (host["host_fs"], host["compression"], host["hypervisor_release"]) == ("xfs", "off", "QEMU 9.0.2")
    assert derived("host", "machine pve_release 8.2.7", "machine qemu_release 9.0.2") == {
        **{"hypervisor": "proxmox-ve", "hypervisor_release": "Proxmox VE 8.2.7 (QEMU 9.0.2)"},
    }


@pytest.mark.parametrize(
    ("lines", "filled"),
    [
        (["zfs_volblocksize 16384", "zfs_type volume"], {"volume_block_bytes": 16384}),
        (["cluster_bytes 65536", "zfs_recordsize 131072"], {"volume_block_bytes": 65536}),
        (["lvm_segment thin", "lvm_chunk_bytes 65536"], {"volume_block_bytes": 65536, "allocation": "sparse"}),
        (["lvm_segment linear"], {"allocation": "falloc"}),
        (["zfs_type volume", "zfs_refreservation 0"], {"allocation": "sparse"}),
        (["zfs_type volume", "zfs_refreservation 34359738368"], {"allocation": "falloc"}),
        (["zfs_type filesystem", "zfs_refreservation 0"], {}),
        (["image_format raw", "allocated_percent 12"], {"image_format": "raw", "allocation": "sparse"}),
        (["image_format raw", "allocated_percent 100"], {"image_format": "raw"}),
        (["image_format qcow2", "allocated_percent 12"], {"image_format": "qcow2"}),
        (["zfs_compression on"], {"compression": "lz4"}),
        (["zfs_compression zstd-3"], {"compression": "zstd"}),
        (["file_system btrfs", "mount_options rw,compress=zstd:1"], {"compression": "zstd"}),
        (["file_system btrfs", "mount_options rw,ssd"], {"compression": "off"}),
        (["file_system zfs"], {}),
        (["lies_on lvm crypt part disk"], {"encryption": "block"}),
        (["lies_on part disk", "zfs_encryption aes-256-gcm"], {"encryption": "file-system"}),
        (["lies_on part disk", "image_encrypted yes"], {"encryption": "image"}),
        (["lies_on part disk", "transport usb"], {"encryption": "none", "pool_layout": "single"}),
        (
            ["lies_on part disk", "transport usb", "file_system btrfs", "mount_options ssd"],
            {"encryption": "none", "compression": "off"},
        ),
        (["lies_on raid10 disk disk disk disk"], {"encryption": "none", "pool_layout": "striped-mirrors"}),
        (["lies_on part disk part disk"], {"encryption": "none"}),
        (["lies_on part disk", "zfs_type volume"], {"encryption": "none"}),
        (["backing_file yes", "image_snapshots no"], {"snapshot": "overlay"}),
        (["backing_file no", "image_snapshots yes"], {"snapshot": "internal"}),
        (["backing_file no", "image_snapshots no", "zfs_snapshots 2"], {"snapshot": "storage"}),
        (["backing_file no", "image_snapshots no", "zfs_snapshots 0"], {"snapshot": "none"}),
        (["lvm_snapshots 1"], {"snapshot": "storage"}),
        (["disks_rotate 0", "transport nvme"], {"storage_kind": "nvme"}),
        (["disks_rotate 0", "transport sata"], {"storage_kind": "ssd"}),
        (["disks_rotate 1", "transport sas"], {"storage_kind": "hdd"}),
        (["disks_rotate 0 1", "transport sata"], {"storage_kind": "mixed"}),
        (["disks_rotate 1"], {}),  # a virtual disk, or one behind a controller, says that it turns
        (["backend lvm-thin"], {"backend": "lvm-thin"}),
    ],
)
def test_settings_of_the_path_follow_from_what_programs_say(lines, filled):
    settings = derived("host", *(f"scsi0 {line}" for line in lines))
    assert {name: value for name, value in settings.items() if name not in ("host_fs", "host_mount_options")} == filled
    assert not derived("guest", *(f"scsi0 {line}" for line in lines)).keys() & {"encryption", "snapshot", "allocation"}


def test_what_could_not_be_seen_is_a_fact_that_fills_nothing():
    text = SETTINGS.format("host", "not seen\tkernel\tthe program is not here\n")
    assert read(text.encode()).facts == (Fact("not seen", "kernel", "the program is not here", 2),)
    (refusal,) = read(b"kdb settings 1, host\n").refused
    assert "it is cut" in refusal.reason


def test_qm_says_what_each_disk_says_and_no_defaults():
    settings = values("qm.txt")
    assert (settings["machine", "vcpus"], settings["machine", "ram_gib"]) == (8, 8.0)
    assert [name for about, name in settings if about == "scsi0"] == [
        *("storage", "cache_mode", "discard", "iothread", "size", "shown_as_ssd", "bus"),
    ]
    assert (settings["scsi0", "discard"], settings["scsi0", "iothread"], settings["scsi0", "shown_as_ssd"]) == (
        "unmap",
        "yes",
        True,
    )
    assert fills("qm.txt") == [
        *[("vm_ram_gib", 8.0), ("cache_mode", "writeback"), ("discard", "unmap"), ("iothread", "yes")],
        *[("disk_bus", "scsi"), ("image_format", "qcow2"), ("io_mode", "native"), ("cache_mode", "writeback")],
        *[("disk_bus", "scsi"), ("vm_vcpus", 8)],
    ]
    assert not any(about == "ide2" for about, _ in settings)


def test_virsh_says_what_its_disks_say_and_no_names():
    assert fills("virsh.xml") == [
        *[("hypervisor", "kvm"), ("vm_vcpus", 4), ("vm_ram_gib", 8.0)],
        *[("image_format", "qcow2"), ("cache_mode", "none"), ("io_mode", "native"), ("discard", "unmap")],
        ("disk_bus", "virtio"),
        *[("image_format", "raw"), ("cache_mode", "none"), ("disk_bus", "virtio")],
    ]
    assert facts("virsh.xml")["vdb", "image_format"].line == 15
    assert "bench" not in str(values("virsh.xml"))


def test_iostat_is_the_mean_of_its_intervals_without_the_time_before():
    figures = values("iostat.json")
    assert figures["iostat", "intervals"] == 2
    assert (figures["processors", "iowait_percent"], figures["processors", "steal_percent"]) == (15.0, 2.0)
    assert (figures["sda", "busy_percent"], figures["sda", "read_kib_per_s"]) == (70.0, 800.0)


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
