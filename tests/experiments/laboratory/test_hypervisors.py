"""All makers of virtual machines, held to their contract, and what is Proxmox VE's and Xen's own.

libvirt is the real one. Proxmox VE is played by proxmox_programs.py and Xen by xen_programs.py: their answers are those
of the sources, and their machines a real QEMU.
"""

import io
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from django.core.management import call_command

from experiments.campaigns import drafts, hosts, steering
from experiments.imports import pipeline
from experiments.laboratory.places import disks, libvirt, proxmox, xen
from experiments.laboratory.reach import remote
from experiments.laboratory.reach.remote import Area
from experiments.models import StoragePool
from tests import factories
from tests.experiments.laboratory import lab as laboratories
from tests.experiments.laboratory import proxmox_programs, xen_programs
from tests.experiments.laboratory.conformance import Conformance
from tests.experiments.laboratory.conftest import NO_QEMU, guest_image, registered, said, wait_until
from tests.experiments.laboratory.lab import Lab, laboratory

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]


class TestLibvirt(Conformance):
    hypervisor = libvirt
    driver = "libvirt"

    @pytest.fixture
    def lab(self, qemu_lab):
        return qemu_lab

    def suspend(self, lab, name):
        lab.inside("virsh", "-c", libvirt.URI, "suspend", name)

    def resume(self, lab, name):
        lab.inside("virsh", "-c", libvirt.URI, "resume", name)

    def leave(self, lab):
        lab.inside("pkill", "libvirtd")
        wait_until(lambda: not lab.inside("pgrep", "libvirtd"))

    def come_back(self, lab):
        lab.inside("libvirtd", "-d")

    @pytest.mark.parametrize("part", ["pool", "guest-image", "guest-image/initrd"])
    def test_what_who_runs_guests_may_not_reach_is_refused_by_its_name(self, lab, host, part):
        area = Area(host, str(lab.pool), 400)
        area.call("begin")
        barred = lab.folder / part
        rights = barred.stat().st_mode
        barred.chmod(0o700)
        try:
            with pytest.raises(remote.Refused, match=f"machines as libvirt-qemu, who may not .*rights of {barred}$"):
                self.hypervisor.start(area, self.guest(lab, area))
        finally:
            barred.chmod(rights)
            area.call("clean", timeout=60)
        assert lab.left_overs() == []

    def test_the_log_of_a_guest_goes_with_it_and_others_stay(self, lab, host):
        logs = ["sh", "-c", "ls /var/log/libvirt/qemu"]
        # libvirt makes the folder with its first machine.
        lab.inside("sh", "-c", "mkdir -p /var/log/libvirt/qemu && touch /var/log/libvirt/qemu/kdb-100-11.log")
        with self.made(lab, host, 100) as guest:
            assert f"{guest.name}.log" in lab.inside(*logs).split()
        assert lab.inside(*logs).split() == ["kdb-100-11.log"]

    def test_a_machine_of_another_kdb_with_the_same_name_is_neither_taken_nor_ended(self, lab, host):
        xml = "<domain type='qemu'><name>kdb-400-1</name><memory>1</memory><os><type>hvm</type></os></domain>"
        lab.inside("sh", "-c", f'echo "{xml}" | virsh -c {libvirt.URI} define /dev/stdin')
        area = Area(host, str(lab.pool), 400)
        area.call("begin")
        try:
            with pytest.raises(remote.NotNow, match="kdb-400-1 is there already, and is not this campaign's"):
                self.hypervisor.start(area, self.guest(lab, area))
            area.call("clean", timeout=60)
            assert "kdb-400-1" in lab.inside("virsh", "-c", libvirt.URI, "list", "--all", "--name")
        finally:
            lab.inside("virsh", "-c", libvirt.URI, "undefine", "kdb-400-1")
        assert lab.left_overs() == []


class PlayedLab(Lab):
    """Its hypervisor is a program of the tests, which keeps its machines in `state`."""

    def left_overs(self) -> list[str]:
        machines = [path.name for path in self.state.glob("[1-9]*")]
        return [*super().left_overs(), *machines, *self.inside("pgrep", "-a", "qemu-system").splitlines()]

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def machine(self, number: str) -> dict[str, str]:
        return json.loads((self.state / f"{number}.json").read_text())


@contextmanager
def played_lab(pytestconfig, player: ModuleType, *names: str) -> Iterator[PlayedLab]:
    """Give a host with a guest image, where `player` answers to these names."""
    if NO_QEMU or laboratories.missing(("qemu-img",)):
        pytest.skip(f"no virtual machines: {NO_QEMU or laboratories.missing(('qemu-img',))}")
    image = guest_image(pytestconfig.cache.mkdir("kdb"))

    def install(lab: Lab) -> None:
        programs = lab.folder / "programs"
        for folder in (programs, lab.folder / "state"):
            folder.mkdir()
        shutil.copy(player.__file__, programs / "player.py")
        (programs / "player.py").chmod(0o755)
        (programs / "state").write_text(str(lab.folder / "state"))
        for name in names:
            (programs / name).symlink_to("player.py")

    with laboratory(kind=PlayedLab, prepare=install) as lab:
        lab.image = image
        for name in ("login_key", "login_key.pub"):
            (lab.folder / name).write_bytes((image / name).read_bytes())
        (lab.folder / "keys/lab").write_bytes((image / "login_key").read_bytes())
        yield lab


@pytest.fixture(scope="module")
def proxmox_lab(pytestconfig) -> Iterator[Lab]:
    """Give a host with a storage in a folder, a thin one, and one that holds no disks."""
    with played_lab(pytestconfig, proxmox_programs, "qm", "pvesh", "pveversion") as lab:
        room = {"active": 1, "avail": 50 * 2**30}
        storages = {
            "local": room | {"type": "dir", "path": str(lab.state), "content": "iso,images"},
            "local-lvm": room | {"type": "lvmthin", "vgname": "pve", "thinpool": "data", "content": "rootdir,images"},
            "backups": room | {"type": "dir", "path": str(lab.state), "content": "backup"},
            "away": room | {"type": "nfs", "content": "images", "active": 0},
        }
        (lab.state / "storages.json").write_text(json.dumps(storages))
        yield lab


class TestProxmox(Conformance):
    hypervisor = proxmox
    driver = "proxmox"
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

    def leave(self, lab):
        (lab.state / "is-away").touch()

    def come_back(self, lab):
        (lab.state / "is-away").unlink()

    def test_a_machine_has_a_number_a_name_and_a_tag_of_its_own(self, lab, host):
        with self.made(lab, host, 1234502, number=7) as guest:
            config = lab.machine("901234507")
            assert (config["name"], config["tags"], config["onboot"]) == (guest.name, "kdb", "0")
            assert config["scsi0"].startswith("local-lvm:vm-901234507-disk-0,aio=io_uring,backup=0,cache=none,")

    @pytest.mark.parametrize(
        "taken", [{"name": "mail"}, {"name": "kdb-400-1", "tags": "prod"}, {"name": "x", "tags": "kdb"}]
    )
    def test_the_machines_of_others_are_neither_overwritten_nor_ended(self, lab, host, taken):
        number = str(proxmox.vmid("kdb-400-1"))
        area = Area(host, str(lab.pool), 400)
        area.call("begin")
        theirs = lab.state / f"{number}.json"
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
        trap = lab.state / "dies-while-creating"
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
        storages = proxmox.storages(host, ["local", "local-lvm", "backups", "away", "nowhere"])
        assert (storages["local-lvm"]["file_system"], storages["local-lvm"]["free_mib"]) == ("lvm-thin", 50 * 2**10)
        assert storages["local"]["file_system"] == lab.inside("stat", "-fc", "%T", str(lab.folder)).strip().replace(
            "ext2/ext3", "ext4"
        )
        why = {name: about["why"] for name, about in storages.items() if about.get("is_missing")}
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
    configuration = draft.configurations.get()
    assert configuration.hypervisor.slug == ("qemu-tcg" if host.facts["accelerator"] == "qemu" else "proxmox")
    assert configuration.hypervisor_release.startswith("pve-manager/8.0.3/")
    assert (configuration.backend, configuration.host_fs, configuration.allocation) == ("lvm-thin", None, "sparse")
    assert {name: getattr(configuration, name) for name in chosen} == chosen
    for name, verbs in (("check", {"create", "start"}), ("run", {"create", "start", "status"})):
        recorded = (tmp_path / f"{name}.jsonl").read_text()
        lines = [json.loads(line) for line in recorded.splitlines()]
        asked = [line["command"] for line in lines if line["machine"] == "host"]
        assert verbs <= {words[1] for words in asked if words[:1] == ["qm"]}
        assert {line["machine"] for line in lines} == ({"host", "guest"} if name == "run" else {"host"})
        assert "127.0.0.1:" not in recorded.replace("tcp:127.0.0.1:0-:22", "")
        assert (proxmox_lab.folder / "keys/lab").read_text().splitlines()[1] not in recorded
    assert proxmox_lab.left_overs() == []


@pytest.fixture(scope="module")
def xen_lab(pytestconfig) -> Iterator[Lab]:
    """Give a control domain of Xen."""
    if not Path("/dev/net/tun").exists():
        pytest.skip("no interfaces: /dev/net/tun is not there")
    with played_lab(pytestconfig, xen_programs, "xl", "xenstore-write") as lab:
        lab.inside("mount", "-t", "tmpfs", "tmpfs", "/var/log")  # Xen's logs
        yield lab


class TestXen(Conformance):
    hypervisor = xen
    driver = "xen"
    options = disks.Options(cache_mode="none", io_mode="native", disk_bus="xen", iothread="yes")

    @pytest.fixture
    def lab(self, xen_lab):
        return xen_lab

    def suspend(self, lab, name):
        lab.inside("xl", "pause", name)

    def resume(self, lab, name):
        lab.inside("xl", "unpause", name)

    def leave(self, lab):
        (lab.state / "is-away").touch()

    def come_back(self, lab):
        (lab.state / "is-away").unlink()

    def test_a_machine_has_no_other_interface_and_its_logs_go_with_it(self, lab, host):
        with self.made(lab, host, 500) as guest:
            address, port = xen.way_in(host, guest.name)
            interface = address.partition("%")[2]
            assert (address.partition("%")[0], port) == ("fe80::216:3eff:fe6b:6462", 22)
            used = [int(Area(host, str(lab.pool), 500).call("usage")["ours"]) for _ in range(2)]
            assert 0 < used[0] <= used[1]  # its QEMU's
            assert "inet " not in lab.inside("ip", "-oneline", "address", "show", "dev", interface)
            assert lab.inside("ls", "/var/log/xen").split() == ["qemu-dm-kdb-500-1.log", "xl-kdb-500-1.log"]
        assert lab.inside("ls", "/var/log/xen") == ""

    def test_the_machines_of_others_are_neither_overwritten_nor_ended(self, lab, host):
        area = Area(host, str(lab.pool), 600)
        area.call("begin")
        theirs = lab.state / "7.json"
        theirs.write_text(json.dumps({"name": "kdb-600-1", "uuid": "5c4a2f6e-0000-4000-8000-000000000000"}))
        try:
            with pytest.raises(remote.Refused, match='with name "kdb-600-1" already exists'):
                xen.start(area, self.guest(lab, area))
            area.call("clean")
            assert "kdb-600-1" in lab.inside("xl", "vm-list")
        finally:
            theirs.unlink()
            area.call("clean")
        assert lab.left_overs() == []

    def test_a_machine_whose_making_broke_off_is_taken_away(self, lab, host):
        area = Area(host, str(lab.pool), 700)
        area.call("begin")
        trap = lab.state / "dies-while-creating"
        trap.touch()
        try:
            with pytest.raises(remote.Refused, match="does not start"):
                xen.start(area, self.guest(lab, area))
        finally:
            trap.unlink()
        assert "(null)" in lab.inside("xl", "vm-list")
        area.call("clean")
        assert lab.left_overs() == []

    def test_a_machine_that_is_being_made_is_ended_by_a_later_attempt(self, lab, host):
        area = Area(host, str(lab.pool), 800)
        area.call("begin")
        trap = lab.state / "hangs-while-creating"
        trap.touch()
        refused = []

        def start() -> None:
            try:
                xen.start(area, self.guest(lab, area))
            except remote.Refused as error:
                refused.append(str(error))

        worker = threading.Thread(target=start)
        worker.start()
        try:
            wait_until(lambda: "(null)" in lab.inside("xl", "vm-list"))
            Area(host, str(lab.pool), 801).call("begin")
            worker.join(10)
        finally:
            trap.unlink()
        assert refused
        assert "(null)" not in lab.inside("xl", "vm-list")
        Area(host, str(lab.pool), 801).call("clean")
        assert lab.left_overs() == []


@pytest.mark.django_db(transaction=True)
def test_a_campaign_on_xen_is_filed_and_recorded(xen_lab, keys, published_evidence, tmp_path):
    keys(xen_lab)
    host = registered(xen_lab, drivers=["xen"])
    host.guest_image = str(xen_lab.image)
    host.save()
    call_command("check_host", host.slug, record=tmp_path / "check.jsonl", stdout=io.StringIO())
    host.refresh_from_db()
    assert (host.facts["accelerator"], host.facts["xen"]) == ("xen", "4.17.6-pre")
    assert (host.facts["cores"], host.facts["ram_mib"]) == (8, 32_613)
    assert host.hypervisor.slug == "xen"
    chosen = {"image_format": "raw", "disk_bus": "xen", "cache_mode": "none", "iothread": "yes"}
    campaign = planned(
        host,
        **{"slug": "xen", "driver": "xen", "pool": host.pools.get(), "engine": "fio", "run_seconds": 2},
        **{"disk_mib": 320, "scale_percent": 10, "vm_ram_mib": 512, "host_file_systems": ["ext4", "raw"]},
        **{"guest_file_systems": ["ext4"], "vm_counts": [2], "io_mode": "native"} | chosen,
    )
    call_command("run_campaign", "xen", record=tmp_path / "run.jsonl", stdout=io.StringIO())
    assert {run.state for run in campaign.runs.all()} == {"done"}, [said(run) for run in campaign.runs.all()]
    draft, batch = drafts.make(campaign, user=None)
    pipeline.finish(batch)
    assert batch.state == "filed", batch.report
    for configuration in draft.configurations.all():
        assert (configuration.hypervisor.slug, configuration.hypervisor_release, configuration.virtualisation) == (
            "xen",
            "4.17.6-pre",
            "full",
        )
        assert configuration.virtual_devices == "xen-blkfront"
        assert {name: getattr(configuration, name) for name in chosen} == chosen
    said_of = {
        configuration.backend: (configuration.io_mode, configuration.allocation)
        for configuration in draft.configurations.all()
    }
    assert said_of == {"file": ("native", "falloc"), "raw": ("", "")}
    recorded = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert {("start-xen",), ("domid",), ("list",)} <= {
        tuple(words[4:5]) if words[0] == "sh" else tuple(words[1:2]) for words in (line["command"] for line in recorded)
    }
    assert "fe80::216:3eff:fe6b:6462%" not in (tmp_path / "run.jsonl").read_text()
    assert xen_lab.left_overs() == []


def planned(host, **fields):
    return steering.create(factories.make_campaign(host, **fields), user=None)
