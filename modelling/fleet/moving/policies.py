"""Store the policies of hosts, and make and confirm plans by them."""

import logging
from datetime import timedelta

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Max
from django.utils.timezone import now

from experiments import permissions
from experiments.campaigns import hosts
from experiments.models import Host
from kdb.jobs import jobs
from kdb.models import Job
from modelling.models import PlacementDecision, PlacementMove, PlacementPlan, PlacementPolicy

from . import approvals, moves, notifications
from .comparison import WORSE
from .plans import PlacementError, make_plan, write_decision

logger = logging.getLogger(__name__)

PLAN_JOB = "placement_by_policy"
DAY = timedelta(days=1)
EVERY = timedelta(hours=1)  # between two attempts to remove an old image

Mode, State = PlacementPolicy.Mode, PlacementMove.State
PLANS_EVERY = {Mode.DRY_RUN: DAY, Mode.CONFIRM: DAY, Mode.AUTOMATIC: timedelta(hours=6)}
DRY_RUN_DAYS = 7  # that a dry run's plans are kept


def set_policy(policy: PlacementPolicy, *, user: User | None) -> None:
    """Store a host's validated policy, and record the decision.

    Raises PermissionDenied where it ends the need of a second person, and the user may not change the host.
    """
    with transaction.atomic():
        is_ended = approvals.is_needed(policy.host) and not policy.second_person
        if is_ended and not permissions.may_change_host(user, policy.host):
            raise PermissionDenied("Only the host's owner says that moves need no second person any more.")
        policy.save()
        names = ("mode", "least_gaining", "least_gain", "most_moves_a_day", "copy_rate_mib", "keeps_days")
        detail = ", ".join(f"{name} {getattr(policy, name)}" for name in (*names, "removes_kept", "second_person"))
        write_decision(policy.host, PlacementDecision.Action.POLICY, user=user, detail=detail)


def turn_off(host: Host, *, user: User | None) -> None:
    """Turn off the policy of a host, if it has one that acts."""
    acting = PlacementPolicy.objects.filter(host=host).exclude(mode=Mode.OFF, removes_kept=False)
    for policy in acting.select_related("host"):
        policy.mode, policy.removes_kept = Mode.OFF, False
        set_policy(policy, user=user)


def run_policy(run: jobs.JobRun, host_id: int) -> None:
    """Make a plan for a host; confirm the moves that its policy allows, or notify its operator in mode `confirm`."""
    host = Host.objects.select_related("hypervisor").get(pk=host_id)
    mode = moves.policy_of(host).mode
    if mode == Mode.OFF:
        return
    plan = make_plan([host], user=None, is_dry=mode == Mode.DRY_RUN)
    _delete_old_dry_runs(host)
    with transaction.atomic():
        policy = moves.policy_of(hosts.locked(host_id))
        run.step(1)
        if policy.mode == Mode.AUTOMATIC and (chosen := moves_allowed(policy, plan, moves_left(policy))):
            moves.confirm(plan, chosen, user=None)
        if policy.mode == Mode.CONFIRM:
            notifications.notify_of_plan(plan, policy.host)


def _delete_old_dry_runs(host: Host) -> None:
    """Delete plans of dry runs, which decided nothing, a week after they were made."""
    old = PlacementPlan.objects.filter(hosts=host, made_by=None, made_at__lt=now() - timedelta(days=DRY_RUN_DAYS))
    old.filter(decisions=None, moves=None).delete()


def moves_allowed(policy: PlacementPolicy, plan: PlacementPlan, most: int) -> list[str]:
    """Return at most `most` moves of a plan within the policy's bounds, the largest gain first.

    Disks that were moved before are left to a person, so that a policy cannot move one back and forth.
    """
    earlier = PlacementMove.objects.filter(host=policy.host, switched_at__isnull=False)
    moved = {(str(uuid), disk) for uuid, disk in earlier.values_list("machine_uuid", "disk")}
    able = [
        entry
        for entry in plan.content["machines"]
        if entry["is_move"]
        and entry["gain"] >= policy.least_gain
        and entry["prospect"]["gaining"] >= policy.least_gaining
        and (entry["machine_uuid"], entry["disk"]) not in moved
    ]
    return [entry["machine"] for entry in sorted(able, key=lambda entry: -entry["gain"])][:most]


def moves_left(policy: PlacementPolicy) -> int:
    """Return how many more moves the policy may confirm within 24 hours."""
    own = PlacementMove.objects.filter(host=policy.host, asked_by=None, plan__isnull=False, asked_at__gt=now() - DAY)
    return max(policy.most_moves_a_day - own.exclude(state=State.CANCELLED).count(), 0)


def run_due() -> None:
    """Enqueue plans of policies that are due, and remove old images after their time. Called on every tick.

    A policy is turned off when its author may no longer use the host.
    """
    at = now()
    acting = PlacementPolicy.objects.exclude(mode=Mode.OFF, removes_kept=False)
    for policy in acting.filter(host__archived_at=None).select_related("host"):
        if not permissions.may_use_host(approvals.policy_author(policy.host), policy.host):
            turn_off(policy.host, user=None)
    planned = dict(
        PlacementPlan.objects.filter(made_by=None, made_at__gt=at - DAY)
        .order_by()
        .values_list("hosts")
        .annotate(Max("made_at"))
    )
    enqueued = {
        job.arguments["host_id"]: job.created_at  # one that failed is not repeated at once
        for job in Job.objects.filter(kind=PLAN_JOB, created_at__gt=at - DAY)
        .order_by("pk")
        .only("arguments", "created_at")
    }
    set_up = PlacementPolicy.objects.exclude(mode=Mode.OFF).filter(host__archived_at=None).select_related("host")
    observed = Host.objects.filter(is_observed=True, archived_at=None, placement_policy=None)
    for policy in (*set_up, *(PlacementPolicy(host=host) for host in observed)):
        latest = [time for times in (planned, enqueued) if (time := times.get(policy.host_id))]
        if max(latest, default=at - 2 * DAY) > at - PLANS_EVERY[Mode(policy.mode)]:
            continue
        if policy.mode == Mode.AUTOMATIC and (moves.reason_to_wait(policy.host, at) or not moves_left(policy)):
            continue
        jobs.enqueue(PLAN_JOB, host_id=policy.host_id)
    due = PlacementMove.objects.filter(
        state=State.KEPT,
        keep_until__lt=at,
        host__placement_policy__removes_kept=True,
        host__blocked_reason="",
        host__archived_at=None,
    )
    for move in due.filter(job__finished_at__lt=at - EVERY) if not hosts.why_frozen() else ():
        if move.outcome.get("verdict") == WORSE:
            continue
        try:
            moves.remove_old(move, user=None)
        except PlacementError as error:
            logger.info("old image stays move=%s reason=%s", move.pk, error)
