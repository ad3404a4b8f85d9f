"""Readers of what programs say of a machine: typed facts with their place, and none where the program says nothing."""

from pathlib import Path

import pytest

from experiments.readers import read
from experiments.readers.base import Fact

DATA = Path(__file__).parents[2] / "data"


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


def test_a_single_sample_of_zpool_iostat_is_of_all_the_time_since_import():
    lines = (DATA / "facts/zpool-iostat-l.txt").read_text().split("\n")
    alone = {fact.name: fact.value for fact in read("\n".join(lines[:4]).encode()).facts}
    assert (alone["samples"], alone["scrub_wait_ms"]) == ("one, of all the time since import", 0.194)


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


@pytest.mark.parametrize("name", ["lsblk.json", "findmnt.json", "iostat.json", "virsh.xml"])
def test_what_is_cut_is_refused(name):
    (refusal,) = read((DATA / "facts" / name).read_bytes()[:-30]).refused
    assert "cut, or broken" in refusal.reason


def test_facts_beside_results_in_one_file_are_passed_over_with_a_word():
    reading = read((DATA / "sysbench/sysbench-1.0.txt").read_bytes() + (DATA / "facts/zpool.txt").read_bytes())
    assert reading.runs
    assert reading.refused[-1].reason == "zpool beside sysbench is not read: give it its own file"
