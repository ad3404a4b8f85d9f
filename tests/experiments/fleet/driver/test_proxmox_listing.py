"""What Proxmox VE answers is read, by its commands and by its API; what it is asked changes nothing."""

import copy
import re
import subprocess
from pathlib import Path

import pytest

from experiments.fleet.driver.contract import ListedPool
from experiments.fleet.driver.proxmox.configuration import owner_of, parse_configuration, size, storage_of
from experiments.fleet.driver.proxmox.listing import GREP, STATISTICS, ProxmoxApiListing, ProxmoxListing
from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Answer, NotAllowed
from tests.experiments.fleet.driver.scripted import ScriptedHost
from tests.experiments.runner import forms

UUID = "6a7b2a3c-0000-4000-8000-000000000100"
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
MAIL = f"name: mail-1\nsmbios1: uuid={UUID}\nscsi0: slow:100/vm-100-disk-0.raw,cache=none,size=8M"
STATS = dict.fromkeys(STATISTICS, 7)
OF_A_STORAGE = {"active": 1, "content": "images,iso", "total": 1000, "avail": 400}
QEMU = "/nodes/localhost/qemu"
THERE = [
    {"storage": "slow", "type": "dir"},
    {"storage": "thin", "type": "lvmthin"},
    {"storage": "isos", "type": "dir", "content": "iso"},
    {"storage": "away", "type": "dir", "active": 0},
    {"storage": "backups", "type": "pbs"},
]
GETS = {
    QEMU: [
        {"vmid": 100, "name": "mail-1", "status": "running", "pid": 7, "blockstat": {"scsi0": STATS, "ide2": {}}},
        {"vmid": 101, "name": "web", "status": "stopped"},
        {"vmid": 102, "name": "of-a-template", "status": "stopped"},
        {"vmid": 901_234_507, "name": "kdb-1234502-7", "status": "running", "blockstat": {"scsi0": STATS}},
    ],
    "/storage": [{"storage": "slow", "path": "/mnt/pve/slow"}, {"storage": "thin", "vgname": "my-vg"}],
    "/nodes/localhost/storage": [OF_A_STORAGE | storage for storage in THERE],
    "/nodes/localhost/storage/slow/content --content images": [
        {"volid": "slow:100/vm-100-disk-0.raw", "format": "raw", "size": 8 * 2**20, "used": 4096},
    ],
    "/nodes/localhost/disks/directory": [{"path": "/mnt/pve/slow", "type": "ext4"}],
}
FILES = {100: MAIL, 101: CONFIGURATION, 102: "name: of-a-template\ntemplate: 1", 901_234_507: "name: kdb-1234502-7"}


@pytest.fixture
def host() -> ScriptedHost:
    answers = {f"pvesh get {path}": copy.deepcopy(answer) for path, answer in GETS.items()}
    lines = [
        f"/etc/pve/qemu-server/{number}.conf:{line}" for number, text in FILES.items() for line in text.split("\n")
    ]
    volume = {"name": "my--vg-vm--100--disk--0", "path": "/dev/mapper/x", "type": "lvm", "rota": False}
    disk = {"name": "nvme0n1", "path": "/dev/nvme0n1", "type": "disk", "rota": False, "children": [volume]}
    mount = {"target": "/mnt/pve/slow", "source": "/dev/mapper/x", "fstype": "ext4", "size": 1000, "avail": 400}
    answers |= {f"pvesh get {QEMU} --full 1": GETS[QEMU], "grep": "\n".join(lines), "realpath": "/mnt/pve/slow\0"}
    answers |= {"findmnt": {"filesystems": [mount]}, "lsblk": {"blockdevices": [disk]}}
    for number, text in FILES.items():  # as its API has them
        conf = parse_configuration(number, text)
        answers[f"pvesh get {QEMU}/{number}/config --current 1"] = conf.now
        answers[f"pvesh get {QEMU}/{number}/snapshot"] = [{"name": name} for name in [*conf.snapshots, "current"]]
        for name, options in conf.snapshots.items():
            answers[f"pvesh get {QEMU}/{number}/config --snapshot {name}"] = options
    return ScriptedHost(answers)


def test_a_configuration_is_read_with_what_waits_and_its_snapshots():
    conf = parse_configuration(101, CONFIGURATION)
    assert (conf.name, conf.has_agent, conf.lock, conf.is_template) == ("web", True, "", False)
    assert list(conf.disks) == ["sata1", "scsi0", "virtio3"]
    disk = conf.disks["scsi0"]
    assert (disk.storage, disk.image_format, disk.size_bytes) == ("slow", "qcow2", 2 * 2**30)
    assert (conf.disks["sata1"].storage, conf.disks["virtio3"].is_linked) == ("", True)
    assert conf.pending == {"delete": "sata1", "memory": "2048"}
    assert conf.snapshots_with(disk.volume) == ["before-update"]
    assert conf.unused == {"unused0": "fast:vm-101-disk-0"}
    assert conf.uuid == parse_configuration(101, "name: b\n").uuid != parse_configuration(102, "name: web\n").uuid
    assert parse_configuration(101, f"smbios1: uuid={UUID.upper()},base64=1\n").uuid == UUID
    assert [size(text) for text in ("32G", "528K", "1.5T", "7", "x")] == [2**35, 528 * 1024, 3 * 2**39, 7, None]
    assert [owner_of(path) for path in ("fast:base-9-disk-0/vm-101-disk-3", "/dev/sdb")] == [101, None]
    assert [storage_of(path) for path in ("fast:vm-101-disk-3", "/dev/a:b")] == ["fast", ""]


@pytest.mark.parametrize(("door", "kind"), [(ProxmoxListing, "nvme"), (ProxmoxApiListing, "")])
def test_machines_disks_and_storages_are_listed_and_nothing_is_changed(host, door, kind):
    listed = door(host).list_all()
    assert listed.pools == (
        ListedPool("slow", "slow", "file", "ext4", kind, 1000, 400),
        ListedPool("thin", "thin", "lvm-thin", "", kind, 1000, 400),
    )
    mail, web = listed.machines
    assert (mail.name, mail.uuid, mail.number, mail.is_running, mail.runs_as) == ("mail-1", UUID, 100, True, "100/7")
    (disk,) = mail.disks
    assert (disk.path, disk.pool, disk.cache_mode, disk.image_format) == (
        *("slow:100/vm-100-disk-0.raw", "slow", "none", "raw"),
    )
    assert (disk.size_bytes, disk.allocated_bytes, disk.allocation) == (8 * 2**20, 4096, "sparse")
    assert {disk.target: disk.has_backing_chain for disk in web.disks} == {
        "sata1": False,
        "scsi0": True,
        "virtio3": True,
    }
    if door is ProxmoxListing:
        assert forms.refused(host.asked, []) == []
    assert {tuple(words[:2]) for words in host.asked if words[0] == "pvesh"} == {("pvesh", "get")}
    assert {words[0] for words in host.asked} <= {"pvesh", "grep", "findmnt", "lsblk", "realpath"}


def test_a_machine_restored_beside_its_original_is_another(host):
    host.answers["grep"] = host.answers["grep"].replace(
        "web", f"web\n/etc/pve/qemu-server/101.conf:smbios1: uuid={UUID}"
    )
    mail, web = ProxmoxListing(host).list_all().machines
    assert mail.uuid == UUID != web.uuid


def test_of_the_machines_files_no_line_is_read_that_is_not_needed(host, tmp_path):
    secrets = "#s3cret\ncipassword: s3cret\ndescription: s3cret\nsshkeys: s3cret\nname: s3cret\nargs: s3cret\n"
    text = f"{secrets}{MAIL}\nagent: 1\n[PENDING]\n{secrets}sata1: slow:x\n[a]\n{secrets}{MAIL}\n"
    (tmp_path / "100.conf").write_text(text)
    found = subprocess.run([*GREP[:-1], f"{tmp_path}/"], capture_output=True, text=True, check=True).stdout
    assert "s3cret" not in found
    host.answers["grep"] = found.replace(str(tmp_path), "/etc/pve/qemu-server")
    mail = next(machine for machine in ProxmoxListing(host).list_all().machines if machine.uuid == UUID)
    assert mail.has_agent
    assert [(disk.target, disk.has_backing_chain) for disk in mail.disks] == [("scsi0", True)]


def test_disks_are_counted_by_one_command_and_machines_of_one_name_told_apart(host):
    host.answers[f"pvesh get {QEMU}"][1]["name"] = "mail-1"
    assert [machine.name for machine in ProxmoxListing(host).list_all().machines] == ["mail-1.100", "mail-1.101"]
    host.asked.clear()
    counted = ProxmoxListing(host).read_counters()
    assert {machine: list(disks) for machine, disks in counted.items()} == {"100/7": ["scsi0"]}
    assert (counted["100/7"]["scsi0"].writes, counted["100/7"]["scsi0"].flush_seconds) == (7, pytest.approx(7e-9))
    assert len(host.asked) == 1


def test_the_agent_tells_the_file_systems_inside_or_why_not(host):
    mail = ProxmoxListing(host).list_all().machines[0]
    place = f"pvesh get {QEMU}/100/agent/get-fsinfo"
    host.answers[place] = {"result": [{"type": "ext4", "mountpoint": "/"}, {"type": "vfat"}, {"type": "ext4"}]}
    assert ProxmoxListing(host).guest_file_systems(mail) == ["ext4"]
    host.answers[place] = Answer(255, b"", "QEMU guest agent is not running")
    with pytest.raises(Refused, match="guest agent is not running"):
        ProxmoxApiListing(host).guest_file_systems(mail)


def test_by_the_api_a_machine_that_goes_meanwhile_is_left_out_and_without_a_right_folders_are_unknown(
    host, monkeypatch
):
    gone = "500 Configuration file 'nodes/pve-1/qemu-server/100.conf' does not exist"
    host.answers[f"pvesh get {QEMU}/100/config --current 1"] = Answer(1, b"", gone)
    assert [machine.name for machine in ProxmoxApiListing(host).list_all().machines] == ["web"]

    def without_rights(arguments, *more):
        if arguments[2] == "/nodes/localhost/disks/directory":
            raise NotAllowed("403 Permission check failed (/, Sys.Audit)")
        return ScriptedHost._run(host, arguments, *more)

    monkeypatch.setattr(host, "_run", without_rights)
    assert [pool.host_fs for pool in ProxmoxApiListing(host).list_all().pools] == ["", ""]


def test_the_sudo_rule_of_the_page_of_observation_has_every_command(host):
    text = re.sub(r"\\([][])", r"\1", Path("docs/observation.md").read_text())  # sudo's own marks
    rules = re.search(r"kdb ALL=\(root\) NOPASSWD: (.*?)\n\n", text, re.S)[1].replace("\\\n", " ").split(",")
    patterns = [re.escape(" ".join(rule.split())).replace(r"\*", ".*") for rule in rules]
    ProxmoxListing(host).list_all()
    ProxmoxListing(host).read_counters()
    for words in host.asked:
        assert any(re.fullmatch(pattern, f"/usr/bin/{' '.join(words)}", re.S) for pattern in patterns), words
