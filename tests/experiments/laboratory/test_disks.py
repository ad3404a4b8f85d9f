"""The disks that a campaign may choose, as a real QEMU has them while the run is under way."""

import json

import pytest

from experiments.campaigns import drafts
from experiments.imports import pipeline
from experiments.laboratory.targets import drivers, libvirt
from tests.experiments.laboratory.conftest import registered, said, started, work_off

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SHORT = {
    **{"driver": "libvirt", "engine": "fio", "run_seconds": 2, "disk_mib": 320, "scale_percent": 10},
    **{"vm_ram_mib": 512, "guest_file_systems": ["ext4"], "vm_counts": [1]},
}


@pytest.fixture
def host(qemu_lab, keys, published_evidence):
    keys(qemu_lab)
    return registered(qemu_lab, drivers=["libvirt", "native"], guest_image=str(qemu_lab.image))


@pytest.fixture
def seen(monkeypatch):
    """Record what QEMU, the guest and the host say of the guest just before the benchmark."""
    views: dict = {}

    def look(machines, host):
        (machine,) = machines
        asked = {"execute": "query-block"}
        answer = libvirt.virsh(host, "qemu-monitor-command", machine.domain, json.dumps(asked))
        views["blocks"] = [block["inserted"] for block in json.loads(answer)["return"] if "inserted" in block]
        views["threads"] = libvirt.virsh(host, "qemu-monitor-command", machine.domain, "--hmp", "info iothreads")
        views["pins"] = libvirt.virsh(host, "vcpupin", machine.domain)
        views["xml"] = libvirt.virsh(host, "dumpxml", machine.domain)
        views["mounts"] = machine.area.machine.run(["findmnt", "-n", "-o", "SOURCE", machine.folder]).text.strip()
        return True

    monkeypatch.setattr(drivers, "drop_caches", look)
    return views


def disk_under_test(seen) -> dict:
    """Return the block device of QEMU that is not the root disk."""
    (block,) = [device for device in seen["blocks"] if not device["ro"]]
    return block


def filed(campaign):
    draft, batch = drafts.create_draft(campaign, user=None)
    pipeline.finish(batch)
    assert batch.state == "filed", batch.report
    return draft.configurations.get()


def test_a_qcow2_disk_with_a_thread_of_its_own(host, qemu_lab, seen):
    chosen = {"cache_mode": "writeback", "io_mode": "io_uring", "image_format": "qcow2", "allocation": "metadata"}
    campaign = started(host, **SHORT, **chosen, iothread="yes", discard="ignore", pinned_cpus=[1])
    work_off(campaign)
    run = campaign.runs.get()
    assert run.state == "done", said(run)
    block = disk_under_test(seen)
    assert block["drv"] == "qcow2"
    assert block["cache"] == {"writeback": True, "direct": False, "no-flush": False}
    assert "iothread1" in seen["threads"]
    assert seen["pins"].split()[-1] == "1"
    assert "io='io_uring'" in seen["xml"]
    configuration = filed(campaign)
    assert {name: getattr(configuration, name) for name in chosen} == chosen
    assert (configuration.iothread, configuration.backend) == ("yes", "file")
    assert qemu_lab.left_overs() == []


def test_a_raw_device_in_place_of_a_host_file_system(host, qemu_lab, seen):
    campaign = started(host, **SHORT, host_file_systems=["raw"], io_mode="native", cache_mode="directsync")
    work_off(campaign)
    run = campaign.runs.get()
    assert run.state == "done", said(run)
    block = disk_under_test(seen)
    assert block["file"].startswith("/dev/loop")
    assert block["cache"] == {"writeback": False, "direct": True, "no-flush": False}
    assert "io='native'" in seen["xml"]
    configuration = filed(campaign)
    assert (configuration.host_fs, configuration.backend, configuration.io_mode) == (None, "raw", "native")
    assert configuration.below.startswith("a loop device on a file on ")
    assert qemu_lab.left_overs() == []


@pytest.mark.parametrize(("bus", "iothread", "cache"), [("scsi", "yes", "none"), ("ide", "no", "unsafe")])
def test_disks_on_other_buses_are_found_in_the_guest(host, qemu_lab, seen, bus, iothread, cache):
    fields = {"disk_bus": bus, "iothread": iothread, "cache_mode": cache, "allocation": "sparse", "discard": "unmap"}
    campaign = started(host, **SHORT, **fields)
    work_off(campaign)
    run = campaign.runs.get()
    assert run.state == "done", said(run)
    assert seen["mounts"] == "/dev/sda"
    assert disk_under_test(seen)["cache"]["no-flush"] == (cache == "unsafe")
    assert ("iothread1" in seen["threads"]) == (iothread == "yes")
    assert qemu_lab.left_overs() == []
