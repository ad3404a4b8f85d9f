"""Each kit is planned by the real planner: by the first way that a host can do, or with the reason why by none."""

import json
from hashlib import sha256

import pytest
from django.test import Client

from experiments.campaigns import control, plans
from experiments.campaigns.kits import definitions, planning
from experiments.models import Campaign
from modelling.guidance.guide_texts import guides
from tests.factories import make_campaign, make_host, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

RUNS = {  # slug to the driver that a host with everything takes, and the runs: options x loads x 3, and a warm-up
    "qcow2-or-raw": ("libvirt", 2 * 2 * 3 + 1),
    "cache-mode": ("libvirt", 4 * 2 * 3 + 1),
    "volume-block-size": ("libvirt", 3 * 2 * 3 + 1),
    "bus-and-iothread": ("libvirt", 2 * 2 * 2 * 3 + 1),
    "io-mode": ("libvirt", 3 * 2 * 3 + 1),
    "discard": ("libvirt", 2 * 2 * 3 + 1),
    "guest-fs-flushed-writes": ("libvirt", 3 * 3 + 1),
    "log-device": ("native", 2 * 2 * 3 + 1),
    "compression": ("native", 3 * 2 * 3 + 1),
    "thin-or-thick": ("libvirt", 3 * 2 * 3 + 1),
}
# Of the plans of each version: whoever changes one gives it a new version, as results of one are counted together.
DIGESTS = {
    "qcow2-or-raw/1": "b7c1b6bb8033",
    "cache-mode/1": "fcb3f746e948",
    "volume-block-size/1": "4fa352148bb1",
    "bus-and-iothread/1": "d75212681186",
    "io-mode/1": "5decef16db06",
    "discard/1": "d1d638a1e6aa",
    "guest-fs-flushed-writes/1": "761e127474b7",
    "log-device/1": "b0842943c111",
    "compression/1": "0873f4dad908",
    "thin-or-thick/1": "5278b386dd11",
}


@pytest.fixture
def host():
    """A host with everything, whose two pools lie on two disks."""
    host = make_host("lab", pools=("/srv/a", "/srv/b"))
    host.facts["limits_memory"] = "yes"
    for path, disk in (("/srv/a", "nvme0n1p2 X 0 1T"), ("/srv/b", "nvme1n1p1 X 0 1T")):
        host.facts["pools"][path]["disk"] = disk
    host.save()
    return host


def prepared(host, slug: str, **options) -> tuple[list[Campaign], planning.KitPlan]:
    return planning.prepare(host, definitions.named(slug), **options)


def test_there_are_ten_kits_on_choices_that_have_guides():
    assert [*definitions.kits()] == [*RUNS]
    assert {slug for kit in definitions.kits().values() for slug in kit.guides} <= guides().keys()


@pytest.mark.parametrize("slug", RUNS)
def test_a_host_with_everything_plans_a_kit_whole(host, slug):
    (campaign,), outline = prepared(host, slug)
    assert (campaign.driver, outline.left_out, outline.campaigns) == (RUNS[slug][0], [], [campaign.slug])
    control.create(campaign, user=None)
    assert campaign.runs.count() == RUNS[slug][1]
    kit = definitions.named(slug)
    way = next(way for way in kit.ways if campaign.driver in way.drivers)
    assert definitions.size(kit, way) == (RUNS[slug][1], outline.seconds)
    assert (campaign.kit, campaign.follows_protocol) == (f"{slug}/{kit.version}", True)
    (short,), brief = prepared(host, slug, short=True)
    assert (short.run_seconds, short.repetitions, short.workloads) == (30, 2, campaign.workloads[:1])
    assert (short.slug, brief.seconds < outline.seconds / 1.9) == (f"{campaign.slug}-2", True)


@pytest.mark.parametrize("slug", RUNS)
def test_a_changed_plan_has_a_new_version(slug):
    kit = definitions.named(slug)
    what = [kit.engine, kit.workloads, kit.repetitions, kit.run_seconds]
    what += [{name: value for name, value in vars(way).items() if name != "held"} for way in kit.ways]
    what += [planning.DISK_MIB, definitions.RAM_MIB, planning.VCPUS]
    digest = sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]
    assert DIGESTS.get(kit.mark) == digest


def test_a_host_without_guests_compares_file_systems_on_itself_and_says_why_not_in_guests(host):
    host.drivers = ["native"]
    (campaign,), outline = prepared(host, "guest-fs-flushed-writes")
    assert (campaign.driver, campaign.host_file_systems) == ("native", ["ext4", "xfs", "btrfs"])
    assert outline.left_out == ["By the driver libvirt; By the driver proxmox: lab is registered for native."]
    assert outline.plans == ["native: ext4, xfs, btrfs × varmail: 10 runs"]
    none, outline = prepared(host, "cache-mode")
    assert (none, outline.plans, outline.seconds) == ([], [], 0)
    assert outline.left_out == ["By the driver libvirt; By the driver proxmox: lab is registered for native."]


def test_one_option_that_cannot_be_done_is_left_out_and_the_rest_compared(host):
    host.facts |= {"running": "QEMU 4.2.1", "missing": [{"program": "mkfs.btrfs"}]}
    (campaign,), outline = prepared(host, "io-mode")
    assert campaign.disk["io_mode"] == ["threads", "native"]
    assert outline.left_out == ["I/O mode io_uring: io_uring needs QEMU 5.0, not 4.2.1."]
    none, outline = prepared(host, "compression")
    assert (none, "lab cannot make btrfs" in " ".join(outline.left_out)) == ([], True)


@pytest.mark.parametrize(
    ("slug", "facts", "words"),
    [
        (
            "compression",
            {"limits_memory": None},
            "cannot limit the memory of a benchmark, so fio writes past the cache",
        ),
        ("log-device", {"disk": "nvme0n1p3 X 0 1T"}, "A journal apart needs a second pool"),
        ("log-device", {"disk": ""}, "A journal apart needs a second pool"),
        ("discard", {"filebench": ""}, "has no filebench"),
    ],
)
def test_what_leaves_nothing_to_compare_is_said(host, slug, facts, words):
    if "limits_memory" in facts:
        del host.facts["limits_memory"]
    host.facts["pools"]["/srv/b"] |= {"disk": facts.get("disk", "sdb 0 1T")}
    host.facts["guest_image"] |= {"filebench": facts.get("filebench", "1.5-alpha3")}
    campaigns, outline = prepared(host, slug)
    assert (campaigns, words in " ".join(outline.left_out)) == ([], True), outline.left_out


def test_a_storage_of_proxmox_ve_is_used_as_it_is():
    host = make_host("pve", pools=("/var/lib/kdb",), drivers=["proxmox"])
    host.pools.create(path="local-lvm", kind="storage")
    about = {"file_system": "lvm-thin", "free_mib": 102_400, "allocation": {"raw": "sparse"}}
    host.facts |= {"pve": "pve-manager/9.0.3"}
    host.facts["pools"]["local-lvm"] = about
    (campaign,), _ = prepared(host, "cache-mode")
    assert (campaign.host_file_systems, campaign.pool.path) == (["lvm-thin"], "local-lvm")
    none, outline = prepared(host, "qcow2-or-raw")
    assert (none, "A disk on local-lvm is raw." in " ".join(outline.left_out)) == ([], True)


def test_options_of_a_machines_own_file_system_are_refused_in_guests_and_others_natively(host):
    guests = {"driver": "libvirt", "guest_file_systems": ["ext4"], "vm_counts": [1], "disk_mib": 4096}
    for fields, disk, name, words in (
        (guests, {"compression": ["off", "zstd"]}, "compression", "Only native campaigns"),
        (guests, {"volume_block_bytes": ["16384"]}, "volume_block_bytes", "A raw image has no clusters"),
        ({}, {"compression": ["zstd"]}, "compression", "KDB compresses on Btrfs that it makes itself, not on ext4"),
        ({"engine": "filebench"}, {"compression": ["off", "zstd"]}, "compression", "Only fio writes data"),
        ({"host_file_systems": ["btrfs"]}, {"pool_devices": ["journal"]}, "pool_devices", "not btrfs's"),
        ({}, {"cache_mode": ["none", "unsafe"]}, "cache_mode", "Only machines that the campaign makes"),
    ):
        campaign = make_campaign(host, **fields)
        campaign.disk |= disk
        with pytest.raises(control.PlanRefused) as refused:
            control.create(campaign, user=None)
        assert words in " ".join(refused.value.problems[name])


def test_a_changed_copy_of_a_kits_campaign_is_not_the_kit(host):
    (campaign,), _ = prepared(host, "compression")
    document = plans.document(campaign)
    assert (document["compression"], "kit" in document) == (["off", "zstd", "lzo"], False)


def test_the_api_plans_a_kit_for_who_may_use_the_host(host):
    owner, other = make_user("operators"), make_user("operators")
    host.registered_by = owner
    host.save()
    client, stranger = Client(), Client()
    client.force_login(owner)
    stranger.force_login(other)

    def post(who: Client, **changes):
        body = {"kit": "io-mode", "host": "lab", "short": True, "pool": "/srv/b"} | changes
        return who.post("/api/v1/campaigns/study/", json.dumps(body), "application/json")

    planned = post(client, dry_run=True)
    assert (planned.status_code, planned.json()["kit"], Campaign.objects.count()) == (200, "io-mode/1", 0)
    assert (post(stranger).status_code, post(stranger).json()["errors"][0]["field"]) == (400, "host")
    assert post(client, host="nowhere").json()["errors"][0]["allowed"] == ["lab"]
    assert post(Client()).status_code == 401
    unknown = post(client, kit="no-such")
    assert (unknown.status_code, unknown.json()["detail"][:43]) == (409, "There is no kit 'no-such'; the kits are qco")
    assert post(client).status_code == 201
    campaign = Campaign.objects.get()
    assert (campaign.owner, campaign.pool.path, campaign.kit) == (owner, "/srv/b", "io-mode/1")
    assert client.get(f"/api/v1/campaigns/{campaign.slug}/").json()["kit"] == "io-mode/1"
    host.drivers = ["native"]
    host.save()
    nothing = post(client)
    assert (nothing.status_code, "lab is registered for native" in nothing.json()["detail"]) == (409, True)
