"""Judge moves by comparing disks before and after with what was promised. This is observational evidence."""

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict
from datetime import timedelta
from math import log
from typing import Any

import numpy as np
from django.db.models import Q
from django.utils.timezone import now

from experiments.models import DiskStatistics, Host
from kdb.jobs import jobs
from kdb.models import Job
from modelling.evidence.normal import NORMAL_95
from modelling.fleet.placement.selectors import Outcome
from modelling.models import PlacementMove

from .comparison import KEPT, UNKNOWN, VERDICTS, Minutes, compare
from .observed_fleet import Fleet, name_of

JOB = "placement_outcomes"
WATCHED = timedelta(days=7)  # before, and after
EVERY = timedelta(hours=1)
MOST = 200  # newest moves that plans use
_FIELDS = ("seconds", "reads", "writes", "read_bytes", "write_bytes", "read_seconds", "write_seconds", "flush_seconds")

State = PlacementMove.State
MOVED = (State.KEPT, State.DONE, State.UNDONE)


def judge(move: PlacementMove) -> dict[str, Any]:
    """Compare the disk before and after the move, as JSON.

    Minutes during the copy are left out, and those on other pools: before the previous move, and after the next one.
    """
    begin, end = move.started_at or move.asked_at, move.switched_at or now()
    others = PlacementMove.objects.filter(machine_uuid=move.machine_uuid, disk=move.disk).exclude(switched_at=None)
    before = others.filter(switched_at__lte=begin).exclude(pk=move.pk).order_by("-switched_at").first()
    after = others.filter(switched_at__gt=end).order_by("switched_at").first()
    since = max(begin - WATCHED, before.switched_at) if before and before.switched_at else begin - WATCHED
    until = min(end + WATCHED, after.started_at or after.asked_at) if after else end + WATCHED
    margin = move.plan.rules.get("margin", 0.1) if move.plan else 0.1
    comparison = compare(_minutes(move, since, begin), _minutes(move, end, until), margin, seed=move.pk)
    return {**asdict(comparison), "margin": margin, "at": now().isoformat()}


def _minutes(move: PlacementMove, begin: Any, end: Any) -> Minutes:
    whole = DiskStatistics.objects.filter(
        disk__machine=move.machine_id,
        disk__target=move.disk,
        span=DiskStatistics.Span.MINUTE,
        starts_at__gte=begin,
        starts_at__lte=end - timedelta(minutes=1),
    )
    rows = np.array([(at.timestamp(), *sums) for at, *sums in whole.values_list("starts_at", *_FIELDS)], float)
    starts, seconds, reads, writes, read_bytes, write_bytes, *busy = rows.reshape(-1, 1 + len(_FIELDS)).T
    return Minutes(starts, seconds, reads + writes, reads, read_bytes + write_bytes, np.sum(busy, axis=0))


def outcomes_on(hosts: Collection[Host], fleet: Fleet) -> tuple[list[Outcome], set[tuple[str, str]]]:
    """Return the known outcomes of moves on these hosts, and the pairs of pools between which moves are still watched.

    The load of a move is that of its plan; of a move by hand that of its disk now, if it is in the fleet.
    """
    names = {(disk.machine_id, disk.target): name for name, disk in fleet.disks.items()}
    loads = {machine.name: machine for machine in fleet.machines}
    moved = PlacementMove.objects.filter(
        host__in=hosts, state__in=MOVED, from_pool__isnull=False, to_pool__isnull=False
    )
    outcomes, watched = [], set()
    for move in moved.select_related("host", "from_pool", "to_pool").order_by("-pk")[:MOST]:
        assert move.from_pool
        assert move.to_pool
        assert move.switched_at
        here, there = (name_of(move.host, pool.path) for pool in (move.from_pool, move.to_pool))
        speed = move.outcome.get("speed")
        if speed is None:
            if move.switched_at > now() - WATCHED - EVERY:
                watched.add((here, there))
            continue
        name = names.get((move.machine_id or 0, move.disk), "")
        former_name = name_of(move.host, move.machine_name)
        if former_name in loads:  # the name belongs to another machine now
            former_name = f"{former_name} ({move.machine_uuid})"
        shares = move.advice.get("mix", {}).get("shares") or (loads[name].shares if name else None)
        guest_fs = move.advice.get("guest_fs") or (loads[name].guest_fs if name else "")
        if shares and guest_fs:
            width = log(move.outcome["high"] / move.outcome["low"])
            outcomes.append(
                Outcome(
                    number=move.pk,
                    machine=name or former_name,
                    guest_fs=guest_fs,
                    shares=shares,
                    here=here,
                    there=there,
                    speed=log(speed),
                    variance=(width / 2 / NORMAL_95) ** 2,
                    days=(now() - move.switched_at) / timedelta(days=1),
                )
            )
    return outcomes, watched


def judge_due_moves(run: jobs.JobRun) -> None:
    """Judge the moves that are still watched, and those never judged."""
    for done, move in enumerate(_moves_to_judge(), start=1):
        PlacementMove.objects.filter(pk=move.pk).update(outcome=judge(move))
        run.step(done)


def _moves_to_judge() -> list[PlacementMove]:
    moved = PlacementMove.objects.filter(state__in=MOVED, machine__isnull=False).select_related("plan")
    return list(moved.filter(Q(switched_at__gt=now() - WATCHED - EVERY) | Q(outcome={})).order_by("pk"))


def enqueue_judging() -> None:
    """Enqueue judging each hour while moves are watched. Called on every tick."""
    recent = PlacementMove.objects.filter(state__in=MOVED, switched_at__gt=now() - WATCHED - EVERY)
    asked = Job.objects.filter(kind=JOB, created_at__gt=now() - EVERY)
    if recent.exists() and not asked.exists():
        jobs.enqueue_once(JOB)


def score() -> dict[str, Any]:
    """Return the score of the advice: planned moves by verdict, and the mean promise of those judged.

    promised : mean probability of gaining, without promises from a laboratory's own runs; kept_share : of the moves
        with a known outcome; None without any
    """
    moves = PlacementMove.objects.filter(state__in=MOVED, plan__isnull=False).values_list("outcome", "advice")
    judged = [(outcome.get("verdict", UNKNOWN), advice.get("prospect") or {}) for outcome, advice in moves]
    counted = Counter(verdict for verdict, _ in judged)
    known = [(verdict, prospect) for verdict, prospect in judged if verdict != UNKNOWN]
    promised = [prospect["gaining"] for _, prospect in known if "gaining" in prospect and not prospect.get("runs")]
    return {
        "verdicts": {verdict: counted[verdict] for verdict in VERDICTS},
        "moves": len(judged),
        "promised": sum(promised) / len(promised) if promised else None,
        "kept_share": counted[KEPT] / len(known) if known else None,
    }
