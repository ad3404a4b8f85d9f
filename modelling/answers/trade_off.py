"""Weigh the metric of an answer against latency, spread and durability, for Pareto fronts. No Django.

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
_SURE = 0.975  # one-sided probability of a 95 % interval
_UNKNOWN = TradeEstimate(None, None, None)


@dataclass(frozen=True)
class _Objective:
    """One objective for n entries. heights : values for the front, larger is better; compared : certainties by pair"""

    estimates: list[TradeEstimate]
    heights: list[float]
    compared: Compared


def weigh_trade_offs(
    ranking: Ranking, others: Mapping[str, pd.DataFrame], axis: Axis, assumptions: Assumptions
) -> tuple[TradeOff, ...]:
    """Return each part's entries by the ranking's metric and a second objective that is known of two entries or more.

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
            weighed += _trade_off(
                ranking.metric, part, both, against, _ratios(there, [e.key for e in both], part.reference)
            )
        measured = [entry for entry in entries if entry.key in spreads]
        weighed += _trade_off(ranking.metric, part, measured, SPREAD, _spreads([spreads[e.key] for e in measured]))
        if any(entry.unsafe_options for entry in entries):
            weighed += _trade_off(ranking.metric, part, entries, DURABILITY, _durabilities(entries, ranking.arms))
    return tuple(weighed)


def _trade_off(
    metric: str, part: RankedPart, entries: Sequence[Entry], other: str, y: _Objective | None
) -> list[TradeOff]:
    if y is None or len(entries) < 2:
        return []
    x = _ratios(part, [entry.key for entry in entries], part.reference)
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


def _ratios(part: RankedPart, keys: Sequence[str], reference: str) -> _Objective | None:
    """Return ratios in a new laboratory, to the reference or, where keys lack that, to the first."""
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
    return _Objective(estimates, [e.value or 0.0 for e in estimates], Compared(better, better | same))


def _spreads(spreads: Sequence[tuple[float, float]]) -> _Objective | None:
    """Return coefficients of variation of lognormal runs, with chi-square intervals, compared by F tests.

    spreads : degrees of freedom and variance of ln(value), by entry
    """
    if len(spreads) < 2:
        return None
    freedom, variance = np.array(spreads).T
    ends = [variance, *(freedom * variance / chdtri(freedom, tail) for tail in (1 - _SURE, _SURE))]
    estimates = [TradeEstimate(*row) for row in np.sqrt(np.expm1(np.array(ends))).T.tolist()]
    less = variance[None, :] > variance[:, None] * fdtri(freedom[None, :], freedom[:, None], _SURE)
    same = np.eye(len(spreads), dtype=bool)
    return _Objective(estimates, [-(e.value or 0.0) for e in estimates], Compared(less, less | same))


def _durabilities(entries: Sequence[Entry], arms: pd.DataFrame) -> _Objective:
    """Rate durability 1 where all arms state their options and none can lose writes, 0 where all can, else unknown."""
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
    return _Objective(estimates, low.tolist(), by_intervals(low[:, None] - high[None, :], high[:, None] - low[None, :]))
