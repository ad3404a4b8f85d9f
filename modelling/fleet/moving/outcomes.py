"""Judge moves by comparing disks before and after with what was promised. This is observational evidence."""

from collections import Counter
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import numpy as np
from django.db.models import Q
from django.utils.timezone import now

from experiments.models import DiskStatistics
from kdb.jobs import jobs
from kdb.models import Job
from modelling.models import PlacementMove

from .comparison import KEPT, UNKNOWN, VERDICTS, Minutes, compare

JOB = "placement_outcomes"
WATCHED = timedelta(days=7)  # before, and after
EVERY = timedelta(hours=1)
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
