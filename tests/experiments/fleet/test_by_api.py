"""A node of Proxmox VE registered with its API: its certificate accepted, observed, and nothing else done there."""

import logging

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from experiments.campaigns import checks, hosts
from experiments.campaigns.forms import HostForm
from experiments.fleet.driver.proxmox.configuration import parse_configuration
from experiments.models import Host, ObservedDisk, ObservedPool
from kdb.jobs import jobs
from modelling.fleet.moving import manual
from modelling.fleet.moving.plans import PlacementError
from tests import factories
from tests.experiments.fleet.driver.scripted import ScriptedApi
from tests.experiments.fleet.driver.test_proxmox_listing import MAIL, STATS
from tests.experiments.fleet.visits import watch_for
from tests.experiments.laboratory.test_proxmox_api import SECRET, TOKEN

pytestmark = pytest.mark.django_db

QEMU = "/nodes/localhost/qemu"
STORAGE = {"type": "zfspool", "active": 1, "content": "images", "total": 2**40, "avail": 2**40}


@pytest.fixture
def owner() -> User:
    return factories.make_user("operators", username="ada")


@pytest.fixture
def door(tmp_path, settings):
    settings.KDB_KEYS_DIR = tmp_path / "keys"
    settings.KDB_KEYS_DIR.mkdir()
    file = settings.KDB_KEYS_DIR / "pve-1.token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    mail = {"vmid": 100, "name": "mail-1", "status": "running", "pid": 7, "blockstat": {"scsi0": STATS}}
    answers = {
        **{"/version": {"version": "9.1.4"}, QEMU: [mail], f"{QEMU}?full=1": [mail]},
        **{
            f"{QEMU}/100/config?current=1": parse_configuration(100, f"{MAIL}\nagent: 1").now,
            f"{QEMU}/100/snapshot": [],
        },
        f"{QEMU}/100/agent/get-fsinfo": {"result": [{"type": "ext4"}]},
        **{f"/nodes/localhost/{path}": [] for path in ("disks/directory", "storage/slow/content?content=images")},
        **{"/storage": [], "/nodes/localhost/storage": [STORAGE | {"storage": name} for name in ("slow", "fast")]},
    }
    with ScriptedApi(tmp_path, answers) as door:
        yield door


def register(door: ScriptedApi, **options) -> Host:
    words = {"api": True, "port": door.port, "key": "pve-1.token", "owner": "ada", "accept": door.fingerprint}
    call_command("register_host", "pve-1", "127.0.0.1", **words | options)
    return Host.objects.get(slug="pve-1")


def test_a_node_is_registered_by_its_certificate_and_observed(door, owner, capsys, caplog, client):
    caplog.set_level(logging.DEBUG)
    host = register(door)
    printed = capsys.readouterr().out
    assert f"shows the key {door.fingerprint}" in printed
    assert "Registered pve-1: pve-manager/9.1.4, by its API" in printed
    assert (host.drivers, host.host_key) == (["proxmox"], f"certificate {door.fingerprint}")
    assert watch_for(host, 0.1)
    assert {pool.path: pool.backend for pool in ObservedPool.objects.all()} == {"slow": "zvol", "fast": "zvol"}
    disk = ObservedDisk.objects.select_related("machine", "pool").get()
    assert (disk.machine.name, disk.machine.guest_fs, disk.pool.path) == ("mail-1", "ext4", "slow")
    assert disk.counts["writes"] == 7
    client.force_login(owner)
    shown = "".join(
        client.get(place).content.decode()
        for place in ("/laboratory/hosts/pve-1/", "/laboratory/hosts/", "/api/v1/hosts/pve-1/")
    )
    assert door.fingerprint in shown
    kept = "".join(str(vars(row)) for row in (*Host.objects.all(), *jobs.Job.objects.all()))
    assert SECRET not in shown + kept + printed + caplog.text


def test_another_certificate_blocks_the_host_until_it_is_accepted(door, owner):
    host = register(door)
    door.new_certificate()
    asked = len(door.asked)
    assert not watch_for(host, 0.1)
    host.refresh_from_db()
    assert "shows another certificate" in host.blocked_reason
    assert len(door.asked) == asked
    with pytest.raises(hosts.HostError, match="is blocked"):
        hosts.connect(host)
    hosts.request_contact(host)
    assert hosts.wait_for_job(host) == ""
    hosts.accept_key(host, door.fingerprint)
    host.refresh_from_db()
    assert hosts.wait_for_job(host) == ""
    assert watch_for(host, 0.1)


def test_another_fingerprint_than_the_one_that_was_read_is_not_accepted(door, owner):
    with pytest.raises(CommandError, match="offers another key"):
        register(door, accept="AB" + door.fingerprint[2:] if door.fingerprint[:2] != "AB" else "CD")
    assert not Host.objects.exists()


def test_a_token_that_others_may_read_is_not_used(door, owner, settings):
    (settings.KDB_KEYS_DIR / "pve-1.token").chmod(0o644)
    with pytest.raises(CommandError, match="may be read by others"):
        register(door)


def test_what_is_observed_only_is_neither_moved_nor_measured(door, owner, client):
    host = register(door)
    assert watch_for(host, 0.1)
    ObservedPool.objects.update(is_target=True)
    disk = ObservedDisk.objects.select_related("machine__host", "pool").get()
    with pytest.raises(PlacementError, match="reached by Proxmox VE's API, for observation alone"):
        manual.move_disk(disk, ObservedPool.objects.get(path="fast"), user=owner)
    client.force_login(owner)
    pages = [reverse("observed-host", args=["pve-1"]), reverse("observed-machine", args=[disk.machine.pk])]
    shown = "".join(client.get(page).content.decode() for page in pages)
    assert "this node is observed" in shown
    assert reverse("placement-move-disk", args=[disk.machine.pk]) not in shown
    assert reverse("placement-empty-pool", args=[disk.pool.pk]) not in shown
    plan = factories.make_campaign(host, driver="proxmox", guest_file_systems=["ext4"], vm_counts=[1])
    assert checks.problems_of(plan)["host"] == [
        "pve-1 is reached by Proxmox VE's API, for observation alone; a campaign logs in by ssh."
    ]


GIVEN = {
    **{"name": "pve-1", "slug": "pve-1", "address": "192.0.2.20", "port": 8006, "login": "root", "is_by_api": True},
    **{"key_name": "pve-1.token", "laboratory": "local", "drivers": ["proxmox"], "pools": ""},
}


@pytest.mark.parametrize(
    ("change", "field", "why"),
    [
        ({"address": ""}, "address", "an address is needed"),
        ({"key_name": ""}, "key_name", "the file with its token is needed"),
        ({"drivers": ["native", "proxmox"]}, "drivers", "By the API: proxmox; found native, proxmox."),
        ({"pools": "local-lvm storage"}, "pools", "leave it empty"),
        ({"guest_image": "/srv/image"}, "guest_image", "leave it empty"),
        ({"is_by_runner": True}, "is_by_api", "one of both"),
    ],
)
def test_what_does_not_go_with_the_api_is_told_by_the_form(change, field, why):
    assert HostForm(GIVEN, user=None).is_valid()
    form = HostForm(GIVEN | change, user=None)
    assert not form.is_valid()
    assert why in " ".join(form.errors[field])
