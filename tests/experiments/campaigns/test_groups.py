"""The group of a host: who is in it loads it and stops others there, and its owner stops everything."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from experiments.campaigns import control, groups, hosts, nightly, notifications
from experiments.models import Campaign, CampaignRun, Host, HostAuditEntry
from experiments.permissions import campaigns_visible_to, hosts_visible_to, may_change_host, may_steer, may_use_host
from kdb.notifications import announcements, subscriptions
from kdb.notifications.models import Delivery, Topic
from modelling.fleet.moving import manual, moves, policies
from modelling.models import PlacementMove, PlacementPolicy
from tests.factories import make_campaign, make_host, make_user
from tests.modelling.fleet.moving.fleets import mail_server, observed_host

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]


@pytest.fixture
def owner():
    return make_user("operators", username="owner")


@pytest.fixture
def member():
    return make_user("operators", username="member")


@pytest.fixture
def host(owner, member):
    host = observed_host("lab", registered_by=owner, is_observed=True)
    groups.choose_operators(host, [member], user=owner)
    return host


@pytest.fixture
def campaign(host, member):
    """Return a campaign of a member that runs."""
    return running(host, member)


def running(host, user, slug="night"):
    campaign = control.create(make_campaign(host, slug=slug), user=user)
    control.start(campaign)
    return campaign


def client_of(user):
    client = Client()
    client.force_login(user)
    return client


def state_of(campaign):
    return Campaign.objects.get(pk=campaign.pk).state


def test_a_new_host_is_its_owners_alone(owner, member):
    host = hosts.register(Host(slug="new", name="New", address="192.0.2.1"), [], user=owner)
    assert [may_use_host(user, host) for user in (owner, member)] == [True, False]
    nobodys = make_host()
    assert not hosts_visible_to(owner).filter(pk=nobodys.pk).exists()
    assert may_use_host(make_user("administrators"), nobodys)


def test_a_virtual_machine_is_of_the_group_of_the_host_below_it(host, owner, member):
    machine = make_host("vm", runs_on=host, registered_by=member)
    stranger = make_user("operators")
    machine.operators.add(stranger)
    assert [may_use_host(user, machine) for user in (owner, member, stranger)] == [True, True, False]
    assert may_change_host(owner, machine)
    groups.choose_operators(host, [], user=owner)
    assert not may_change_host(member, machine)
    with pytest.raises(hosts.HostError, match="choose that one's"):
        groups.choose_operators(machine, [], user=owner)


def test_only_hosts_of_ones_group_can_be_loaded(host, member):
    plan = {
        "slug": "x",
        "title": "X",
        "host": host.pk,
        "pool": host.pools.get().pk,
        "driver": "native",
        "engine": "fio",
    }
    plan |= {"host_file_systems": ["ext4"], "workloads": ["varmail"], "do": "plan"}
    for user, is_offered in ((member, True), (make_user("operators"), False)):
        form = client_of(user).post("/laboratory/campaigns/new/", plan).context["form"]
        assert (host in form.fields["host"].queryset) == is_offered
        assert ("host" not in form.errors) == ("pool" not in form.errors) == is_offered


@pytest.mark.parametrize("door", ["page", "api"])
def test_the_owner_stops_everything_whoever_began_it(door, host, owner, member, campaign):
    paused, planned = running(host, member, "paused"), control.create(make_campaign(host, slug="planned"), user=owner)
    control.pause(paused)
    nightly_one = running(host, owner, "nightly")
    nightly.schedule(nightly_one, 720)
    machine = mail_server(host)
    move = manual.move_disk(machine.disks.get(), host.observed_pools.get(path="/srv/xfs"), user=member)
    PlacementPolicy.objects.create(host=host, mode="automatic")
    client = client_of(owner)
    if door == "page":
        assert "Stop everything here" in client.get("/laboratory/hosts/lab/").content.decode()
        assert client.post("/laboratory/hosts/lab/", {"do": "stop"}).status_code == 302
    else:
        assert client.post("/api/v1/hosts/lab/stop/").status_code == 200
    assert [state_of(c) for c in (campaign, paused, nightly_one, planned)] == [*3 * ["cancelled"], "planned"]
    assert not Campaign.objects.exclude(nightly_at=None).exists()
    move.refresh_from_db()
    assert move.is_called_off or move.state == "cancelled"
    assert not PlacementMove.objects.filter(state="waiting").exists()
    assert moves.policy_of(host).mode == "off"
    host.refresh_from_db()
    assert not host.is_observed
    assert not CampaignRun.objects.filter(state=CampaignRun.State.WAITING).exclude(campaign=planned).exists()
    entry = HostAuditEntry.objects.latest("pk")
    assert (entry.action, entry.actor) == ("everything stopped", owner)


def test_what_a_member_runs_ends_with_the_membership(host, owner, member, campaign):
    own = running(host, owner, "own")
    page = client_of(owner).post("/laboratory/hosts/lab/", {"do": "operators", "operators": ""})
    assert page.status_code == 302
    assert (state_of(campaign), state_of(own)) == ("cancelled", "running")
    assert not campaigns_visible_to(member).exists()
    assert not may_steer(member, campaign)
    entry = HostAuditEntry.objects.latest("pk")
    assert (entry.action, entry.detail, entry.actor) == ("group", "beside its owner: nobody", owner)


@pytest.mark.parametrize("how", ["left the group", "lost the role", "account is off"])
def test_what_somebody_begins_who_may_use_the_host_no_more_ends_before_its_first_run(how, host, owner, member):
    planned = control.create(make_campaign(host, slug="planned"), user=member)
    disk, pool = mail_server(host).disks.get(), host.observed_pools.get(path="/srv/xfs")
    if how == "left the group":  # between the look at the right and the deed
        groups.choose_operators(host, [], user=owner)
    elif how == "lost the role":
        member.groups.clear()
    else:
        User.objects.filter(pk=member.pk).update(is_active=False)
    member = User.objects.get(pk=member.pk)
    control.start(planned)
    move = manual.move_disk(disk, pool, user=member)
    own = running(host, owner, "own")
    assert (state_of(planned), state_of(own)) == ("cancelled", "running")
    assert set(planned.runs.values_list("state", flat=True)) == {"cancelled"}
    assert own.runs.filter(state="active").count() == 1
    move.refresh_from_db()
    assert move.state == "cancelled"


@pytest.mark.parametrize("how", ["left the group", "lost the role"])
def test_a_policy_ends_with_who_set_it(how, host, owner, member):
    policy = PlacementPolicy(host=host, mode="automatic", removes_kept=True)
    policies.set_policy(policy, user=member)
    policies.run_due()
    assert moves.policy_of(host).mode == "automatic"
    if how == "left the group":
        groups.choose_operators(host, [], user=owner)
    else:
        member.groups.clear()
        policies.run_due()
    policy.refresh_from_db()
    assert (policy.mode, policy.removes_kept) == ("off", False)


def test_a_group_is_of_operators_who_are_there(host, owner, member):
    make_user("researchers", username="ada")
    client = client_of(owner)
    for name in ("ada", "nobody-of-this-name"):
        refused = client.post("/laboratory/hosts/lab/", {"do": "operators", "operators": f"member {name}"})
        assert refused.status_code == 409
        assert f"{name}: there is no operator of this name." in refused.content.decode()
        body = {"operators": ["member", name]}
        assert client.post("/api/v1/hosts/lab/operators/", body, "application/json").status_code == 400
    assert list(host.operators.all()) == [member]
    answer = client.post("/api/v1/hosts/lab/operators/", {"operators": []}, "application/json")
    assert answer.json()["operators"] == []


def test_who_left_the_group_is_not_told_what_was_on_its_way(host, owner, member, campaign):
    subscriptions.add(member, "webhook", "https://x.org/", ["campaign", "machines"], "https://kdb.example.org")
    control.pause_by_itself(campaign.pk, "no space")
    facts = {"host": host.slug}
    about = {"subject": "s", "text": "t", "path": "/", "facts": facts, "users": [member.pk]}
    announcements.announce(Topic.MACHINES, **about)
    waiting = list(Delivery.objects.select_related("subscription__user"))
    assert [notifications.reason_to_withhold(delivery) for delivery in waiting] == ["", ""]
    groups.choose_operators(host, [], user=owner)
    told = "You are not in the group of its host any more, or it is gone."
    assert [notifications.reason_to_withhold(delivery) for delivery in waiting] == [told, told]
