"""Both makers of virtual machines, held to their contract, and what is Proxmox VE's own.

libvirt is the real one. Proxmox VE is played by proxmox_programs.py: its answers are those of its sources, and its
machines a real QEMU.
"""

import io
import json
import shutil
from collections.abc import Iterator

import pytest
from django.core.management import call_command

from experiments.campaigns import drafts, hosts, steering
from experiments.campaigns.laboratory import disks, libvirt, proxmox, remote
from experiments.campaigns.laboratory.remote import Area
from experiments.imports import pipeline
from experiments.models import StoragePool
from tests import factories

from . import lab as laboratories
from . import proxmox_programs
from .conformance import Conformance
from .conftest import NO_QEMU, guest_image, registered, said
from .lab import Lab, laboratory

pytestmark = [pytest.mark.server, pytest.mark.slow]


class TestLibvirt(Conformance):
    hypervisor = libvirt

    @pytest.fixture
    def lab(self, qemu_lab):
        return qemu_lab

    def suspend(self, lab, name):
        lab.inside("virsh", "-c", libvirt.URI, "suspend", name)

    def resume(self, lab, name):
        lab.inside("virsh", "-c", libvirt.URI, "resume", name)


class ProxmoxLab(Lab):
    def left_overs(self) -> list[str]:
        machines = [path.name for path in (self.folder / "pve").glob("9*")]
        return [*super().left_overs(), *machines, *self.inside("pgrep", "-a", "qemu-system").splitlines()]

    def machine(self, number: str) -> dict[str, str]:
        return json.loads((self.folder / f"pve/{number}.json").read_text())


@pytest.fixture(scope="module")
def proxmox_lab(pytestconfig) -> Iterator[Lab]:
    """A host with a storage in a folder, a thin one, and one that holds no disks."""
    if NO_QEMU or laboratories.missing(("qemu-img",)):
        pytest.skip(f"no virtual machines: {NO_QEMU or laboratories.missing(('qemu-img',))}")
    image = guest_image(pytestconfig.cache.mkdir("kdb"))
    with laboratory(kind=ProxmoxLab, prepare=_install) as lab:
        lab.image = image
        for name in ("login_key", "login_key.pub"):
            (lab.folder / name).write_bytes((image / name).read_bytes())
        (lab.folder / "keys/lab").write_bytes((image / "login_key").read_bytes())
        yield lab


def _install(lab: Lab) -> None:
    programs, state = lab.folder / "programs", lab.folder / "pve"
    programs.mkdir()
    state.mkdir()
    shutil.copy(proxmox_programs.__file__, programs / "pve.py")
    (programs / "pve.py").chmod(0o755)
    (programs / "state").write_text(str(state))
    for name in ("qm", "pvesh", "pveversion"):
        (programs / name).symlink_to("pve.py")
    room = {"active": 1, "avail": 50 * 2**30}
    storages = {
        "local": room | {"type": "dir", "path": str(state), "content": "iso,images"},
        "local-lvm": room | {"type": "lvmthin", "vgname": "pve", "thinpool": "data", "content": "rootdir,images"},
        "backups": room | {"type": "dir", "path": str(state), "content": "backup"},
        "away": room | {"type": "nfs", "content": "images", "active": 0},
    }
    (state / "storages.json").write_text(json.dumps(storages))


class TestProxmox(Conformance):
    hypervisor = proxmox
    place = "local-lvm"
    host_storage = "lvm-thin"
    options = disks.Options(disk_bus="scsi", iothread="yes", io_mode="io_uring", allocation="sparse")

    @pytest.fixture
    def lab(self, proxmox_lab):
        return proxmox_lab

    def suspend(self, lab, name):
        lab.inside("qm", "suspend", str(proxmox.vmid(name)))

    def resume(self, lab, name):
        lab.inside("qm", "resume", str(proxmox.vmid(name)))

    def test_a_machine_has_a_number_a_name_and_a_tag_of_its_own(self, lab, host):
        with self.made(lab, host, 1234502, number=7) as guest:
            found = lab.machine("901234507")
            assert (found["name"], found["tags"], found["onboot"]) == (guest.name, "kdb", "0")
            assert found["scsi0"].startswith("local-lvm:vm-901234507-disk-0,aio=io_uring,backup=0,cache=none,")

    @pytest.mark.parametrize(
        "taken", [{"name": "mail"}, {"name": "kdb-400-1", "tags": "prod"}, {"name": "x", "tags": "kdb"}]
    )
    def test_the_machines_of_others_are_neither_overwritten_nor_ended(self, lab, host, taken):
        number = str(proxmox.vmid("kdb-400-1"))
        area = Area(host, str(lab.pool), 400)
        area.call("begin")
        theirs = lab.folder / f"pve/{number}.json"
        theirs.write_text(json.dumps(taken))
        try:
            with pytest.raises(remote.Refused, match="is that of somebody's virtual machine"):
                proxmox.start(area, self.guest(lab, area))
            # Even where it was noted, as by a worker that was told the number is free and slept.
            lab.inside("sh", "-c", f"echo '{number} kdb-400-1' >>'{lab.pool}/.kdb/proxmox'")
            area.call("clean")
            assert json.loads(theirs.read_text()) == taken
        finally:
            theirs.unlink()
            area.call("clean")

    def test_a_machine_whose_making_broke_off_is_taken_away(self, lab, host):
        area = Area(host, str(lab.pool), 500)
        area.call("begin")
        trap = lab.folder / "pve/dies-while-creating"
        trap.touch()
        try:
            with pytest.raises(remote.Refused, match="qm create"):
                proxmox.start(area, self.guest(lab, area))
        finally:
            trap.unlink()
        assert lab.machine(str(proxmox.vmid("kdb-500-1"))) == {"lock": "create"}
        area.call("clean")
        assert lab.left_overs() == []

    def test_storages_are_known_by_what_they_are(self, lab, host):
        found = proxmox.storages(host, ["local", "local-lvm", "backups", "away", "nowhere"])
        assert (found["local-lvm"]["file_system"], found["local-lvm"]["free_mib"]) == ("lvm-thin", 50 * 2**10)
        assert found["local"]["file_system"] == lab.inside("stat", "-fc", "%T", str(lab.folder)).strip().replace(
            "ext2/ext3", "ext4"
        )
        why = {name: about["why"] for name, about in found.items() if about.get("is_missing")}
        assert why == {
            "backups": "the storage backups holds no disks of machines (content: images)",
            "away": "the storage away is not active",
            "nowhere": "Proxmox VE has no storage nowhere on this host",
        }


@pytest.mark.django_db(transaction=True)
def test_a_campaign_on_proxmox_ve_is_filed_and_recorded(proxmox_lab, keys, monkeypatch, published_evidence, tmp_path):
    keys(proxmox_lab)
    monkeypatch.setattr(hosts, "PROBE_SECONDS", 1)
    host = registered(proxmox_lab, drivers=["proxmox"])
    storage = StoragePool.objects.create(host=host, path="local-lvm", kind="storage")
    host.guest_image = str(proxmox_lab.image)
    host.save()
    call_command("check_host", host.slug, record=tmp_path / "check.jsonl", stdout=io.StringIO())
    host.refresh_from_db()
    assert host.facts["accelerator"] in ("kvm", "qemu")
    chosen = {"image_format": "raw", "disk_bus": "virtio", "cache_mode": "writeback", "iothread": "yes"}
    campaign = planned(
        host,
        **{"slug": "pve", "driver": "proxmox", "pool": storage, "engine": "fio", "run_seconds": 2, "disk_mib": 320},
        **{"scale_percent": 10, "vm_ram_mib": 512, "host_file_systems": ["lvm-thin"], "guest_file_systems": ["ext4"]},
        **{"vm_counts": [2]} | chosen,
    )
    call_command("run_campaign", "pve", record=tmp_path / "run.jsonl", stdout=io.StringIO())
    campaign.refresh_from_db()
    run = campaign.runs.get()
    assert run.state == "done", said(run)
    draft, batch = drafts.make(campaign, user=None)
    pipeline.finish(batch)
    assert batch.state == "filed", batch.report
    found = draft.configurations.get()
    assert found.hypervisor.slug == ("qemu-tcg" if host.facts["accelerator"] == "qemu" else "proxmox")
    assert found.hypervisor_release.startswith("pve-manager/8.0.3/")
    assert (found.backend, found.host_fs, found.allocation) == ("lvm-thin", None, "sparse")
    assert {name: getattr(found, name) for name in chosen} == chosen
    for name, verbs in (("check", {"create", "start"}), ("run", {"create", "start", "status"})):
        recorded = (tmp_path / f"{name}.jsonl").read_text()
        lines = [json.loads(line) for line in recorded.splitlines()]
        asked = [line["command"] for line in lines if line["machine"] == "host"]
        assert verbs <= {words[5] for words in asked if words[4:5] == ["qm"]}
        assert {line["machine"] for line in lines} == ({"host", "guest"} if name == "run" else {"host"})
        assert "127.0.0.1:" not in recorded.replace("tcp:127.0.0.1:0-:22", "")
        assert (proxmox_lab.folder / "keys/lab").read_text().splitlines()[1] not in recorded
    assert proxmox_lab.left_overs() == []


def planned(host, **fields):
    return steering.create(factories.make_campaign(host, **fields), user=None)
