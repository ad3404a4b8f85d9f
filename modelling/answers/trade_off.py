"""The entries of an answer by two things at once: its metric against latency, spread and durability. No Django.

Source: docs/models/trade-off.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import chdtri, fdtri

from kdb.units import LATENCY, THROUGHPUT
from modelling.estimation.arms import spread_of_entries
from modelling.estimation.pareto import Compared, by_intervals, front, standings
from modelling.estimation.ranking import Assumptions, Entry, RankedPart, Ranking, rank
from modelling.evidence.axes import Axis

from .content import TradeEstimate, TradeOff, TradePoint

SPREAD, DURABILITY = "spread", "durability"
_SURE = 0.975  # of one side, as of a 95 % interval
_UNKNOWN = TradeEstimate(None, None, None)


@dataclass(frozen=True)
class _Thing:
    """One thing for n entries: its estimates, those for the front (larger is better), and what is sure of each two."""

    estimates: list[TradeEstimate]
    heights: list[float]
    compared: Compared


def weigh_trade_offs(
    ranking: Ranking, others: Mapping[str, pd.DataFrame], axis: Axis, assumptions: Assumptions
) -> tuple[TradeOff, ...]:
    """Return each part's entries by the ranking's metric and a second thing, where it is known of two entries or more.

    others : metric to a frame of modelling.estimation.arms.comparable_arms
    """
    against = LATENCY if ranking.metric != LATENCY else THROUGHPUT
    other = others.get(against)
    no_findings = ranking.findings.iloc[:0]
    has_other = other is not None and len(other)
    second = rank(other, no_findings, axis, assumptions, where=ranking.where).parts if has_other else ()
    spreads = spread_of_entries(ranking.arms)
    weighed = []
    for part in ranking.parts:
        entries = [entry for entry in part.entries if entry.ratio is not None]
        for there in second:
            both = [e for e in entries if e.key in there.members and there.has_numbers_between(e.key, there.reference)]
            weighed += _weighed(
                ranking.metric, part, both, against, _of_metric(there, [e.key for e in both], part.reference)
            )
        measured = [entry for entry in entries if entry.key in spreads]
        weighed += _weighed(ranking.metric, part, measured, SPREAD, _of_spread([spreads[e.key] for e in measured]))
        if any(entry.unsafe_options for entry in entries):
            weighed += _weighed(ranking.metric, part, entries, DURABILITY, _of_durability(entries, ranking.arms))
    return tuple(weighed)


def _weighed(metric: str, part: RankedPart, entries: Sequence[Entry], other: str, y: _Thing | None) -> list[TradeOff]:
    if y is None or len(entries) < 2:
        return []
    x = _of_metric(part, [entry.key for entry in entries], part.reference)
    if x is None:
        return []
    is_known = [estimate.value is not None for estimate in y.estimates]
    known = np.flatnonzero(is_known)
    if len(known) < 2:
        return []
    on_front = dict(zip(known.tolist(), front([(x.heights[i], y.heights[i]) for i in known]), strict=True))
    points = tuple(
        TradePoint(entry.key, x.estimates[i], y.estimates[i], standing, on_front.get(i))
        for i, (entry, standing) in enumerate(zip(entries, standings([x.compared, y.compared]), strict=True))
    )
    return [TradeOff(part.number, metric, other, points)]


def _of_metric(part: RankedPart, keys: Sequence[str], reference: str) -> _Thing | None:
    """Take ratios in a new laboratory, to the reference or, where that is not among them, the first."""
    if len(keys) < 2:
        return None
    reference = reference if reference in keys else keys[0]
    places = [part.members.index(key) for key in keys]
    estimates = []
    for key in keys:
        low, high = part.interval(key, reference)
        estimates.append(TradeEstimate(*np.exp([part.difference(key, reference)[0], low, high]).tolist()))
    better = part.posterior.predictive_certainties()[np.ix_(places, places)] >= _SURE
    same = np.eye(len(keys), dtype=bool)
    return _Thing(estimates, [e.value or 0.0 for e in estimates], Compared(better, better | same))


def _of_spread(spreads: Sequence[tuple[float, float]]) -> _Thing | None:
    """Take coefficients of variation, with intervals by chi square and told apart by F. Runs are taken as lognormal."""
    if len(spreads) < 2:
        return None
    freedom, variance = np.array(spreads).T
    ends = [variance, *(freedom * variance / chdtri(freedom, tail) for tail in (1 - _SURE, _SURE))]
    estimates = [TradeEstimate(*row) for row in np.sqrt(np.expm1(np.array(ends))).T.tolist()]
    less = variance[None, :] > variance[:, None] * fdtri(freedom[None, :], freedom[:, None], _SURE)
    same = np.eye(len(spreads), dtype=bool)
    return _Thing(estimates, [-(e.value or 0.0) for e in estimates], Compared(less, less | same))


def _of_durability(entries: Sequence[Entry], arms: pd.DataFrame) -> _Thing:
    """Rate writes kept where all arms state their options and none can lose any, lost where all can, else unknown."""
    options = arms[["cache_mode", "guest_mount_options", "host_mount_options"]]
    silent = set(arms["entry"][(options == "").any(axis=1)])
    kept = [not e.unsafe_options and e.key not in silent for e in entries]
    lost = [e.always_unsafe for e in entries]
    low = np.array(kept, dtype=float)
    high = 1.0 - np.array(lost, dtype=float)
    estimates = [
        TradeEstimate(float(least), float(least), float(most)) if least == most else _UNKNOWN
        for least, most in zip(low, high, strict=True)
    ]
    return _Thing(estimates, low.tolist(), by_intervals(low[:, None] - high[None, :], high[:, None] - low[None, :]))
