"""Kits run end to end on a real host over a real sshd: planned, run, filed, published, and counted."""

import subprocess

import pytest
from django.test import Client

from experiments.campaigns import control, drafts, hosts, replication
from experiments.campaigns.kits import definitions, planning
from experiments.case_studies import lifecycle
from experiments.imports import pipeline
from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Area
from experiments.models import Benchmark, Campaign, OperatingSystem, Workload
from tests import factories
from tests.experiments.laboratory.conftest import NO_LAB, registered, said, work_off
from tests.experiments.laboratory.lab import laboratory, no_filebench

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# Runs of a second stand for those of half a minute; everything else is the kit's.
SMALL = {"run_seconds": 1, "scale_percent": 10, "disk_mib": 448, "vm_ram_mib": 72}


def run(host, slug: str, **changes) -> Campaign:
    """Plan the short form of a kit, as the API does, and do its runs as a worker would."""
    campaigns, outline = planning.prepare(host, definitions.named(slug), short=True, **SMALL | changes)
    replication.create(campaigns, outline, outline.kit, user=None)
    control.start(campaigns[0])
    work_off(campaigns[0])
    assert {row.state for row in campaigns[0].runs.all()} == {"done"}, [said(row) for row in campaigns[0].runs.all()]
    return campaigns[0]


def publish(campaign: Campaign):
    """File and publish what a campaign measured."""
    for model, slug in (
        (Workload, campaign.workloads[0]),
        (Benchmark, campaign.engine),
        (OperatingSystem, "debian-12"),
    ):
        factories.entry(model, slug)
    draft, batch = drafts.create_draft(campaign, user=None)
    pipeline.finish(batch)
    batch.refresh_from_db()
    assert batch.state == "filed", batch.report
    lifecycle.publish([draft], reason="Run by a test.")
    return draft


def test_a_kit_is_planned_run_filed_and_counted_with_who_ran_it(host, plain_lab):
    host.laboratory = "our-lab"
    host.save()
    campaign = run(host, "guest-fs-flushed-writes")
    assert (campaign.driver, campaign.runs.count()) == ("native", 3 * 2 + 1)
    draft = publish(campaign)
    assert draft.kit == "guest-fs-flushed-writes/1"
    assert "It is the kit guest-fs-flushed-writes/1." in draft.procedure
    report = Client().get("/api/v1/kits/guest-fs-flushed-writes/").json()
    (ran,) = report["runs"]
    assert (ran["case_study"], ran["who"], ran["counts"], ran["run_seconds"]) == (draft.slug, "our-lab", True, 1)
    measured = {pair["first"]: pair["measured"] for pair in report["pairs"] if pair["axis"] == "host-fs"}
    assert measured.keys() == {"xfs", "btrfs"}
    for (row,) in measured.values():
        assert row["who"] == "our-lab"
        assert row["low"] < row["ratio"] < row["high"]
    assert "Run by our-lab." in Client().get("/guides/guest-file-system/").content.decode()
    assert plain_lab.left_overs() == []


@pytest.fixture
def two_pools(keys):
    """Give a host with two pools, and have its check say that they lie on two disks."""
    if NO_LAB:
        pytest.skip(f"no laboratory: {NO_LAB}")
    with laboratory() as lab:
        beside = lab.folder / "beside"
        beside.mkdir()
        keys(lab)
        host = registered(lab, pools=(str(lab.pool), str(beside)))
        for path, disk in ((lab.pool, "sda1 0 1T"), (beside, "sdb1 0 1T")):
            host.facts["pools"][str(path)]["disk"] = disk
        host.save()
        yield host
        assert [*lab.left_overs(), *beside.iterdir()] == []


def test_a_journal_lies_on_its_own_device_and_goes_with_its_area(two_pools):
    paths = [pool.path for pool in two_pools.pools.order_by("pk")]
    with hosts.connect(two_pools) as machine:
        area, beside = (Area(machine, path, 1) for path in paths)
        for kind in ("ext4", "xfs"):
            area.call("begin")
            beside.call("begin")
            device = beside.call("make-volume", "journal", 64, "raw")["path"]
            made = area.call("make-fs", "fs", 400, kind, "off", device)
            assert ("logdev" in made["mount_options"], device in made["mount_options"]) == (kind == "xfs", False)
            holds = subprocess.run(["dumpe2fs", "-h", device], capture_output=True, text=True).stdout
            assert ("Journal users" in holds or "journal_dev" in holds) == (kind == "ext4")
            area.call("clean")
            beside.call("clean")
        area.call("begin")
        for arguments, words in (
            (("btrfs", "off", "/dev/loop0"), "is not a device for a journal"),
            (("ext4", "zstd"), "ext4 with zstd is not a file system that KDB makes"),
        ):
            with pytest.raises(remote.Refused, match=words):
                area.call("make-fs", "fs", 400, *arguments)
        area.call("clean")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("slug", "values"), [("compression", {"off", "zstd", "lzo"}), ("log-device", {"none", "journal"})]
)
def test_the_kits_of_a_machine_itself_run_and_their_options_are_filed(two_pools, slug, values):
    campaign = run(two_pools, slug)
    draft = publish(campaign)
    column = {"compression": "compression", "log-device": "pool_devices"}[slug]
    assert {getattr(row, column) for row in draft.configurations.all()} == values
    machines = {row.disk: row.facts["machines"][0] for row in campaign.runs.all()}
    if slug == "compression":
        assert "compress=lzo" in machines["compression=lzo"]["mount_options"]
        assert all(row.facts["parameters"]["compressible_percent"] == 50 for row in campaign.runs.all())
    else:
        assert "A journal apart has 64 MiB on another disk: sdb1" in draft.procedure
    pairs = Client().get(f"/api/v1/kits/{slug}/").json()["pairs"]
    assert all(pair["measured"] for pair in pairs if pair["workload"] == campaign.workloads[0])


@pytest.mark.nightly
@pytest.mark.parametrize("slug", ["volume-block-size", "discard"])
def test_the_kits_of_guests_run_and_are_counted(qemu_lab, keys, slug):
    keys(qemu_lab)
    host = registered(qemu_lab, drivers=["libvirt"], guest_image=str(qemu_lab.image))
    engine = {"engine": "fio"} if no_filebench() else {}
    campaign = run(host, slug, vm_vcpus=1, vm_ram_mib=512, disk_mib=448, follows_protocol=False, **engine)
    for row in campaign.runs.all():
        passes_on = "discard" in row.facts["machines"][0]["mount_options"].split(",")
        assert passes_on == (row.options.discard == "unmap"), row
    draft = publish(campaign)
    sizes = {configuration.volume_block_bytes for configuration in draft.configurations.all()}
    assert sizes == ({16384, 65536, 2097152} if slug == "volume-block-size" else {None})
    report = Client().get(f"/api/v1/kits/{slug}/").json()
    assert [row["counts"] for row in report["runs"]] == [True]
    if host.facts["accelerator"] == "kvm":  # else it counts only where a question names the emulator
        pairs = [pair for pair in report["pairs"] if pair["workload"] == campaign.workloads[0]]
        assert all(pair["measured"] for pair in pairs), pairs
    assert qemu_lab.left_overs() == []
