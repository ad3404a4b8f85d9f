"""Moves without a plan: one disk, everything on a pool, by the page, the API and the command."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from modelling.fleet.moving import manual, moves, policies
from modelling.fleet.moving.plans import PlacementError
from modelling.models import PlacementDecision, PlacementMove, PlacementPolicy
from tests.factories import make_machine, make_pool, make_user
from tests.modelling.fleet.moving.fleets import mail_server, moved, observed_host
from tests.modelling.fleet.moving.test_pages import Api

pytestmark = pytest.mark.django_db

GIB = 2**30


@pytest.fixture
def host():
    """A host with a pool on ext4 and a target on XFS; nothing is published."""
    return observed_host(registered_by=make_user("operators", username="ada"))


def pool_of(host, path="/srv/xfs"):
    return host.observed_pools.get(path=path)


def machine_on(host, name, size=GIB, **fields):
    """Make a machine with one disk of that size on the pool on ext4."""
    machine = make_machine(host, name, pool=pool_of(host, "/srv/ext4"), **fields)
    machine.disks.update(size_bytes=size)
    return machine


def asked(host, name="mail-1", pool="/srv/xfs"):
    disk = manual.find_disk(f"kvm-1/{name}")
    return manual.move_disk(disk, pool_of(host, pool), user=host.registered_by)


def test_a_disk_moves_because_its_operator_says_so_whatever_is_published_or_known_of_it(host):
    machine_on(host, "mail-1", guest_fs="")
    move = asked(host)
    move.refresh_from_db()
    assert (move.state, move.plan, move.advice, move.to_pool) == ("copying", None, {}, pool_of(host))
    assert move.job.kind == moves.MOVE_JOB
    decision = PlacementDecision.objects.get(move=move)
    assert (decision.action, decision.actor) == ("confirmed", host.registered_by)
    assert decision.detail == "asked for by hand, by no plan"
    with pytest.raises(PlacementError, match="under way already"):
        asked(host)


@pytest.mark.parametrize(
    ("machine", "disk", "pool", "why"),
    [
        ({"is_pinned": True}, {}, {}, "pinned: let it go first"),
        ({"is_running": False}, {}, {}, "does not run"),
        ({}, {"has_backing_chain": True}, {}, "backing image or a snapshot"),
        ({}, {"size_bytes": 6 * GIB}, {}, r"it takes 6.0.GiB, and /srv/xfs has 5.0.GiB left"),
        ({}, {}, {"is_target": False}, "no target: say first"),
        ({}, {}, {"host_fs": ""}, "no file system"),
        ({}, {"pool": None}, {}, "no pool that is observed"),
    ],
)
def test_what_is_known_to_be_impossible_is_refused_with_the_reason(host, machine, disk, pool, why):
    row = machine_on(host, "mail-1", **machine)
    row.disks.update(**disk)
    host.observed_pools.filter(path="/srv/xfs").update(free_bytes=8 * GIB, reserve_bytes=3 * GIB, **pool)
    with pytest.raises(PlacementError, match=why):
        asked(host)
    assert not PlacementMove.objects.exists()


def test_a_disk_stays_on_its_host_and_does_not_move_to_where_it_lies(host):
    machine_on(host, "mail-1")
    other = observed_host("kvm-2")
    with pytest.raises(PlacementError, match="a pool of another host"):
        manual.move_disk(manual.find_disk("kvm-1/mail-1"), pool_of(other), user=None)
    host.observed_pools.update(is_target=True)
    with pytest.raises(PlacementError, match="lies on /srv/ext4 already"):
        asked(host, pool="/srv/ext4")


def test_a_name_means_the_machine_that_its_host_has_now_and_a_uuid_the_one_that_had_it(host):
    gone = machine_on(host, "mail-1", is_running=False, seen_at=now() - timedelta(minutes=5))
    anew = machine_on(host, "mail-1")
    assert manual.find_disk("kvm-1/mail-1").machine == anew
    assert manual.find_disk("kvm-1/mail-1:vda").machine == anew
    assert manual.find_disk(f"kvm-1/{gone.uuid}:vda").machine == gone
    assert asked(host).machine_uuid == anew.uuid
    with pytest.raises(PlacementError, match="does not run"):
        asked(host, gone.uuid)


def test_what_is_on_its_way_to_a_pool_takes_of_its_room(host):
    host.observed_pools.filter(path="/srv/xfs").update(free_bytes=5 * GIB)
    for name in ("one", "two"):
        machine_on(host, name, 3 * GIB)
    asked(host, "one")
    with pytest.raises(PlacementError, match=r"has 2.0.GiB left"):
        asked(host, "two")


def test_a_pool_is_emptied_the_largest_first_each_to_where_there_is_most_room(host):
    make_pool(host, "/srv/btrfs", is_target=True, free_bytes=10 * GIB)
    host.observed_pools.filter(path="/srv/xfs").update(free_bytes=11 * GIB)
    host.observed_pools.filter(path="/srv/ext4").update(is_target=True)
    for name, size in (("small", 1), ("large", 6), ("middle", 3), ("huge", 40)):
        machine_on(host, name, size * GIB)
    machine_on(host, "pinned", is_pinned=True)
    made, stay = manual.empty_pool(pool_of(host, "/srv/ext4"), user=host.registered_by)
    to = {move.machine_name: move.to_pool.path for move in made}
    assert to == {"large": "/srv/xfs", "middle": "/srv/btrfs", "small": "/srv/btrfs"}
    assert [sentence.split(":")[0] for sentence in stay] == ["kvm-1/huge", "kvm-1/pinned"]
    assert not pool_of(host, "/srv/ext4").is_target
    assert PlacementMove.objects.filter(state="copying").count() == 1


def test_a_pool_that_nothing_can_leave_stays_as_it_was(host):
    host.observed_pools.update(is_target=True)
    machine_on(host, "mail-1", is_running=False)
    for path, why in (("/srv/ext4", "does not run"), ("/srv/xfs", "No disk lies on /srv/xfs")):
        with pytest.raises(PlacementError, match=why):
            manual.empty_pool(pool_of(host, path), user=None)
        assert pool_of(host, path).is_target
    host.observed_pools.exclude(path="/srv/ext4").delete()
    with pytest.raises(PlacementError, match="kvm-1 has no other pool that is a target"):
        manual.empty_pool(pool_of(host, "/srv/ext4"), user=None)


def test_moves_by_hand_at_the_command_line_are_none_of_the_policys(host):
    policy = PlacementPolicy.objects.create(host=host, mode="automatic", most_moves_a_day=1)
    moved(mail_server(host), asked_by=None)
    assert policies.moves_left(policy) == 1


def test_names_are_those_of_plans_and_a_wrong_one_is_told_with_those_there_are(host):
    machine = machine_on(host, "mail-1")
    assert manual.find_disk("kvm-1/mail-1") == manual.find_disk("kvm-1/mail-1:vda")
    disk = machine.disks.get()
    disk.pk, disk.target = None, "vdb"
    disk.save()
    assert manual.find_disk("kvm-1/mail-1:vdb").target == "vdb"
    with pytest.raises(PlacementError, match="there are: kvm-1/mail-1:vda, kvm-1/mail-1:vdb"):
        manual.find_disk("kvm-1/mail-1")
    host.observed_pools.filter(path="/srv/xfs").update(name="fast")
    assert manual.find_pool("kvm-1/fast") == manual.find_pool("kvm-1/srv/xfs")
    for wrong in ("kvm-1/srv/zfs", "kvm-1/", "kvm-1"):
        with pytest.raises(PlacementError, match="there are: kvm-1/srv/ext4, kvm-1/srv/xfs"):
            manual.find_pool(wrong)


@pytest.mark.sqlite
def test_an_operator_moves_a_disk_and_empties_a_pool_in_the_browser(client, host):
    machine, pool = machine_on(host, "mail-1"), pool_of(host, "/srv/ext4")
    machine_on(host, "mail-2")
    client.force_login(host.registered_by)
    move, empty = reverse("placement-move-disk", args=[machine.pk]), reverse("placement-empty-pool", args=[pool.pk])
    assert move in client.get(reverse("observed-machine", args=[machine.pk])).content.decode()
    assert empty in client.get(reverse("observed-host", args=[host.slug])).content.decode()
    assert "/srv/xfs, xfs: room for" in client.get(move).content.decode()
    assert client.post(move, {"disk": "vdz", "pool": pool.pk}).status_code == 422
    page = client.post(move, {"disk": "vda", "pool": pool_of(host).pk}, follow=True).content.decode()
    assert "Being copied" in page
    again = client.post(move, {"disk": "vda", "pool": pool_of(host).pk})
    assert (again.status_code, "under way already" in again.content.decode()) == (422, True)
    page = client.post(empty, {"to": ""}).content.decode()
    assert "1 move asked for." in page
    assert "mail-1, vda: a move waits or is under way already." in page


@pytest.mark.sqlite
def test_only_the_group_of_the_host_moves_its_disks(client, host):
    machine, pool = machine_on(host, "mail-1"), pool_of(host, "/srv/ext4")
    addresses = [reverse("placement-move-disk", args=[machine.pk]), reverse("placement-empty-pool", args=[pool.pk])]
    assert [client.get(address).status_code for address in addresses] == [302, 302]
    client.force_login(make_user("operators"))
    for address in addresses:
        assert client.get(address).status_code == 404
        assert client.post(address, {"disk": "vda", "pool": pool_of(host).pk}).status_code == 404
    host.observed_pools.update(is_target=False)
    client.force_login(host.registered_by)
    assert "may be moved to. Tick" in client.get(addresses[0]).content.decode()


@pytest.mark.sqlite
def test_the_api_moves_a_disk_and_empties_a_pool(client, host):
    machine_on(host, "mail-1")
    machine_on(host, "mail-2")
    ask = Api(client, host.registered_by)
    made = ask("post", "moves/", {"disk": "kvm-1/mail-1", "pool": "kvm-1/srv/xfs"})
    assert (made.status_code, made.json()["plan"], made.json()["state"]) == (201, None, "copying")
    assert made["Location"].endswith(f"/placement/moves/{made.json()['id']}/")
    wrong = ask("post", "moves/", {"disk": "kvm-1/mail-9", "pool": "kvm-1/srv/xfs"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "disk")
    assert ask("post", "moves/", {"disk": "kvm-1/mail-1", "pool": "kvm-1/srv/xfs"}).status_code == 409
    emptied = ask("post", "moves/empty/", {"pool": "kvm-1/srv/ext4", "to": "kvm-1/srv/xfs"})
    assert emptied.status_code == 201
    assert [move["machine_name"] for move in emptied.json()["moves"]] == ["mail-2"]
    assert emptied.json()["stay"] == ["mail-1, vda: a move waits or is under way already."]
    stranger = Api(client, make_user("operators"))
    assert stranger("post", "moves/empty/", {"pool": "kvm-1/srv/ext4"}).status_code == 400
    refused = stranger("post", "moves/", {"disk": "kvm-1/mail-2", "pool": "kvm-1/srv/xfs"})
    assert refused.status_code == 400
    assert "mail-1" not in refused.content.decode()
