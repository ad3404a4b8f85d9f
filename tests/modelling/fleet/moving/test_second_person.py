"""Where a host's group wants a second person, a move begins once another member approved just that move."""

import pytest
from django.test import Client

from experiments.campaigns import groups
from experiments.models import Host, ObservedDisk
from kdb.jobs import jobs
from kdb.models import Job
from kdb.notifications import subscriptions
from kdb.notifications.models import Delivery
from modelling.fleet.moving import approvals, execution, manual, moves, plans, policies
from modelling.fleet.moving.plans import PlacementError
from modelling.models import PlacementDecision, PlacementMove, PlacementPolicy
from tests.factories import make_token, make_user
from tests.modelling.fleet.moving.fleets import mail_server, numbers_for_xfs, observed_host

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]


@pytest.fixture
def ada():
    return make_user("operators", username="ada")


@pytest.fixture
def bob():
    return make_user("operators", username="bob")


@pytest.fixture
def host(ada, bob):
    host = observed_host(registered_by=ada)
    groups.choose_operators(host, [bob], user=ada)
    PlacementPolicy.objects.create(host=host, second_person=True)
    return host


def asked_for(host: Host, user, name: str = "mail-1") -> PlacementMove:
    move = manual.move_disk(mail_server(host, name).disks.get(), host.observed_pools.get(path="/srv/xfs"), user=user)
    moves.start_next(host.pk)
    return PlacementMove.objects.get(pk=move.pk)


def plan_anew(host: Host, user) -> None:
    numbers_for_xfs()
    assert plans.make_plan([host], user=user).content["machines"]


def state_of(move: PlacementMove) -> str:
    return PlacementMove.objects.get(pk=move.pk).state


def client_of(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_a_move_waits_for_another_member_and_begins_with_the_approval(host, ada, bob):
    move = asked_for(host, ada)
    assert (move.state, moves.why_waiting(move)) == ("waiting", "a second person of the host's group has to approve it")
    moves.approve(move, user=bob)
    move.refresh_from_db()
    assert (move.state, move.approved_by) == ("copying", bob)
    decision = PlacementDecision.objects.first()
    assert (decision.action, decision.actor, decision.move) == ("approved", bob, move)


def test_without_the_setting_a_move_begins_at_once_and_needs_no_approval(host, ada, bob):
    PlacementPolicy.objects.update(second_person=False)
    move = asked_for(host, ada)
    assert move.state == "copying"
    with pytest.raises(PlacementError, match="need no second person"):
        moves.approve(move, user=bob)


def test_whoever_proposed_it_cannot_approve_it_be_they_owner_or_administrator(host, ada):
    ada.is_superuser = True
    ada.save()
    move = asked_for(host, ada)
    with pytest.raises(PlacementError, match="cannot approve"):
        moves.approve(move, user=ada)
    with pytest.raises(PlacementError, match="cannot approve"):
        moves.approve(move, user=None)
    assert state_of(move) == "waiting"


def test_a_move_of_a_policy_is_proposed_by_who_set_the_policy(host, ada, bob):
    policies.set_policy(PlacementPolicy.objects.get(), user=bob)
    move = asked_for(host, None)
    assert approvals.proposer(move) is None
    move.plan = plans.make_plan([host], user=None)
    move.save()
    with pytest.raises(PlacementError, match="cannot approve"):
        moves.approve(move, user=bob)
    moves.approve(move, user=ada)
    assert state_of(move) == "copying"


def test_a_move_that_waits_for_approval_keeps_no_approved_one_back(host, ada, bob):
    first, second = asked_for(host, ada), asked_for(host, ada, "mail-2")
    moves.approve(second, user=bob)
    assert (state_of(first), state_of(second)) == ("waiting", "copying")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda host, bob: ObservedDisk.objects.update(path="/srv/ext4/other.raw"), "the disk lies elsewhere"),
        (lambda host, bob: host.observed_pools.update(is_target=False), "its pool is a target no more, or again"),
        (plan_anew, "a newer plan says otherwise of this disk"),
        (lambda host, bob: host.operators.clear(), "whoever approved it may use the host no more"),
    ],
)
def test_an_approval_lapses_when_what_was_approved_changes(host, ada, bob, change, why):
    Host.objects.update(blocked_reason="for now")
    move = asked_for(host, ada)
    moves.approve(move, user=bob)
    change(host, bob)
    Host.objects.update(blocked_reason="")
    assert moves.start_next(host.pk) is None
    move.refresh_from_db()
    assert (move.state, move.approved_by) == ("waiting", None)
    lapsed = PlacementDecision.objects.get(action="lapsed")
    assert (lapsed.move, lapsed.detail) == (move, why)


def test_a_worker_does_not_begin_a_move_whose_approval_lapsed_since(host, ada, bob, monkeypatch):
    move = asked_for(host, ada)
    moves.approve(move, user=bob)
    ObservedDisk.objects.update(path="/srv/ext4/other.raw")
    monkeypatch.setattr(execution.hosts, "connect", lambda _: pytest.fail("the host was asked"))
    jobs.run(Job.objects.get(kind=moves.MOVE_JOB).pk)
    assert state_of(move) == "waiting"


def test_the_others_of_the_group_are_told_once(host, ada, bob):
    for user in (ada, bob):
        subscriptions.Subscription.objects.create(
            user=user, way="webhook", address="https://x.org/", topics=["machines"], site="https://kdb.example"
        )
    move = asked_for(host, ada)
    asked_for(host, ada, "mail-2")
    delivery = Delivery.objects.get()
    assert (delivery.subscription.user, delivery.path) == (bob, f"/placement/moves/{move.pk}/")


@pytest.mark.parametrize("door", ["page", "api"])
def test_both_doors_let_a_second_member_approve_and_nobody_else(host, ada, bob, door):
    move = asked_for(host, ada)

    def approve(user):
        if door == "page":
            return client_of(user).post(f"/placement/moves/{move.pk}/", {"do": "approve"}).status_code
        key = make_token(user, ("campaign",))
        return (
            Client()
            .post(f"/api/v1/placement/moves/{move.pk}/approve/", headers={"Authorization": f"Bearer {key}"})
            .status_code
        )

    assert ">Approve<" in client_of(bob).get(f"/placement/moves/{move.pk}/").content.decode()
    assert ">Approve<" not in client_of(ada).get(f"/placement/moves/{move.pk}/").content.decode()
    assert approve(make_user("operators")) == 404
    assert approve(make_user("researchers")) in (403, 404)
    assert (approve(ada), state_of(move)) == (409, "waiting")
    assert approve(bob) in (200, 302)
    assert state_of(move) == "copying"


def test_any_member_may_want_a_second_person_and_only_the_owner_ends_that(host, ada, bob):
    address = f"/api/v1/placement/policies/{host.slug}/"
    PlacementPolicy.objects.update(second_person=False)
    for user, is_wanted, status in ((bob, True, 200), (bob, False, 403), (ada, False, 200)):
        answer = client_of(user).put(address, {"second_person": is_wanted}, content_type="application/json")
        assert answer.status_code == status
        assert PlacementPolicy.objects.get().second_person == (is_wanted if status == 200 else not is_wanted)
    assert "second_person False" in PlacementDecision.objects.filter(action="policy").first().detail
