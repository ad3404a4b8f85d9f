"""A disk that an operator brings as a guest image: what is taken, what its guests are told, and a campaign on it."""

import json
import os
import shutil
import subprocess
from contextlib import contextmanager, nullcontext
from io import StringIO
from unittest.mock import Mock
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command
from django.utils.timezone import now

from experiments.campaigns import checks, drafts, host_checks, hosts, pages
from experiments.laboratory.images import brought_image, debian, guest_image
from experiments.laboratory.targets import drivers, hypervisors, libvirt, proxmox
from experiments.laboratory.transport import ssh
from experiments.models import CampaignRun
from kdb.jobs import jobs
from tests import factories
from tests.experiments.laboratory import lab as laboratories
from tests.experiments.laboratory.conftest import brought_disk, do, manage, registered, said, started, work_off

needs_tools = pytest.mark.skipif(
    bool(laboratories.missing(brought_image.PROGRAMS)), reason=laboratories.missing(brought_image.PROGRAMS)
)
KEY = "ssh-ed25519 AAAA worker"


def add(disk, folder, tmp_path, **options):
    (tmp_path / "key.pub").write_text(f"{KEY}\n")
    call_command(
        "add_guest_image", str(disk), folder, authorized_key=[tmp_path / "key.pub"], stdout=StringIO(), **options
    )


def disk_of(path, first=b"\xeb\x63", signature=b"\x55\xaa"):
    """Return a raw disk whose boot sector begins and ends so."""
    path.write_bytes(first.ljust(510, b"\0") + signature + bytes(2**20 - 512))
    return path


@pytest.mark.parametrize("text", ["-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n", "# none\n", "ssh-ed25519\n", "\xff"])
def test_only_public_keys_go_into_an_image_and_nothing_else_is_repeated(tmp_path, text):
    good, other = tmp_path / "key.pub", tmp_path / "key"
    good.write_text(f"# of the worker\n{KEY}\n")
    other.write_text(text, encoding="latin-1")
    assert guest_image.public_keys([good]) == [KEY]
    with pytest.raises(debian.BuildError, match=r"key(, line 1: not a public key|.* holds no public key)") as refused:
        guest_image.public_keys([other])
    assert "PRIVATE" not in str(refused.value)


@needs_tools
def test_what_cannot_be_a_guests_disk_is_refused_with_the_way_on(tmp_path):
    whole = disk_of(tmp_path / "whole.raw")
    images = {"vmdk": (), "qcow2": ("-b", whole, "-F", "raw")}
    for kind, words in images.items():
        subprocess.run(["qemu-img", "create", "-q", "-f", kind, *words, tmp_path / f"an.{kind}", "1M"], check=True)
    for disk, why in (
        (tmp_path / "nothing.img", "is no file"),
        (disk_of(tmp_path / "text.raw", b"no disk", b"\0\0"), "has no boot sector"),
        (disk_of(tmp_path / "uefi.raw", b""), "starts by UEFI only"),
        (tmp_path / "an.vmdk", "is vmdk; qcow2 and raw are taken: qemu-img convert"),
        (tmp_path / "an.qcow2", "rests on another file: qemu-img convert"),
    ):
        with pytest.raises(CommandError, match=why):
            add(disk, tmp_path / "image", tmp_path)
    assert not (tmp_path / "image").exists()


def test_building_without_the_tools_says_what_is_needed_and_asks_for_no_root(tmp_path, monkeypatch):
    (tmp_path / "key.pub").write_text(KEY)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))
    for words, lacking in (
        (
            ("build_guest_image", tmp_path / "image"),
            "mmdebstrap, mksquashfs, ssh-keygen, newuidmap; on Debian: mmdebstrap",
        ),
        (
            ("add_guest_image", tmp_path / "disk", tmp_path / "image"),
            "qemu-img, xorrisofs, ssh-keygen; on Debian: qemu",
        ),
    ):
        with pytest.raises(CommandError, match=f"not installed: {lacking}"):
            call_command(*map(str, words), f"--authorized-key={tmp_path / 'key.pub'}")


@needs_tools
def test_the_disk_is_kept_as_it_came_and_the_seed_tells_its_guests_everything(tmp_path):
    disk, folder = disk_of(tmp_path / "ubuntu.img"), tmp_path / "image"
    filebench = tmp_path / "filebench"
    (filebench / "bin").mkdir(parents=True)
    (filebench / "bin/filebench").write_text("a program")
    add(disk, folder, tmp_path, filebench=filebench)
    about = json.loads((folder / "image.json").read_text())
    assert sorted(path.name for path in folder.iterdir()) == ["disk.raw", "image.json", "seed.iso"]
    assert (about["disk"], about["brought"]) == ("disk.raw", "ubuntu.img")
    assert about["sha256"] == {"disk.raw": debian.sha256(disk), "seed.iso": debian.sha256(folder / "seed.iso")}
    label = subprocess.run(["blkid", "-o", "value", "-s", "LABEL", folder / "seed.iso"], capture_output=True, text=True)
    assert label.stdout.strip() == "cidata"
    out = ["xorriso", "-osirrox", "on", "-indev", folder / "seed.iso", "-extract", "/", tmp_path / "seed"]
    subprocess.run(out, check=True, capture_output=True)
    head, _, text = (tmp_path / "seed/user-data").read_text().partition("\n")
    user = json.loads(text)
    assert (head, user["ssh_authorized_keys"], user["users"]) == ("#cloud-config", [KEY], [])
    assert " ".join(user["ssh_keys"]["ed25519_public"].split()[:2]) == about["host_key"]
    (interface,) = json.loads((tmp_path / "seed/network-config").read_text())["config"]
    assert (interface["mac_address"], interface["subnets"][0]["address"]) == (hypervisors.MAC, "10.0.2.15/24")
    assert json.loads((tmp_path / "seed/meta-data").read_text())["local-hostname"] == "guest"
    listed = subprocess.run(["tar", "-tf", tmp_path / "seed/filebench.tar"], capture_output=True, text=True).stdout
    assert f"{filebench}/bin/filebench".lstrip("/") in listed.split()
    assert "usr/local/bin/filebench" in listed.split()
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", disk, tmp_path / "other.qcow2"], check=True)
    with pytest.raises(CommandError, match=r"holds another image \(disk.raw\): name a new folder"):
        add(tmp_path / "other.qcow2", folder, tmp_path)


def test_its_guests_start_from_a_disk_of_their_own_with_the_seed_beside():
    guest = hypervisors.Guest("kdb-7-1", 1, "/srv/image", "/p/disk1", "/p/con", 512, 1, "qemu", root="/p/.kdb/root1")
    domain = ElementTree.fromstring(libvirt.domain_xml(guest))
    assert domain.find("os/kernel") is None
    disks = {disk.find("target").get("dev"): disk for disk in domain.findall("devices/disk")}
    places = {name: disk.find("source").get("file") for name, disk in disks.items()}
    assert places == {"vda": "/p/.kdb/root1", "vdb": "/p/disk1", "vdc": "/srv/image/seed.iso"}
    assert (disks["vda"].find("boot").get("order"), disks["vda"].find("driver").get("type")) == ("1", "qcow2")
    assert [name for name, disk in disks.items() if disk.find("readonly") is not None] == ["vdc"]
    words = " ".join(proxmox.creation(guest))
    assert "-kernel" not in words
    assert "file=/p/.kdb/root1,if=none,id=kdbroot,format=qcow2,cache=unsafe" in words
    assert "bootindex=0" in words
    assert "file=/srv/image/seed.iso,if=none,id=kdbseed,format=raw,readonly=on" in words


@pytest.mark.django_db
def test_what_a_brought_image_lacks_is_said_before_any_run():
    host = factories.make_host()
    host.facts["guest_image"] |= {"packages": {"fio": ""}, "filebench": "", "missing": ["findmnt", "mkfs.xfs", "fio"]}
    host.save()
    plan = {"driver": "libvirt", "guest_file_systems": ["ext4", "xfs"], "vm_counts": [1], "engine": "fio"}
    problems = checks.problems_of(factories.make_campaign(host, **plan))
    assert problems["engine"] == [
        f"The guest image of {host} has no fio: package fio; put it into the disk, and add_guest_image again."
    ]
    assert problems["guest_file_systems"] == [
        f"The guest image of {host} has no mkfs.xfs: package xfsprogs; put it into the disk, and add_guest_image again."
    ]
    assert "has no findmnt: package util-linux" in " ".join(problems["host"])


@pytest.mark.django_db
def test_the_hosts_page_and_the_draft_say_what_the_guests_are():
    host = factories.make_host(checked_at=now())
    host.facts["guest_image"] |= {"distribution": "Ubuntu 24.04.1 LTS", "missing": ["mkfs.btrfs", "filebench"]}
    host.facts["guest_image"] |= {"distribution_id": "ubuntu", "distribution_version": "24.04", "disk": "disk.qcow2"}
    assert dict(pages._facts(host))["Guest image"] == "Ubuntu 24.04.1 LTS, kernel 6.1.0; without mkfs.btrfs, filebench"
    machine = dict.fromkeys(("kernel", "mount_options", "host_mount_options"), "")
    campaign = factories.make_campaign(host, driver="libvirt", guest_file_systems=["xfs"], vm_counts=[1])
    facts = {"machines": [machine], "accelerator": "kvm"}
    run = CampaignRun(campaign=campaign, host_fs="ext4", guest_fs="xfs", facts=facts)
    assert drafts._configuration(campaign, run)["guest_os"] == "ubuntu-24.04"


@pytest.mark.django_db
def test_an_image_that_changed_while_a_run_is_under_way_waits_for_its_end():
    host = factories.make_host()
    host.facts["guest_image"]["sha256"] = {"disk.raw": "1"}
    assert host_checks._tried_before(host, {"sha256": {"disk.raw": "1"}})["guest_image"]["kernel"] == "6.1.0"
    with pytest.raises(hosts.HostError, match="another one by now, and a run is under way"):
        host_checks._tried_before(host, {"sha256": {"disk.raw": "2"}})


@pytest.mark.server
def test_an_image_that_is_not_what_was_made_is_refused(plain_lab, tmp_path):
    lab, folder = plain_lab, tmp_path
    digests = {}
    for name in ("disk.qcow2", "seed.iso"):
        (folder / name).write_text(name)
        digests[name] = debian.sha256(folder / name)
    about = {"disk": "disk.qcow2", "host_key": "k", "sha256": digests}
    (folder / "image.json").write_text(json.dumps(about))
    address = ssh.Address("127.0.0.1", lab.port, "root", lab.host_key, lab.folder / "keys/lab")
    with ssh.Connection(address) as machine:
        assert host_checks._image(machine, str(folder)) == about
        (folder / "disk.qcow2").write_text("half")
        with pytest.raises(hosts.HostError, match=f"{folder}/disk.qcow2: not what was made"):
            host_checks._image(machine, str(folder))
        for broken in ("no JSON", "[]", json.dumps(about | {"disk": "../other"})):
            (folder / "image.json").write_text(broken)
            with pytest.raises(hosts.HostError, match=r"image.json (is not what|names the disk)"):
                host_checks._image(machine, str(folder))


@pytest.mark.server
@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_a_campaign_runs_on_a_disk_that_was_brought(qemu_lab, keys, monkeypatch, pytestconfig):
    """Under software emulation its start takes most of a minute, so it starts once: the check does not wait for it."""
    lab, folder = qemu_lab, qemu_lab.folder / "brought"  # who runs guests must reach it
    if lacking := laboratories.missing(laboratories.BROUGHT_PROGRAMS):
        pytest.skip(f"no disk to bring: {lacking}")
    disk = brought_disk(pytestconfig.cache.mkdir("kdb"))
    digest = debian.sha256(disk)
    manage("add_guest_image", str(disk), str(folder), "--authorized-key", f"{lab.folder}/login_key.pub")
    keys(lab)
    host = registered(lab, drivers=["libvirt"], guest_image=str(lab.image))
    host.guest_image = str(folder)
    host.save()
    with monkeypatch.context() as patch:
        patch.setattr(hypervisors, "wait_ready", lambda *_, **__: None)
        patch.setattr(drivers, "log_in", Mock(side_effect=ssh.KeyChanged("it shows another host key")))
        hosts.request_check(host)
        jobs.run(host.job.pk)
        host.refresh_from_db()
        assert "nobody can log in: it shows another host key" in host.job.error
        assert host.blocked_reason == ""  # the host itself is the one that it was
        patch.setattr(drivers, "log_in", lambda hypervisor, machine, name, key, keep: nullcontext(machine))
        hosts.request_check(host)
        do(host.job)
    host.refresh_from_db()
    image = host.facts["guest_image"]
    assert (image["disk"], image["sha256"]["disk.qcow2"], image["missing"]) == ("disk.qcow2", digest, _lacking_here())
    # As if a guest had been waited for: what its kernel drives, and what really starts guests here.
    host.facts |= {"accelerator": lab.facts["accelerator"], "guest_image": image | {"disk_buses": ["virtio"]}}
    host.save()
    inside = {}

    @contextmanager
    def logged_in(*arguments):
        with log_in(*arguments) as guest:
            inside.update(host_checks._inside(guest))
            yield guest

    log_in = drivers.log_in
    monkeypatch.setattr(drivers, "log_in", logged_in)
    campaign = started(
        host,
        **{"driver": "libvirt", "engine": "fio", "run_seconds": 2, "disk_mib": 320, "scale_percent": 10},
        **{"vm_ram_mib": 512, "guest_file_systems": ["ext4"], "vm_counts": [1]},
    )
    work_off(campaign)
    run = campaign.runs.get()
    assert (run.state, len(run.figures)) == ("done", 1), said(run)
    assert inside["distribution"].startswith("Debian GNU/Linux 12")
    assert (inside["distribution_id"], inside["distribution_version"]) == ("debian", "12")
    assert inside["kernel"] == run.facts["machines"][0]["kernel"]
    assert inside["disk_buses"] == ["virtio", "scsi", "ide", "xen"]  # of Debian's cloud kernel
    assert inside["missing"] == ["mkfs.xfs", "mkfs.btrfs", "filebench"]
    assert inside["packages"]["fio"].startswith("fio-3")
    assert run.facts["guest_image"] == {name: image[name] for name in ("distribution", "sha256")}
    assert debian.sha256(folder / "disk.qcow2") == digest
    assert lab.left_overs() == []


def _lacking_here() -> list[str]:
    return [name for name in host_checks.NEEDED_INSIDE if shutil.which(name) is None]
