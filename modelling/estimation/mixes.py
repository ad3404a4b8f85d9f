"""A mix of workloads: entries ranked by the weighted geometric mean of their throughputs. No Django.

For workloads k with shares w_k (sum 1), ln ratio of a to b in the mix is the sum of w_k times their estimated ln ratio
under k. The evidence of different workloads is taken as independent, so variances, and the squares of the distances
from estimate to either end of the interval, add with w_k squared (Zou and Donner 2008, 10.1002/sim.3095). What a choice
means in a new laboratory is read off the normal distribution with these variances. Entries that some workload has no
numbers for are not ranked: a missing number is neither zero nor average. See docs/models/mixes.md.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kdb.content import Among

from .bayes import Forecast, forecast
from .network import p_scores
from .ranking import RankedPart, Ranking, links_of, verdict_between
from .verdict import CHOICES, DIFFER, EARLIER_CHOICES, NOT_KNOWN, Choice, Verdict, ladder


@dataclass(frozen=True)
class MixEntry:
    """One line of the ranking."""

    key: str
    rank: int
    ratio: Annotated[float, "Of the mix against the best, in the metric: a weighted geometric mean."]
    low: Annotated[float, "Of its 95 % interval."]
    high: float
    tied: Annotated[bool, "Whether the evidence cannot tell it from the best."]
    p_score: float  # mean certainty of being better than another entry
    parts: Annotated[dict[str, float], "Workload to ratio against the best."]
    probability_best: Annotated[float, "In a new laboratory, 0 to 1."]
    probability_slower: Annotated[float, "Than the best by the margin, 0 to 1."]
    expected_loss: Annotated[float, "Percent of the best's, when it is chosen."]
    verdict: Annotated[str, Among([*CHOICES, *EARLIER_CHOICES])]


@dataclass(frozen=True)
class Range:
    """Shares of a workload, the others in proportion, for which the best stays the best."""

    workload: str
    share: float
    low: float
    high: float
    below: Annotated[str | None, "Best below `low`."]
    above: Annotated[str | None, "Best above `high`."]


@dataclass(frozen=True)
class Mix:
    """The ranking of a mix.

    left_out : entry to the workloads that have no numbers joining it to the ranked ones
    unmeasured : of these, entry to the workloads that have no comparable numbers of it at all
    kind, against : as of modelling.estimation.verdict.Ladder
    """

    entries: tuple[MixEntry, ...]
    ranges: tuple[Range, ...]
    left_out: dict[str, tuple[str, ...]]
    unmeasured: dict[str, tuple[str, ...]]
    kind: str = NOT_KNOWN
    against: int | None = None

    def having(self, verdict: str) -> tuple[str, ...]:
        """Return the keys of the entries with this verdict, best first."""
        return tuple(entry.key for entry in self.entries if entry.verdict == verdict)


def mix(
    rankings: Mapping[str, Ranking], weights: Mapping[str, float], margin: float = 0.1, differ: float = DIFFER
) -> Mix:
    """Rank by the weighted geometric mean; weights are positive and need not add up to 1.

    margin, differ : as of an answer
    """
    total = sum(weights.values())
    shares = {workload: weight / total for workload, weight in weights.items() if weight > 0}
    places = {workload: _places(rankings[workload]) for workload in shares}
    everyone = sorted({key for of_workload in places.values() for key in of_workload})
    groups: dict[tuple[int, ...], list[str]] = {}
    for key in everyone:
        if all(key in of_workload for of_workload in places.values()):
            groups.setdefault(tuple(of_workload[key][1] for of_workload in places.values()), []).append(key)
    ranked = max(groups.values(), key=len, default=[])
    if len(ranked) < 2:
        ranked = []
    left_out = {
        key: tuple(w for w, of_workload in places.items() if key not in of_workload or _apart(of_workload, key, ranked))
        for key in everyone
        if key not in ranked
    }
    unmeasured = {key: tuple(w for w in missing if key not in places[w]) for key, missing in left_out.items()}
    if not ranked:
        return Mix((), (), left_out, unmeasured)
    parts = {workload: of_workload[ranked[0]][0] for workload, of_workload in places.items()}
    pairs = _Pairs(parts, shares)
    order = sorted(ranked, key=lambda key: -pairs.difference(key, ranked[0])[0])
    best = order[0]
    errors = np.array([[pairs.difference(a, b)[1] for b in order] for a in order])
    leads = np.array([pairs.difference(key, best)[0] for key in order])
    scores = p_scores(leads, errors)
    forecast = _forecast(order, leads, errors, pairs, margin)
    links = [links_of(part, rankings[workload].arms) for workload, part in parts.items()]
    choices = [
        Choice(
            -math.expm1(lead),
            slower,
            loss,
            groups=min(link.groups(best, key) for link in links),
            factor=min(links[0].measured(best, key).values(), default=None) if len(links) == 1 else None,
        )
        for key, lead, slower, loss in zip(
            order, leads.tolist(), forecast.slower.tolist(), forecast.loss.tolist(), strict=True
        )
    ]
    is_whole = not left_out and all(len(rankings[workload].parts) == 1 for workload in shares)
    if len(parts) == 1:
        is_whole = all(len(rankings[workload].parts) == 1 for workload in shares)
    steps = ladder(choices, margin, differ=differ, is_whole=is_whole)
    entries = tuple(
        _entry(key, n + 1, best, float(scores[n]), pairs, float(forecast.best[n]), choices[n], verdict)
        for n, (key, verdict) in enumerate(zip(order, steps.verdicts, strict=True))
    )
    ranges = tuple(_range(workload, order, pairs) for workload in shares)
    return Mix(entries, ranges, left_out, unmeasured, steps.kind, steps.against)


def verdicts(mixed: Mix, rankings: Mapping[str, Ranking]) -> dict[str, Verdict]:
    """Return the verdict on the mix as each share bears it: workload to kind, strength and its steps.

    The kind is the mix's own and the same in each; strength and contrast are those of the share's evidence on the two
    that decide the mix. Empty where nothing is ranked.
    """
    if mixed.against is None:
        return {}
    one, other = mixed.entries[0], mixed.entries[mixed.against]
    parts = {workload: part_of(rankings[workload], one.key) for workload in one.parts}
    return {
        workload: verdict_between(rankings[workload], part, mixed.kind, one.key, other.key)
        for workload, part in parts.items()
    }


def part_of(ranking: Ranking, key: str) -> RankedPart:
    """Return the part in which numbers speak of the entry. Raises KeyError where there is none."""
    return _places(ranking)[key][0]


def _forecast(order: list[str], leads: np.ndarray, errors: np.ndarray, pairs: "_Pairs", margin: float) -> Forecast:
    """Forecast what choosing each entry means in a new laboratory.

    leads : (n,) ln ratios against the first; errors : (n, n)
    """
    if len(pairs.parts) == 1:  # its own forecast, which the normal one below would only approximate
        (part,) = pairs.parts.values()
        safe = [entry.key for entry in part.entries if entry.may_be_recommended and entry.key not in order]
        every = part.posterior.among(np.array([part.members.index(key) for key in [*order, *safe]])).forecast(margin)
        ranked = slice(len(order))
        return Forecast(every.best[ranked], every.slower[ranked], every.loss[ranked])
    squares = errors**2
    covariance = (squares[:, :1] + squares[:1, :] - squares) / 2  # of the ln ratios against the first
    return forecast(np.ones(1), leads[None], covariance[None], margin)


def _places(ranking: Ranking) -> dict[str, tuple[RankedPart, int]]:
    """Return entry to the part it is in and the number of its network; entries without numbers have no place, nor those
    that may not be recommended."""
    places: dict[str, tuple[RankedPart, int]] = {}
    number = 0
    for part in ranking.parts:
        barred = {entry.key for entry in part.entries if not entry.may_be_recommended}
        for network in part.networks:
            number += 1
            places |= {key: (part, number) for key in network.treatments if key not in barred}
    return places


def _apart(places: Mapping[str, tuple[RankedPart, int]], key: str, ranked: list[str]) -> bool:
    return bool(ranked) and places[key][1] != places[ranked[0]][1]


class _Pairs:
    """ln ratios of pairs in the mix, with what a new laboratory will see of them."""

    def __init__(self, parts: Mapping[str, RankedPart], shares: Mapping[str, float]) -> None:
        self.parts, self.shares = parts, shares

    def difference(self, a: str, b: str) -> tuple[float, float]:
        if a == b:
            return 0.0, 0.0
        predictions = [(share, *self.parts[workload].prediction(a, b)) for workload, share in self.shares.items()]
        effect = sum(share * effect for share, effect, _ in predictions)
        return effect, math.sqrt(sum((share * error) ** 2 for share, _, error in predictions))

    def interval(self, a: str, b: str) -> tuple[float, float]:
        """Return the 95 % interval for a new laboratory."""
        if a == b:
            return 0.0, 0.0
        effect, below, above = 0.0, 0.0, 0.0
        for workload, share in self.shares.items():
            part = self.parts[workload]
            middle, (low, high) = part.difference(a, b)[0], part.interval(a, b)
            effect += share * middle
            below += (share * (middle - low)) ** 2
            above += (share * (high - middle)) ** 2
        return effect - math.sqrt(below), effect + math.sqrt(above)

    def under(self, workload: str, a: str, b: str) -> float:
        return self.parts[workload].difference(a, b)[0] if a != b else 0.0


def _entry(
    key: str, rank: int, best: str, p_score: float, pairs: _Pairs, is_best: float, choice: Choice, verdict: str
) -> MixEntry:
    """Return an entry of the mix. is_best : its probability"""
    effect, (low, high) = pairs.difference(key, best)[0], pairs.interval(key, best)
    return MixEntry(
        key=key,
        rank=rank,
        ratio=math.exp(effect),
        low=math.exp(low),
        high=math.exp(high),
        tied=key != best and high >= 0,
        p_score=p_score,
        parts={workload: math.exp(pairs.under(workload, key, best)) for workload in pairs.shares},
        probability_best=is_best,
        probability_slower=choice.slower,
        expected_loss=100 * choice.loss,
        verdict=verdict,
    )


def _range(workload: str, order: list[str], pairs: _Pairs) -> Range:
    """Find where the first of the mix stops being first as this workload's share moves."""
    best, share = order[0], pairs.shares[workload]
    low, high, below, above = 0.0, 1.0, None, None
    if share == 1:
        return Range(workload, share, low, high, below, above)
    for other in order[1:]:
        here = pairs.under(workload, best, other)
        elsewhere = (pairs.difference(best, other)[0] - share * here) / (1 - share)
        if here == elsewhere:
            continue
        turn = elsewhere / (elsewhere - here)  # the share at which the two are equal
        if here > elsewhere and low < turn <= share:
            low, below = turn, other
        elif here < elsewhere and share <= turn < high:
            high, above = turn, other
    return Range(workload, share, low, high, below, above)
