"""What may be done on a host by itself: the policy, and the plans it makes and confirms inside its bounds."""

import logging
from collections.abc import Collection
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.timezone import now

from experiments.campaigns import hosts
from experiments.models import Host
from kdb import jobs
from kdb.models import Job
from modelling.models import PlacementDecision, PlacementMove, PlacementPlan, PlacementPolicy

from . import moves
from .outcomes import WORSE
from .plans import PlacementError, decide, make

logger = logging.getLogger(__name__)

PLAN_JOB = "placement_by_policy"
EVERY = timedelta(hours=1)  # between two plans of a policy for a host
DAY = timedelta(days=1)

Mode, State = PlacementPolicy.Mode, PlacementMove.State


def set_policy(policy: PlacementPolicy, *, user: User | None) -> None:
    """Keep a host's policy, checked by its form."""
    with transaction.atomic():
        policy.save()
        names = ("mode", "least_gaining", "least_gain", "most_moves_a_day", "copy_rate_mib", "keeps_days")
        detail = ", ".join(f"{name} {getattr(policy, name)}" for name in (*names, "removes_kept"))
        decide(policy.host, PlacementDecision.Action.POLICY, user=user, detail=detail)


def by_policy(run: jobs.JobRun, host_id: int) -> None:
    """Plan for a host, and confirm what its policy lets begin by itself."""
    host = Host.objects.select_related("placement_policy", "hypervisor").get(pk=host_id)
    policy = moves.policy_of(host)
    if policy.mode != Mode.AUTOMATIC or not (left := moves_left(policy)):
        return
    plan = make([host], user=None)
    with transaction.atomic():
        locked = hosts.locked(host_id)
        policy = moves.policy_of(locked)
        run.step(1)
        if policy.mode == Mode.AUTOMATIC and (chosen := inside(policy, plan, min(left, moves_left(policy)))):
            moves.confirm(plan, chosen, user=None)


def inside(policy: PlacementPolicy, plan: PlacementPlan, most: int) -> list[str]:
    """The moves of a plan inside the policy's bounds, the largest gain first; `most` at most.

    A machine that was moved and not for the better is left to a person.
    """
    told = PlacementMove.objects.filter(host=policy.host, switched_at__isnull=False)
    moved = {(str(uuid), disk) for uuid, disk in told.values_list("machine_uuid", "disk")}
    able = [
        each
        for each in plan.content["machines"]
        if each["is_move"]
        and each["gain"] >= policy.least_gain
        and each["prospect"]["gaining"] >= policy.least_gaining
        and (each["machine_uuid"], each["disk"]) not in moved
    ]
    return [each["machine"] for each in sorted(able, key=lambda each: -each["gain"])][:most]


def moves_left(policy: PlacementPolicy) -> int:
    """How many moves may still begin by themselves today."""
    own = PlacementMove.objects.filter(host=policy.host, asked_by=None, back_of=None, asked_at__gt=now() - DAY)
    return max(policy.most_moves_a_day - own.exclude(state=State.CANCELLED).count(), 0)


def look_after() -> None:
    """On every tick: hosts whose policy has not planned for an hour, old images whose time is up."""
    at = now()
    for policy in PlacementPolicy.objects.filter(mode=Mode.AUTOMATIC).select_related("host"):
        recent = PlacementPlan.objects.filter(hosts=policy.host, made_by=None, made_at__gt=at - EVERY)
        is_open = not moves.kept_back(policy.host, at) and moves_left(policy)
        if is_open and not recent.exists() and not _is_asked(policy.host):
            jobs.enqueue(PLAN_JOB, queue=policy.host.queue, host_id=policy.host_id)
    due = PlacementMove.objects.filter(
        state=State.KEPT, keep_until__lt=at, host__placement_policy__removes_kept=True, host__blocked_reason=""
    )
    for move in due.filter(job__finished_at__lt=at - EVERY):
        if move.outcome.get("verdict") == WORSE:
            continue
        try:
            moves.remove_old(move, user=None)
        except PlacementError as error:
            logger.info("old image stays move=%s reason=%s", move.pk, error)


def _is_asked(host: Host) -> bool:
    asked: Collection[int] = [
        job.arguments["host_id"]
        for job in Job.objects.filter(kind=PLAN_JOB, created_at__gt=now() - EVERY).only("arguments")
    ]
    return host.pk in asked
