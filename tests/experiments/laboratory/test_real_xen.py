"""A real Xen of Debian is a host."""

import io
from collections.abc import Iterator

import pytest
from django.core.management import call_command

from experiments.campaigns import control, drafts
from experiments.imports import pipeline
from experiments.laboratory.benchmarks import bench
from experiments.laboratory.targets import hypervisors
from experiments.laboratory.transport import ssh
from experiments.models import Campaign, Hypervisor
from tests import factories
from tests.experiments.laboratory.conftest import LONG, guest_image, registered, said
from tests.laboratory import xen_host as xen_hosts
from tests.laboratory.xen_host import XenHost

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.server]
SMALL = {"engine": "fio", "run_seconds": 2, "disk_mib": 320, "scale_percent": 10, "host_file_systems": ["ext4"]}


@pytest.fixture(scope="module")
def xen_host(pytestconfig) -> Iterator[XenHost]:
    """Give a control domain with a guest image."""
    if why := xen_hosts.missing():
        pytest.skip(f"no Xen: {why}")
    cache = pytestconfig.cache.mkdir("kdb")
    with xen_hosts.xen_host(cache, image=guest_image(cache)) as host:
        yield host


@pytest.fixture(autouse=True)
def _it_may_be_slow(monkeypatch):
    """Let the host's clock fall behind ours, for it counts instructions (XenHost.start); and guests take their time."""
    monkeypatch.setattr(bench, "CLOCK_SECONDS", float("inf"))
    monkeypatch.setattr(bench, "LATE_SECONDS", LONG)
    monkeypatch.setattr(hypervisors, "BOOT_SECONDS", LONG)
    monkeypatch.setattr(ssh, "CONNECT_SECONDS", 120)


@pytest.mark.timeout(3600)  # Xen and its guest run without acceleration
@pytest.mark.django_db(transaction=True)
def test_a_native_and_a_guest_campaign_are_measured_on_it_and_filed(xen_host, keys, published_evidence):
    keys(xen_host)
    host = registered(xen_host, drivers=["native", "xen"])
    assert host.facts["xen"].startswith("4.17.")
    assert "hvm" in host.facts["xen_caps"]
    host.guest_image = str(xen_host.image)
    host.save()
    call_command("check_host", host.slug, stdout=io.StringIO())
    host.refresh_from_db()
    assert host.facts["accelerator"] == "xen"
    assert host.hypervisor == Hypervisor.objects.get(slug="xen")

    native = control.create(factories.make_campaign(host, slug="dom0", driver="native", **SMALL), user=None)
    configuration = _filed(native)
    assert configuration.virtualisation == "none"
    guests = {"guest_file_systems": ["ext4"], "vm_counts": [1], "vm_ram_mib": 512, "vm_vcpus": 1}
    served = {"disk_bus": "xen", "cache_mode": "writeback", "io_mode": "threads", "iothread": "yes"}
    campaign = factories.make_campaign(host, slug="xen", driver="xen", **SMALL, **guests, **served)
    configuration = _filed(control.create(campaign, user=None))
    assert (configuration.hypervisor.slug, configuration.hypervisor_release) == ("xen", host.facts["xen"])
    assert (configuration.virtualisation, configuration.virtual_devices) == ("full", "xen-blkfront")
    assert xen_host.left_overs() == []


def _filed(campaign: Campaign):
    """Run a campaign of one configuration, file it, and return the configuration."""
    call_command("run_campaign", campaign.slug, stdout=io.StringIO())
    assert {run.state for run in campaign.runs.all()} == {"done"}, [said(run) for run in campaign.runs.all()]
    draft, batch = drafts.create_draft(campaign, user=None)
    pipeline.finish(batch)
    assert batch.state == "filed", batch.report
    return draft.configurations.get()
