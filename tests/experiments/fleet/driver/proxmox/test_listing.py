"""A node of Proxmox VE is listed and its disks counted, in the words of its API."""

import re
from pathlib import Path

import pytest

from experiments.fleet.driver.contract import ListedPool, Move, NotSure
from experiments.fleet.driver.proxmox import listing
from experiments.fleet.driver.proxmox.configuration import owner_of, parsed, size, storage_of
from experiments.fleet.driver.proxmox.moving import ProxmoxMoving
from experiments.laboratory.reach.remote import Refused
from tests.experiments.fleet.driver.proxmox.node import SIZE, TOTAL, UUID, LocalConnection, Node

pytestmark = pytest.mark.server

CONFIGURATION = """\
#Mail%3A%20scsi0%3A not a disk
agent: enabled=1,fstrim_cloned_disks=1
boot: order=scsi0;ide2
efidisk0: slow:101/vm-101-disk-1.raw,size=528K
ide0: slow:101/vm-101-cloudinit.qcow2,media=cdrom
ide2: none,media=cdrom
name: web
sata1: /dev/disk/by-id/ata-x,size=1T
scsi0: slow:101/vm-101-disk-0.qcow2,cache=writeback,size=2G
scsi2: slow:101/vm-101-disk-2.raw,ro=1,size=2G
unused0: fast:vm-101-disk-0
virtio3: local-zfs:base-9000-disk-0/vm-101-disk-3,size=512M

[PENDING]
delete: sata1
memory: 2048

[before-update]
#a snapshot
scsi0: slow:101/vm-101-disk-0.qcow2,cache=writeback,size=1G

[special:cloudinit]
ciuser: root
"""


@pytest.fixture
def node():
    node = Node()
    yield node
    node.end()


@pytest.fixture
def host(node):
    return LocalConnection(node.root)


def test_a_configuration_is_read_with_what_waits_and_its_snapshots():
    conf = parsed(101, CONFIGURATION)
    assert (conf.name, conf.has_agent, conf.lock, conf.is_template) == ("web", True, "", False)
    assert list(conf.disks) == ["sata1", "scsi0", "virtio3"]
    disk = conf.disks["scsi0"]
    assert (disk.storage, disk.image_format, disk.size_bytes) == ("slow", "qcow2", 2 * 2**30)
    assert (conf.disks["sata1"].storage, conf.disks["virtio3"].is_linked) == ("", True)
    assert conf.pending == {"delete": "sata1", "memory": "2048"}
    assert conf.snapshots_with(disk.volume) == ["before-update"]
    assert conf.unused == {"unused0": "fast:vm-101-disk-0"}


def test_a_machine_keeps_its_identity_where_its_file_states_none():
    first = parsed(101, "name: a\nmeta: creation-qemu=9.0.2,ctime=1700000000\n")
    assert first.uuid == parsed(101, "name: b\nmeta: creation-qemu=9.0.2,ctime=1700000000\n").uuid
    assert first.uuid != parsed(101, "name: a\nmeta: creation-qemu=9.0.2,ctime=1700000001\n").uuid
    assert parsed(101, f"smbios1: uuid={UUID.upper()},base64=1\n").uuid == UUID


@pytest.mark.parametrize(
    ("text", "expected"), [("32G", 2**35), ("528K", 528 * 1024), ("1.5T", 3 * 2**39), ("7", 7), ("", None), ("x", None)]
)
def test_sizes_are_read_in_their_units(text, expected):
    assert size(text) == expected


def test_a_volume_says_its_storage_and_its_machine():
    assert storage_of("local-zfs:base-9000-disk-0/vm-101-disk-3") == "local-zfs"
    assert owner_of("local-zfs:base-9000-disk-0/vm-101-disk-3") == 101
    assert (owner_of("slow:100/vm-100-disk-0.raw"), owner_of("/dev/sdb"), storage_of("/dev/a:b")) == (100, None, "")


def test_machines_disks_and_storages_are_listed(node, host):
    node.write(CONFIGURATION, 101)
    node.write("name: of-a-template\ntemplate: 1\n", 102)
    node.write("name: kdb-1234502-7\n", 901_234_507)
    image = node.place("slow:101/vm-101-disk-0.qcow2")
    image.parent.mkdir(parents=True)
    image.write_bytes(bytes(3 * 2**20))
    listed = listing.listing(host)
    assert [(machine.name, machine.number, machine.is_running) for machine in listed.machines] == [
        ("mail-1", 100, False),
        ("web", 101, False),
    ]
    mail, web = listed.machines
    (disk,) = mail.disks
    assert (disk.path, disk.pool, disk.cache_mode, disk.size_bytes) == (node.first, "slow", "none", SIZE)
    assert (disk.image_format, disk.allocation, disk.has_backing_chain) == ("raw", "sparse", False)
    by_target = {disk.target: disk for disk in web.disks}
    assert list(by_target) == ["sata1", "scsi0", "virtio3"]
    assert by_target["scsi0"].has_backing_chain  # the snapshot
    assert (by_target["scsi0"].size_bytes, by_target["sata1"].pool) == (3 * 2**20, "")
    assert by_target["virtio3"].has_backing_chain
    assert by_target["virtio3"].size_bytes == by_target["virtio3"].allocated_bytes == 512 * 2**20


def test_storages_become_pools_in_the_words_of_the_catalogue(node, host):
    common = {"content": "images", "total": TOTAL}
    more = {
        "thin": common | {"type": "lvmthin", "vgname": "my-vg"},
        "thick": common | {"type": "lvm", "vgname": "other"},
        "ceph": common | {"type": "rbd", "pool": "rbd", "shared": 1},
        "share": common | {"type": "nfs", "path": "/mnt/pve/share", "shared": 1},
        "isos": common | {"type": "dir", "path": "/srv/slow", "content": "iso"},
        "away": common | {"type": "dir", "path": "/srv/slow", "active": 0},
        "backups": common | {"type": "pbs"},
    }
    volume = {"name": "my--vg-vm--100--disk--0", "path": "/dev/mapper/x", "type": "lvm", "rota": False}
    disk = {"name": "nvme0n1", "path": "/dev/nvme0n1", "type": "disk", "rota": False, "children": [volume]}
    mounted = {"target": "/mnt/pve/share", "source": "nas:/x", "fstype": "nfs4", "size": 5, "avail": 3}
    node.keep(storages=node.state["storages"] | more)
    node.keep(lsblk={"blockdevices": [*node.state["lsblk"]["blockdevices"], disk]})
    node.keep(findmnt={"filesystems": [*node.state["findmnt"]["filesystems"], mounted]})
    pools = {pool.path: pool for pool in listing.listing(host).pools}
    assert {name: (pool.backend, pool.host_fs, pool.storage_kind) for name, pool in pools.items()} == {
        "slow": ("file", "ext4", "hdd"),
        "fast": ("zvol", "", ""),
        "thin": ("lvm-thin", "", "nvme"),
        "thick": ("lvm", "", ""),
        "ceph": ("rbd", "", ""),
        "share": ("nfs", "nfs4", ""),
    }
    assert pools["slow"] == ListedPool("slow", "slow", "file", "ext4", "hdd", TOTAL, TOTAL - SIZE)


def test_what_is_not_counted_is_left_out_and_two_machines_of_one_name_are_told_apart(node, host, monkeypatch):
    whole = dict.fromkeys(listing._STATS, 7)
    part = {name: 7 for name in listing._STATS if name != "flush_operations"}
    machines = [
        {"vmid": 100, "name": "a", "status": "running", "blockstat": {"scsi0": whole, "scsi1": part, "ide2": {}}},
        {"vmid": 101, "name": "a", "status": "running"},
        {"vmid": 102, "name": "off", "status": "stopped"},
        {"vmid": 901_234_507, "name": "kdb-1234502-7", "status": "running", "blockstat": {"scsi0": whole}},
    ]
    monkeypatch.setattr(listing, "asked", lambda *words, **how: machines)
    counted = listing.counts(host)
    assert {name: list(disks) for name, disks in counted.items()} == {"a.100": ["scsi0"], "a.101": []}
    counts = counted["a.100"]["scsi0"]
    assert (counts.writes, counts.write_bytes, counts.flushes) == (7, 7, 7)
    assert counts.read_seconds == pytest.approx(7e-9)


def test_a_look_is_one_command_and_every_command_only_reads(node, host):
    listing.counts(host)
    assert len(host.asked) == 1
    listing.listing(host)
    assert {tuple(words[:2]) for words in host.asked if words[0] == "pvesh"} == {("pvesh", "get")}
    assert {words[0] for words in host.asked} == {"pvesh", "grep", "findmnt", "lsblk", "realpath"}


def test_the_rights_that_the_page_of_observation_names_suffice(node):
    """A login that may sudo these commands alone; the stand-in's sudo refuses all others, as sudo does."""
    text = Path("docs/observation.md").read_text()
    allowed = re.search(r"kdb ALL=\(root\) NOPASSWD: (.*?)\n\n", text, re.S)[1].replace("\\\n", " ")
    cases = "".join(f"{' '.join(rule.split()).replace(' ', chr(92) + ' ')}) ;;\n" for rule in allowed.split(","))
    sudo = node.root / "bin/sudo"
    sudo.write_text(
        f'#!/bin/sh\nshift\ncase "/usr/bin/$*" in\n{cases.replace("/etc", f"{node.root}/etc")}'
        '*) echo "sudo: a password is required" >&2; exit 1 ;;\nesac\nexec "$@"\n'
    )
    sudo.chmod(0o755)
    node.keep(agents={"100": [{"type": "ext4"}]})
    host = LocalConnection(node.root, uses_sudo=True)
    (machine,) = listing.listing(host).machines
    assert listing.file_systems_by_agent(host, machine) == ["ext4"]
    assert listing.counts(host) == {}
    with pytest.raises(NotSure, match="password is required"):
        ProxmoxMoving(host).runs_from(Move("t1", machine.uuid, "scsi0", node.first, "fast:"))


def test_the_agent_tells_the_file_systems_inside_or_that_it_does_not_run(node, host):
    (machine,) = listing.listing(host).machines
    with pytest.raises(Refused, match="guest agent is not running"):
        listing.file_systems_by_agent(host, machine)
    node.keep(agents={"100": [{"type": "ext4", "mountpoint": "/"}, {"type": "vfat"}, {"type": "ext4"}]})
    assert listing.file_systems_by_agent(host, machine) == ["ext4"]


def test_a_program_that_ends_with_the_status_of_ssh_is_not_taken_for_a_host_that_is_away(node, host):
    node.fault(pmxcfs_is_away=True)
    with pytest.raises(Refused, match="ipcc_send_rec"):
        listing.counts(host)
