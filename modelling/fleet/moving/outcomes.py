"""The outcomes of moves: disks before and after, held against what was promised. Observational evidence."""

from collections import Counter
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import numpy as np
from django.db.models import Q
from django.utils.timezone import now

from experiments.models import DiskStatistics
from kdb.models import Job
from kdb.work import jobs
from modelling.models import PlacementMove

from .before_after import KEPT, UNKNOWN, VERDICTS, WORSE, Minutes, compare

__all__ = ["KEPT", "UNKNOWN", "VERDICTS", "WORSE", "judge", "look_after", "score", "work_out"]

JOB = "placement_outcomes"
WATCHED = timedelta(days=7)  # before, and after
EVERY = timedelta(hours=1)
_FIELDS = ("seconds", "reads", "writes", "read_bytes", "write_bytes", "read_seconds", "write_seconds", "flush_seconds")

State = PlacementMove.State
MOVED = (State.KEPT, State.DONE, State.UNDONE)


def judge(move: PlacementMove) -> dict[str, Any]:
    """Compare before with after as far as it is known now, as JSON. The time of copying is left out of both."""
    begin, end = move.started_at or move.asked_at, move.switched_at or now()
    back = move.ways_back.exclude(switched_at=None).first()
    until = min(end + WATCHED, back.started_at or back.asked_at) if back else end + WATCHED
    margin = move.plan.rules.get("margin", 0.1) if move.plan else 0.1
    comparison = compare(_minutes(move, begin - WATCHED, begin), _minutes(move, end, until), margin, seed=move.pk)
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


def work_out(run: jobs.JobRun) -> None:
    """Judge the moves whose time after is not over, and those never judged."""
    for done, move in enumerate(_due(), start=1):
        PlacementMove.objects.filter(pk=move.pk).update(outcome=judge(move))
        run.step(done)


def _due() -> list[PlacementMove]:
    moved = PlacementMove.objects.filter(state__in=MOVED, machine__isnull=False).select_related("plan")
    return list(moved.filter(Q(switched_at__gt=now() - WATCHED - EVERY) | Q(outcome={})).order_by("pk"))


def look_after() -> None:
    """Have the outcomes worked out anew each hour, while there is something to learn. On every tick."""
    recent = PlacementMove.objects.filter(state__in=MOVED, switched_at__gt=now() - WATCHED - EVERY)
    asked = Job.objects.filter(kind=JOB, created_at__gt=now() - EVERY)
    if recent.exists() and not asked.exists():
        jobs.enqueue_once(JOB)


def score() -> dict[str, Any]:
    """Return the score of the advice: number of planned moves by verdict, and what was promised for those judged.

    promised : mean probability of gaining, but for what a laboratory's own runs promised; kept_share : of the moves
        whose outcome could be told; None without any
    """
    moves = PlacementMove.objects.filter(state__in=MOVED, plan__isnull=False).values_list("outcome", "advice")
    judged = [(outcome.get("verdict", UNKNOWN), advice.get("prospect") or {}) for outcome, advice in moves]
    counted = Counter(verdict for verdict, _ in judged)
    told = [(verdict, prospect) for verdict, prospect in judged if verdict != UNKNOWN]
    promised = [prospect["gaining"] for _, prospect in told if "gaining" in prospect and not prospect.get("runs")]
    return {
        "verdicts": {verdict: counted[verdict] for verdict in VERDICTS},
        "moves": len(judged),
        "promised": sum(promised) / len(promised) if promised else None,
        "kept_share": counted[KEPT] / len(told) if told else None,
    }
