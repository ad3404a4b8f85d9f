"""Confirm, request, cancel, undo and resume moves, and start the next one of a host.

The rows hold the whole state. `start_next` makes one waiting move of a host active and enqueues its job; whoever ends a
move calls it again, and `resume`, on every tick, takes up what was lost. `execution` acts on the host.
"""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.timezone import now

from experiments import permissions
from experiments.campaigns import hosts
from experiments.models import CampaignRun, Host, ObservedDisk, ObservedPool
from kdb.jobs import jobs
from kdb.models import Job
from modelling.models import MoveLine, PlacementDecision, PlacementMove, PlacementPlan, PlacementPolicy

from . import approvals, notifications
from .observed_fleet import name_of, new_path
from .plans import PlacementError, write_decision

MOVE_JOB, REMOVE_JOB = "placement_move", "placement_remove"  # run by `execution`
STALE = timedelta(hours=24)  # an older plan cannot be confirmed
RETRY_AFTER = timedelta(seconds=30)  # after the job of a move failed

State, Action = PlacementMove.State, PlacementDecision.Action
ACTIVE = (State.COPYING, State.SWITCHED)
OPEN = (State.WAITING, *ACTIVE)


def policy_of(host: Host) -> PlacementPolicy:
    """Return the host's policy, unsaved with its defaults where there is none."""
    return PlacementPolicy.objects.filter(host=host).first() or PlacementPolicy(host=host)


def loaded_policy(host: Host) -> PlacementPolicy:
    """Return the policy of a host that was selected with its `placement_policy`, else an unsaved one with defaults."""
    return getattr(host, "placement_policy", None) or PlacementPolicy(host=host)


def confirm(plan: PlacementPlan, machines: Collection[str], *, user: User | None) -> list[PlacementMove]:
    """Request the moves of these machines of a plan, all or none.

    Raises PlacementError where one is not a move of the plan, has moved since, or has a move already.
    """
    if plan.made_at < now() - STALE:
        raise PlacementError("The plan is older than a day: make it again.")
    advice = {entry["machine"]: entry for entry in plan.content["machines"] if entry["is_move"]}
    if unknown := [name for name in machines if name not in advice]:
        raise PlacementError(f"{unknown[0]} is no move of this plan; there are {', '.join(advice) or 'none'}.")
    if not machines:
        raise PlacementError("No move was chosen.")
    with transaction.atomic():
        locked = [hosts.locked(host.pk) for host in plan.hosts.order_by("pk")]
        pools = {
            name_of(pool.host, pool.path): pool
            for pool in ObservedPool.objects.filter(host__in=locked).select_related("host")
        }
        made = [_confirm_one(plan, advice[name], pools, user) for name in sorted(set(machines))]
        for host in locked:
            start_next(host.pk)
    return made


def _confirm_one(
    plan: PlacementPlan, advice: dict[str, Any], pools: dict[str, ObservedPool], user: User | None
) -> PlacementMove:
    disk = ObservedDisk.objects.select_related("machine__host", "pool").filter(pk=advice["disk_id"]).first()
    pool = pools.get(advice["pool"])
    # A machine that was created again has another row, and the one of the plan no longer runs.
    is_as_planned = disk and disk.path == advice["path"] and disk.machine.is_running and not disk.machine.is_pinned
    if disk is None or pool is None or not is_as_planned:
        raise PlacementError(f"{advice['machine']} or its pool is not as it was when the plan was made: make it again.")
    if not pool.is_target:
        raise PlacementError(f"{pool} is no target any more: make the plan again.")
    return request_move(disk, pool, user=user, plan=plan, advice=advice, revision=plan.revision, model=plan.model)


def request_move(disk: ObservedDisk, pool: ObservedPool, *, user: User | None, **fields: Any) -> PlacementMove:
    """Create a waiting move of a disk. fields : further ones of PlacementMove

    Raises PlacementError where the disk has an open move, where its host is only observed, and in a freeze.
    """
    if frozen := hosts.why_frozen():
        raise PlacementError(f"No move begins: {frozen}.")
    machine, token = disk.machine, f"k{secrets.token_hex(6)}"
    host = machine.host
    if host.is_by_api:
        raise PlacementError(
            f"{host} is reached by Proxmox VE's API, for observation alone: move it by qm disk move there."
        )
    try:
        with transaction.atomic():
            move = PlacementMove.objects.create(
                **{"host": host, "machine": machine, "machine_uuid": machine.uuid, "machine_name": machine.name},
                **{"disk": disk.target, "from_pool": disk.pool, "to_pool": pool, "size_bytes": disk.size_bytes},
                **{"old_path": disk.path, "new_path": new_path(disk, pool, token), "token": token, "asked_by": user},
                **fields,
            )
    except IntegrityError as error:
        raise PlacementError(f"{machine}, {disk.target}: a move waits or is under way already.") from error
    log(move, f"asked for: from {move.old_path} to {move.new_path}")
    action = Action.BACK if move.back_of else Action.CONFIRMED
    detail = "" if move.back_of or move.plan else "asked for by hand, by no plan"
    rests_on = {"revision": move.revision, "model": move.model}
    write_decision(host, action, user=user, detail=detail, plan=move.plan, move=move, **rests_on)
    if approvals.is_needed(host):
        notifications.notify_of_approval(move, approvals.proposer(move))
    return move


def approve(move: PlacementMove, *, user: User | None) -> None:
    """Let a waiting move begin, as a second person. Raises PlacementError."""
    with transaction.atomic():
        host = hosts.locked(move.host_id)
        move = PlacementMove.objects.select_related("asked_by", "approved_by", "plan", "host").get(pk=move.pk)
        if why := approvals.why_not(move, user):
            raise PlacementError(why)
        move.approved_by, move.approved_as = user, approvals.facts_of(move)
        move.save(update_fields=["approved_by", "approved_as"])
        log(move, f"approved by {user}")
        write_decision(host, Action.APPROVED, user=user, plan=move.plan, move=move)
        start_next(host.pk)


def _may_begin(move: PlacementMove, host: Host) -> bool:
    """Tell whether a move has the approval that its host's group wants. One that no longer holds is taken away."""
    if not approvals.is_needed(host):
        return True
    if move.approved_by is None:
        return False
    if not (why := approvals.why_lapsed(move)):
        return True
    move.approved_by = move.approved_as = None
    move.save(update_fields=["approved_by", "approved_as"])
    log(move, f"the approval lapsed: {why}")
    write_decision(host, Action.LAPSED, user=None, plan=move.plan, move=move, detail=why)
    return False


def put_back(move: PlacementMove) -> bool:
    """Let a move wait again that a worker took, and that may not begin by now. Return whether it does."""
    with transaction.atomic():
        host = hosts.locked(move.host_id)
        move = PlacementMove.objects.select_related("approved_by", "plan", "host", "asked_by").get(pk=move.pk)
        if move.state != State.COPYING or move.attempt or not (hosts.why_frozen() or not _may_begin(move, host)):
            return False
        PlacementMove.objects.filter(pk=move.pk).update(state=State.WAITING, step="", started_at=None)
        log(move, "waits again")
        return True


def call_off(move: PlacementMove, *, user: User | None) -> None:
    """Cancel a move before it switches, one under way at its next step. Raises PlacementError."""
    with transaction.atomic():
        hosts.locked(move.host_id)
        waiting = PlacementMove.objects.filter(pk=move.pk, state=State.WAITING)
        if not waiting.update(state=State.CANCELLED, finished_at=now()):
            copying = PlacementMove.objects.filter(pk=move.pk, state=State.COPYING)
            if not copying.update(is_called_off=True):
                raise PlacementError("It has switched, or ended: it can be moved back.")
        log(move, "called off")
        write_decision(move.host, Action.CALLED_OFF, user=user, plan=move.plan, move=move)
        start_next(move.host_id)


def call_all_off(host: Host, *, user: User | None, asked_by: User | None = None) -> None:
    """Cancel the moves on a host that have not switched. asked_by : only those of this user"""
    pending = PlacementMove.objects.filter(host=host, state__in=(State.WAITING, State.COPYING)).order_by("-pk")
    for move in pending if asked_by is None else pending.filter(asked_by=asked_by):
        call_off(move, user=user)


def move_back(move: PlacementMove, *, user: User | None) -> PlacementMove:
    """Request a move of the disk back to the pool it came from. Raises PlacementError."""
    with transaction.atomic():
        hosts.locked(move.host_id)
        move = PlacementMove.objects.select_related("host", "machine", "from_pool").get(pk=move.pk)
        if move.state not in (State.KEPT, State.DONE):
            raise PlacementError(f"It is {move.get_state_display()}: there is nothing to take back.")
        disks = ObservedDisk.objects.filter(machine=move.machine, target=move.disk)
        disk = disks.select_related("machine__host", "pool").first()
        if disk is None or move.from_pool is None:
            raise PlacementError("Its disk, or the pool it came from, is not observed any more.")
        disk.path, disk.pool = (
            move.new_path,
            move.to_pool,
        )  # as this move left it, because it may not have been observed since
        back = request_move(disk, move.from_pool, user=user, back_of=move, revision=move.revision, model=move.model)
        start_next(move.host_id)
    return back


def remove_old(move: PlacementMove, *, user: User | None) -> None:
    """Enqueue the removal of the kept old image, or of an unfinished copy. Raises PlacementError."""
    with transaction.atomic():
        hosts.locked(move.host_id)
        move = PlacementMove.objects.select_related("host", "job").get(pk=move.pk)
        if frozen := hosts.why_frozen():
            raise PlacementError(f"No image is removed: {frozen}.")
        if not may_remove(move):
            raise PlacementError(f"It is {move.get_state_display()}: no image is left of it.")
        if has_open_job(move.job):
            raise PlacementError("It is being removed.")
        move.job = jobs.enqueue(REMOVE_JOB, queue=move.host.queue, move_id=move.pk)
        move.save(update_fields=["job"])
        log(move, "the old image is to be removed")
        write_decision(move.host, Action.REMOVED, user=user, plan=move.plan, move=move)


def may_remove(move: PlacementMove) -> bool:
    """Tell whether the move left an unused image."""
    return move.state in (State.KEPT, State.UNDONE) or bool(move.left_over)


def log(move: PlacementMove, text: str) -> None:
    MoveLine.objects.create(move=move, text=text[:1000])


# The next move


def start_next(host_id: int) -> PlacementMove | None:
    """Make the next waiting move of the host active and enqueue its job, unless there is a reason to wait.

    A constraint of the database prevents a second active move of a host when this is called twice at a time.
    """
    with transaction.atomic():
        host = hosts.locked(host_id)
        moves = PlacementMove.objects.filter(host=host)
        if moves.filter(state__in=ACTIVE).exists() or reason_to_wait(host, now()):
            return None
        waiting = moves.filter(state=State.WAITING).select_related("asked_by", "approved_by", "plan", "host")
        for move in waiting.order_by("pk"):
            if not permissions.may_use_host(move.asked_by, host):
                call_off(move, user=None)  # which calls start_next again
                return None
            if _may_begin(move, host):
                break
        else:
            return None
        move.state, move.started_at, move.step = State.COPYING, now(), "waits for a worker"
        move.job = jobs.enqueue(MOVE_JOB, queue=host.queue, move_id=move.pk)
        move.save()
        return move


def why_waiting(move: PlacementMove) -> str:
    """Return why a waiting move does not begin now; "" where it may."""
    if why := reason_to_wait(move.host, now()):
        return why
    needs_approval = move.approved_by is None and approvals.is_needed(move.host)
    return "a second person of the host's group has to approve it" if needs_approval else ""


def reason_to_wait(host: Host, at: datetime) -> str:
    """Return why no move of a host may begin now; "" where one may."""
    if hosts.why_frozen():
        return hosts.FROZEN
    if host.blocked_reason:
        return f"the host is blocked: {host.blocked_reason}"
    if not is_open(host, at):
        return f"moves begin in its maintenance, {host.window_start:%H:%M} to {host.window_end:%H:%M} UTC"
    if CampaignRun.objects.filter(host=host, state=CampaignRun.State.ACTIVE).exists():
        return "a run of a campaign is under way, which a copy would disturb"
    return ""


def copy_under_way(host: Host) -> str:
    """Return a sentence on the copy under way on a host; "" without one."""
    move = PlacementMove.objects.filter(host=host, state=State.COPYING).first()
    return f"the disk of {move} is being copied to another pool" if move else ""


def is_open(host: Host, at: datetime) -> bool:
    """Tell whether the host is in its maintenance window, in which disks may move; always without a stated window."""
    if host.window_start is None or host.window_end is None:
        return True
    time = at.time()
    if host.window_start < host.window_end:
        return host.window_start <= time < host.window_end
    return time >= host.window_start or time < host.window_end


def has_open_job(job: Job | None) -> bool:
    """Tell whether the job exists and has not ended."""
    return job is not None and job.state in (Job.State.QUEUED, Job.State.RUNNING)


def resume() -> None:
    """Retry moves whose job ended before they did, and start the next moves of hosts. Called on every tick.

    A move under way is never given up here: only its host knows from which image the machine runs.
    """
    ended = Q(job__isnull=True) | Q(job__state__in=[Job.State.DONE, Job.State.FAILED])
    may_retry = Q(job__isnull=True) | Q(job__finished_at__lt=now() - RETRY_AFTER)
    for pk, host_id in PlacementMove.objects.filter(ended, may_retry, state__in=ACTIVE).values_list("pk", "host_id"):
        with transaction.atomic():
            host = hosts.locked(host_id)
            stopped = PlacementMove.objects.filter(ended, pk=pk, state__in=ACTIVE).first()
            if stopped is not None and not host.blocked_reason:
                stopped.job = jobs.enqueue(MOVE_JOB, queue=host.queue, move_id=pk)
                stopped.save(update_fields=["job"])
    waiting = PlacementMove.objects.filter(state=State.WAITING).values_list("host_id", flat=True).distinct()
    for host_id in waiting.order_by("host_id"):
        start_next(host_id)
