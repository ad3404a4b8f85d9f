"""Store the policies of hosts, and make and confirm plans by them."""

import logging
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
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
PLANS_EVERY = {Mode.CONFIRM: DAY, Mode.AUTOMATIC: timedelta(hours=6)}


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
    if moves.policy_of(host).mode == Mode.OFF:
        return
    plan = make_plan([host], user=None)
    with transaction.atomic():
        policy = moves.policy_of(hosts.locked(host_id))
        run.step(1)
        if policy.mode == Mode.AUTOMATIC and (chosen := moves_allowed(policy, plan, moves_left(policy))):
            moves.confirm(plan, chosen, user=None)
        if policy.mode == Mode.CONFIRM:
            notifications.notify_of_plan(plan, policy.host)


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
    for policy in PlacementPolicy.objects.exclude(mode=Mode.OFF).filter(host__archived_at=None).select_related("host"):
        since = at - PLANS_EVERY[Mode(policy.mode)]
        recent = PlacementPlan.objects.filter(hosts=policy.host, made_by=None, made_at__gt=since)
        is_useless = policy.mode == Mode.AUTOMATIC and (moves.reason_to_wait(policy.host, at) or not moves_left(policy))
        if not (is_useless or recent.exists() or _was_enqueued(policy.host, since)):
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


def _was_enqueued(host: Host, since: datetime) -> bool:
    """Tell whether a plan by policy was enqueued since then, so that one that failed is not repeated at once."""
    recent_jobs = Job.objects.filter(kind=PLAN_JOB, created_at__gt=since).only("arguments")
    return any(job.arguments["host_id"] == host.pk for job in recent_jobs)
