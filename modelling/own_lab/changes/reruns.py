"""Holds a suspicion against what was measured side by side since: old release or neighbour choice, in one block.

Only later sittings count: those that raised the suspicion would confirm whatever they showed by chance.
Source: docs/models/change.md.
"""

from collections.abc import Mapping, Sequence
from math import log, sqrt

import numpy as np
from django.db.models import Max

from modelling.models import SeriesChange, Sitting

from . import gather
from .content import Fact, Series
from .statistics.student import RESOLUTION, Difference, difference, judged

MOST = 60  # later sittings that are read
_OLD = ""  # the series itself with all that was new taken back, among the keys of its neighbours


def compare_reruns(change: SeriesChange, until: Sitting | None = None) -> Difference | None:
    """Return by how much the series differs from before, against what stood in the same blocks; None: nothing did. Five
    queries at most.

    until : the last sitting that counts
    """
    series = Series.of(change.about)
    rows = gather.sittings_of(change.laboratory, series).filter(ended_at__gt=change.shown_by.ended_at)
    if until is not None:
        rows = rows.filter(ended_at__lte=until.ended_at)
    known = [fact for fact in (Fact(**fact) for fact in change.facts) if fact.before and fact.after]
    old = {fact.name: fact.before for fact in known}
    later = [_blocks(sitting, series.key, old) for sitting in reversed(rows[:MOST])]
    pairs = _against_old(later, series.key)
    if len(pairs) > 1:
        error = max(float(np.std(pairs, ddof=1)), RESOLUTION) / sqrt(len(pairs))
        return judged(float(np.mean(pairs)), error, len(pairs) - 1)
    earlier = change.earlier.order_by("-ended_at").prefetch_related("runs")
    others = SeriesChange.objects.filter(laboratory=change.laboratory_id, series=change.series)
    level = others.filter(sitting__in=change.earlier.all()).aggregate(began=Max("sitting__ended_at"))["began"]
    if level is not None:
        earlier = earlier.filter(ended_at__gte=level)
    before = _against_neighbours([_blocks(sitting, series.key, {}) for sitting in earlier[:MOST]], series.key)
    after = _against_neighbours(later, series.key)
    both = [(before[other], after[other]) for other in sorted({*before} & {*after}) if len(before[other]) > 1]
    if not both:
        return None
    most = max(both, key=lambda sides: len(sides[1]))
    return difference(*(np.array(side) for side in most))


def _blocks(sitting: Sitting, key: str, old: Mapping[str, str]) -> list[dict[str, float]]:
    """Return for each block of a sitting the mean ln speed of what it measured, by series."""
    names = [series.key for series, _ in gather.series_of(sitting)]
    for place, name in enumerate(names):
        if name == key and old and old.items() <= gather.facts_of(sitting, [place]).items():
            names[place] = _OLD
    blocks: dict[int, dict[str, list[float]]] = {}
    for run in sitting.runs.all():
        if run.value is not None and not run.disturbed:
            blocks.setdefault(run.block, {}).setdefault(names[run.choice], []).append(log(run.value))
    return [{name: float(np.mean(speeds)) for name, speeds in block.items()} for block in blocks.values()]


def _against_old(sittings: Sequence[list[dict[str, float]]], key: str) -> list[float]:
    """Return new less old of each block that has both, and of each sitting on the old release with the next on the new:
    a kernel cannot change within a block."""
    pairs: list[float] = []
    waiting: float | None = None
    for blocks in sittings:
        new, past = ([block[name] for block in blocks if name in block] for name in (key, _OLD))
        pairs += [block[key] - block[_OLD] for block in blocks if key in block and _OLD in block]
        if past and not new:
            waiting = float(np.mean(past))
        elif new and not past and waiting is not None:
            pairs.append(float(np.mean(new)) - waiting)
            waiting = None
    return pairs


def _against_neighbours(sittings: Sequence[list[dict[str, float]]], key: str) -> dict[str, list[float]]:
    """Return by how much the series was faster (ln) than each other series: one number a sitting, the mean over its
    blocks that have both."""
    faster_by: dict[str, list[float]] = {}
    for blocks in sittings:
        for other in {name for block in blocks if key in block for name in block} - {key, _OLD}:
            differences = [block[key] - block[other] for block in blocks if key in block and other in block]
            faster_by.setdefault(other, []).append(float(np.mean(differences)))
    return faster_by
