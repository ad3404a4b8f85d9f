"""From observed machines to a plan, to moves in their order, and what may be done about them."""

from datetime import UTC, datetime, time, timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from experiments.campaigns import control
from experiments.fleet.driver.contract import Image
from experiments.models import Host, ObservedMachine
from kdb.models import Job
from kdb.notifications import subscriptions
from kdb.notifications.models import Delivery
from modelling.fleet.moving import comparison, execution, moves, notifications, outcomes, plans, policies
from modelling.fleet.moving.observed_fleet import new_path
from modelling.fleet.moving.plans import PlacementError
from modelling.fleet.placement.selectors import Rules
from modelling.models import Laboratory, PlacementDecision, PlacementMove, PlacementPlan, PlacementPolicy
from tests.factories import make_campaign, make_machine, make_minutes, make_pool, make_run, make_user
from tests.modelling.fleet.moving.fleets import mail_server, moved, numbers_for_xfs, observed_host

pytestmark = pytest.mark.django_db


@pytest.fixture
def host():
    numbers_for_xfs()
    return observed_host(registered_by=make_user("operators", username="ada"))


def plan_of(host, **fields) -> PlacementPlan:
    return plans.make_plan([host], user=host.registered_by, **fields)


def advised(plan) -> dict:
    return {advice["machine"]: advice for advice in plan.content["machines"]}


def test_a_machine_moves_to_the_pool_that_the_numbers_praise_and_everything_is_told(host):
    mail_server(host)
    plan = plan_of(host)
    advice = advised(plan)["kvm-1/mail-1"]
    assert (advice["here"], advice["pool"]) == ("kvm-1/srv/ext4", "kvm-1/srv/xfs")
    assert 2.0 < advice["prospect"]["ratio"] < 3.2
    assert advice["prospect"]["laboratories"] == 6
    assert "workload=varmail" in advice["links"][0]["address"]
    assert "a=ext4-on-xfs&b=ext4-on-ext4" in advice["links"][1]["address"]
    assert (plan.revision, plan.model[:8]) == (6, "ranking ")
    decision = PlacementDecision.objects.get(plan=plan)
    assert (decision.action, decision.actor, decision.revision) == ("planned", host.registered_by, 6)


def test_what_is_not_known_is_not_planned_for_and_told(host):
    mail_server(host, "asleep", is_running=False)
    mail_server(host, "unknown-fs", guest_fs="", guest_fs_source="")
    ext4 = host.observed_pools.get(path="/srv/ext4")
    known = {"guest_fs": "ext4", "guest_fs_source": "operator", "pool": ext4}
    make_machine(host, "unwatched", **known)
    make_minutes(make_machine(host, "unlike", **known), 5)
    make_machine(host, "odd-guest", **known | {"guest_fs": "f2fs"})
    make_machine(host, "odd-pool", **known | {"pool": make_pool(host, "/srv/f2fs")})
    make_machine(host, "gone", seen_at=now() - timedelta(days=1), **known)
    plan = plan_of(host)
    told = {entry["machine"]: entry["why"] for entry in plan.content["not_planned"]}
    (unlike,) = plan.content["machines"]
    assert (unlike["machine"], unlike["why"], unlike["mix"]["shares"]) == (
        "kvm-1/unlike",
        "not known",
        {"any load": 1.0},
    )
    assert "state its mix, or measure its own load" in unlike["mix"]["text"]
    assert {name.removeprefix("kvm-1/"): why.split(":")[0] for name, why in told.items()} == {
        "asleep": "it does not run",
        "unknown-fs": "its guest file system is not known",
        "unwatched": "its load was not watched in the last 24 hours",
        "odd-guest": "its f2fs is no file system of the catalogue",
        "odd-pool": "its image lies on f2fs, which is no file system of the catalogue",
    }


def made_anew(machine: ObservedMachine, **fields) -> ObservedMachine:
    """Let a machine go, and return another of its name on the same image."""
    gone = {"is_running": False, "runs_as": "", "seen_at": now() - timedelta(minutes=1)}
    ObservedMachine.objects.filter(pk=machine.pk).update(**gone)
    return mail_server(machine.host, machine.name, **fields)


def test_of_two_machines_of_one_name_the_one_that_is_there_is_planned_for(host):
    anew = made_anew(mail_server(host))
    plan = plan_of(host)
    assert advised(plan)["kvm-1/mail-1"]["machine_uuid"] == str(anew.uuid)
    assert plan.content["not_planned"] == []


def test_a_plan_for_a_machine_is_not_confirmed_for_the_one_that_was_made_anew(host):
    old = mail_server(host)
    plan = plan_of(host)
    anew = made_anew(old)
    assert anew.disks.get().path == advised(plan)["kvm-1/mail-1"]["path"]
    with pytest.raises(PlacementError, match="not as it was when the plan was made"):
        moves.confirm(plan, ["kvm-1/mail-1"], user=host.registered_by)


def test_other_pins_reserves_and_rules_make_another_plan(host):
    machine, name = mail_server(host), "kvm-1/mail-1"
    assert advised(plan_of(host))[name]["why"] == "moves"
    assert advised(plan_of(host, rules=Rules(least_gaining=1.0)))[name]["why"] == "not sure"
    host.observed_pools.filter(path="/srv/xfs").update(reserve_bytes=5 * 10**11)
    assert advised(plan_of(host))[name]["why"] == "constrained"
    ObservedMachine.objects.filter(pk=machine.pk).update(is_pinned=True)
    assert advised(plan_of(host))[name]["why"] == "pinned"


def test_only_pools_that_are_targets_are_moved_to(host):
    mail_server(host)
    host.observed_pools.update(is_target=False)
    advice = advised(plan_of(host))["kvm-1/mail-1"]
    assert (advice["why"], advice["better"]["forbidden_by"]) == ("constrained", "excluded")


def test_what_its_operator_keeps_together_or_apart_is_planned_for_so(host):
    mail_server(host, "mail-1", together="shop"), mail_server(host, "mail-2", together="shop", is_pinned=True)
    assert advised(plan_of(host))["kvm-1/mail-1"]["better"]["forbidden_by"] == "together"
    ObservedMachine.objects.update(together="", apart="database", is_pinned=False)
    assert sorted(advice["why"] for advice in plan_of(host).content["machines"]) == ["constrained", "moves"]


def test_what_a_pool_keeps_free_is_told_to_the_driver(host):
    move = moved(mail_server(host))
    host.observed_pools.filter(path="/srv/xfs").update(reserve_bytes=5 * 2**30)
    assert execution.driver_move(PlacementMove.objects.get(pk=move.pk)).reserve_bytes == 5 * 2**30


def test_confirmed_moves_wait_in_line_one_at_a_time(host):
    first, second = mail_server(host, "mail-1"), mail_server(host, "mail-2")
    plan = plan_of(host)
    made = moves.confirm(plan, list(advised(plan)), user=host.registered_by)
    states = dict(PlacementMove.objects.values_list("machine_name", "state"))
    assert states == {"mail-1": "copying", "mail-2": "waiting"}
    active = PlacementMove.objects.get(machine=first)
    assert (active.job.kind, active.job.queue, active.token in active.new_path) == ("placement_move", host.queue, True)
    with pytest.raises(PlacementError, match="waits or is under way"):
        moves.confirm(plan, ["kvm-1/mail-2"], user=None)
    moves.start_next(host.pk)
    assert PlacementMove.objects.get(machine=second).state == "waiting"
    PlacementMove.objects.filter(pk=active.pk).update(state="failed", reason="no space")
    assert moves.start_next(host.pk).machine == second
    confirmed = PlacementDecision.objects.filter(action="confirmed")
    assert {(decision.move_id, decision.revision, decision.plan) for decision in confirmed} == {
        (move.pk, 6, plan) for move in made
    }


def test_a_plan_of_yesterday_or_of_another_world_is_not_confirmed(host):
    machine = mail_server(host)
    plan = plan_of(host)
    with pytest.raises(PlacementError, match="no move of this plan"):
        moves.confirm(plan, ["kvm-1/other"], user=None)
    machine.disks.update(path="/srv/ext4/elsewhere.raw")
    with pytest.raises(PlacementError, match="not as it was"):
        moves.confirm(plan, ["kvm-1/mail-1"], user=None)
    PlacementPlan.objects.update(made_at=now() - timedelta(hours=25))
    plan.refresh_from_db()
    with pytest.raises(PlacementError, match="older than a day"):
        moves.confirm(plan, ["kvm-1/mail-1"], user=None)
    assert not PlacementMove.objects.exists()


def test_a_machine_that_was_pinned_since_it_was_planned_for_is_not_confirmed(host):
    machine = mail_server(host)
    plan = plan_of(host)
    ObservedMachine.objects.filter(pk=machine.pk).update(is_pinned=True)
    with pytest.raises(PlacementError, match="not as it was"):
        moves.confirm(plan, ["kvm-1/mail-1"], user=None)


@pytest.mark.parametrize(
    ("start", "end", "at", "open_"),
    [
        (None, None, time(12), True),
        (time(1), time(3), time(2), True),
        (time(1), time(3), time(3), False),
        (time(22), time(4), time(23), True),
        (time(22), time(4), time(12), False),
    ],
)
def test_moves_begin_in_the_maintenance_of_their_host(start, end, at, open_):
    host = observed_host("windowed", window_start=start, window_end=end)
    assert moves.is_open(host, datetime.combine(datetime(2026, 11, 22, tzinfo=UTC), at, UTC)) is open_


def test_a_run_waits_while_a_disk_is_copied_on_its_host(host, client):
    mail_server(host)
    plan = plan_of(host)
    (move,) = moves.confirm(plan, list(advised(plan)), user=host.registered_by)
    campaign = make_campaign(host, state="running")
    campaign.save()
    run = make_run(campaign, state="waiting")
    assert control.next_run(host.pk) is None
    client.force_login(host.registered_by)
    page = client.get(reverse("campaign-detail", args=[campaign.slug])).content.decode()
    assert "The next run waits: the disk of mail-1, vda is being copied to another pool." in page
    PlacementMove.objects.filter(pk=move.pk).update(state="switched", switched_at=now())
    assert control.next_run(host.pk) == run


def test_a_move_waits_while_a_campaign_measures_on_its_host(host):
    mail_server(host)
    campaign = make_campaign(host)
    campaign.save()
    run = make_run(campaign, state="active")
    plan = plan_of(host)
    (move,) = moves.confirm(plan, list(advised(plan)), user=None)
    move.refresh_from_db()
    assert (move.state, "campaign" in moves.reason_to_wait(host, now())) == ("waiting", True)
    run.delete()
    moves.resume()
    move.refresh_from_db()
    assert move.state == "copying"


def test_a_move_whose_job_failed_is_taken_up_and_never_given_up(host):
    mail_server(host)
    plan = plan_of(host)
    (move,) = moves.confirm(plan, list(advised(plan)), user=None)
    move.refresh_from_db()
    lost = move.job
    Job.objects.filter(pk=lost.pk).update(state="failed", finished_at=now())
    moves.resume()
    move.refresh_from_db()
    assert move.job == lost
    Job.objects.filter(pk=lost.pk).update(finished_at=now() - timedelta(minutes=1))
    moves.resume()
    move.refresh_from_db()
    assert (move.state, move.job != lost, move.job.state) == ("copying", True, "queued")


def test_a_waiting_move_is_called_off_at_once_and_one_under_way_at_its_next_step(host):
    mail_server(host, "mail-1"), mail_server(host, "mail-2")
    plan = plan_of(host)
    moves.confirm(plan, list(advised(plan)), user=None)
    active, waiting = PlacementMove.objects.get(state="copying"), PlacementMove.objects.get(state="waiting")
    for move in (active, waiting):
        moves.call_off(move, user=None)
        move.refresh_from_db()
    assert (waiting.state, active.state, active.is_called_off) == ("cancelled", "copying", True)
    with pytest.raises(PlacementError, match="ended"):
        moves.call_off(waiting, user=None)


def test_a_waiting_move_of_whoever_may_use_the_host_no_more_never_begins(host):
    mail_server(host, "mail-1"), mail_server(host, "mail-2")
    plan = plan_of(host)
    moves.confirm(plan, list(advised(plan)), user=host.registered_by)
    host.registered_by.groups.clear()
    PlacementMove.objects.filter(state="copying").update(state="failed", reason="no space")
    assert moves.start_next(host.pk) is None
    assert PlacementMove.objects.get(machine_name="mail-2").state == "cancelled"


def test_the_way_back_is_a_move_of_its_own_and_the_old_image_goes_when_asked(host):
    machine = mail_server(host)
    move = moved(machine)
    back = moves.move_back(move, user=None)
    assert (back.old_path, back.to_pool, back.back_of) == (move.new_path, move.from_pool, move)
    assert back.new_path == f"/srv/ext4/mail-1.{back.token}.raw"
    with pytest.raises(PlacementError, match="under way"):
        moves.move_back(move, user=None)
    moves.remove_old(move, user=None)
    with pytest.raises(PlacementError, match="being removed"):
        moves.remove_old(move, user=None)
    assert PlacementDecision.objects.filter(action__in=["back", "removed"]).count() == 2


def test_the_token_of_an_earlier_move_is_replaced_in_the_name(host):
    machine = mail_server(host)
    disk, pool = machine.disks.get(), host.observed_pools.get(path="/srv/xfs")
    disk.path = "/srv/ext4/mail-1.k0123456789ab.raw"
    assert new_path(disk, pool, "kffffffffffff") == "/srv/xfs/mail-1.kffffffffffff.raw"
    disk.path = "/srv/ext4/mail.old"
    assert new_path(disk, pool, "kffffffffffff") == "/srv/xfs/mail.kffffffffffff.old"
    disk.path = "/srv/ext4/plain"
    assert new_path(disk, pool, "kffffffffffff") == "/srv/xfs/plain.kffffffffffff"


def test_the_copy_rate_of_earlier_moves_is_that_of_the_next_plan(host):
    machine = mail_server(host)
    assert plan_of(host).rules["copy_rate"] == Rules().copy_rate
    moved(machine, copy_seconds=100.0)
    plan = plan_of(host)
    assert (plan.rules["copy_rate"], plan.content["copy_rate_from_moves"]) == (10**8, 1)


# Policy


class Run:
    job_id = None

    def step(self, done, total=None):
        """A job that nobody takes away."""


def test_a_policy_moves_by_itself_inside_its_bounds_only(host):
    for number in (1, 2):
        mail_server(host, f"mail-{number}")
    policy = PlacementPolicy(host=host, mode="off")
    policies.set_policy(policy, user=host.registered_by)
    policies.run_policy(Run(), host.pk)
    assert not PlacementPlan.objects.exists()
    policy.mode, policy.least_gaining = "automatic", 0.999
    policies.set_policy(policy, user=host.registered_by)
    policies.run_policy(Run(), host.pk)
    assert (PlacementPlan.objects.count(), PlacementMove.objects.count()) == (1, 0)
    policy.least_gaining = 0.5
    policies.set_policy(policy, user=host.registered_by)
    policies.run_policy(Run(), host.pk)
    policies.run_policy(Run(), host.pk)
    (move,) = PlacementMove.objects.all()
    assert (move.asked_by, move.revision, policies.moves_left(policy)) == (None, 6, 0)
    assert PlacementDecision.objects.filter(action="policy").count() == 3


def test_a_policy_leaves_out_what_gains_less_than_it_asks_for(host):
    mail_server(host)
    plan = plan_of(host)
    gain = advised(plan)["kvm-1/mail-1"]["gain"]
    exact, more = (PlacementPolicy(host=host, least_gaining=0.5, least_gain=least) for least in (gain, gain + 0.01))
    assert [policies.moves_allowed(policy, plan, 1) for policy in (exact, more)] == [["kvm-1/mail-1"], []]


@pytest.mark.parametrize(("mode", "jobs"), [("off", 0), ("dry run", 1), ("confirm", 1), ("automatic", 1)])
def test_the_tick_asks_for_a_plan_by_policy_once_in_its_time(host, mode, jobs):
    PlacementPolicy.objects.create(host=host, mode=mode)
    policies.run_due()
    policies.run_due()
    assert Job.objects.filter(kind=policies.PLAN_JOB).count() == jobs


def test_a_tick_asks_as_much_of_the_database_however_many_hosts_are_observed(host, django_assert_max_num_queries):
    for number in range(20):
        other = observed_host(f"kvm-{number + 2}", is_observed=True)
        PlacementPlan.objects.create(rules={}, content={}, revision=1, model="").hosts.add(other)
    with django_assert_max_num_queries(8):
        policies.run_due()


def test_an_observed_host_without_a_policy_runs_dry_for_a_week_and_moves_nothing(host, client):
    mail_server(host)
    policies.run_due()
    assert not Job.objects.filter(kind=policies.PLAN_JOB).exists()
    Host.objects.filter(pk=host.pk).update(is_observed=True)
    policies.run_due()
    job = Job.objects.get(kind=policies.PLAN_JOB)
    for days in (8, 3, 0):
        policies.run_policy(Run(), job.arguments["host_id"])
        newest = PlacementPlan.objects.filter(pk=PlacementPlan.objects.latest("pk").pk)
        newest.update(made_at=now() - timedelta(days=days))
    policies.run_policy(Run(), host.pk)
    assert (PlacementPlan.objects.count(), PlacementMove.objects.count()) == (3, 0)  # that of last week is gone
    assert not PlacementDecision.objects.filter(action="planned").exists()
    client.force_login(host.registered_by)
    page = client.get("/placement/").content.decode()
    assert "dry run: plans once a day, and moves nothing." in page
    assert "Last week three plans would have moved mail-1 to /srv/xfs (by 3; a gain of " in page


@pytest.mark.parametrize(("losing", "is_ticked"), [(0.05, True), (0.06, False)])
def test_a_move_that_may_well_be_slower_is_left_to_the_operator_to_tick(host, client, losing, is_ticked):
    mail_server(host)
    plan = plan_of(host)
    plan.content["machines"][0]["prospect"]["losing"] = losing
    plan.save()
    client.force_login(host.registered_by)
    page = client.get(f"/placement/plans/{plan.pk}/").content.decode()
    assert ('value="kvm-1/mail-1" checked>' in page, 'value="kvm-1/mail-1">' in page) == (is_ticked, not is_ticked)


def test_a_plan_shows_what_each_pool_carries_before_and_after(host, client):
    mail_server(host)
    plan = plan_of(host)
    client.force_login(host.registered_by)
    here, there = sorted(plan.content["pools"], key=lambda pool: pool["name"])
    assert here["load"] == there["load_after"] > 0 == here["load_after"] == there["load"]
    assert there["bytes_in"] == plan.content["machines"][0]["copy_bytes"]
    page = client.get(f"/placement/plans/{plan.pk}/").content.decode()
    assert "Pools before and after" in page


def test_a_policy_that_wants_confirmation_plans_and_moves_nothing(host):
    mail_server(host)
    PlacementPolicy.objects.create(host=host, mode="confirm", least_gaining=0.5)
    policies.run_policy(Run(), host.pk)
    assert (PlacementPlan.objects.count(), PlacementMove.objects.count()) == (1, 0)


def test_an_old_image_is_removed_by_itself_only_where_the_policy_says_so_and_nothing_got_worse(host):
    policy = PlacementPolicy.objects.create(host=host)
    ended = Job.objects.create(kind="placement_move", state="done", finished_at=now() - timedelta(days=1))
    move = moved(mail_server(host), job=ended, keep_until=now() - timedelta(hours=1))
    policies.run_due()
    policy.removes_kept = True
    policy.save()
    PlacementMove.objects.update(outcome={"verdict": comparison.WORSE})
    policies.run_due()
    assert not Job.objects.filter(kind=moves.REMOVE_JOB).exists()
    PlacementMove.objects.update(outcome={})
    policies.run_due()
    move.refresh_from_db()
    assert move.job.kind == moves.REMOVE_JOB


# Afterwards


def test_what_became_of_a_move_is_told_from_the_minutes_before_and_after(host):
    machine = mail_server(host)
    machine.disks.get().statistics.all().delete()
    switch = now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=8)
    move = moved(machine, started_at=switch, switched_at=switch, plan=plan_of(host))
    make_minutes(machine, 300, begin=switch - timedelta(hours=6))
    make_minutes(machine, 300, begin=switch + timedelta(minutes=1), write_seconds=6.0, flush_seconds=4.5)
    outcomes.judge_due_moves(Run())
    move.refresh_from_db()
    assert move.outcome["verdict"] == comparison.KEPT
    assert move.outcome["speed"] == pytest.approx((0.6 + 12 + 9) / (0.6 + 6 + 4.5))
    assert outcomes.score()["verdicts"] == {"kept promise": 1, "no difference": 0, "worse": 0, "cannot be told": 0}
    outcomes.enqueue_judging()
    outcomes.enqueue_judging()
    assert Job.objects.filter(kind=outcomes.JOB).count() == 1


# News


@pytest.fixture
def told(host):
    subscriptions.add(host.registered_by, "webhook", "https://x.org/", ["machines"], "https://kdb.example.org")
    return lambda: list(Delivery.objects.values_list("subject", flat=True))


@pytest.mark.parametrize(("mode", "subjects"), [("confirm", ["kvm-1: a plan waits for you"]), ("automatic", [])])
def test_a_plan_that_waits_for_a_person_is_told_and_one_that_does_not_is_not(host, told, mode, subjects):
    PlacementPolicy.objects.create(host=host, mode=mode, least_gaining=0.5)
    policies.run_policy(Run(), host.pk)
    assert told() == []  # it moved nothing
    mail_server(host)
    policies.run_policy(Run(), host.pk)
    assert told() == subjects


def test_a_plan_that_tells_of_a_laboratory_is_told_to_its_members_alone(host, told):
    mail_server(host)
    plan = plan_of(host)
    plan.laboratories.add(Laboratory.objects.create(slug="theirs", name="Theirs"))
    notifications.notify_of_plan(plan, host)
    assert told() == []


def test_a_move_that_failed_is_told_to_who_asked_for_it_with_the_reason(host, told):
    move = moved(mail_server(host), state="copying", switched_at=None, asked_by=host.registered_by)
    execution.Execution(Run(), move).fail("no space", Image.OLD)
    assert told() == ["kvm-1: the move of mail-1, vda failed"]
    assert Delivery.objects.get().facts["reason"] == "no space"
