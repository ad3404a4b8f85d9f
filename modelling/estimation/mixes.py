"""Rank entries for a mix of workloads by the weighted geometric mean of their throughputs. No Django.

For workloads k with shares w_k (sum 1), ln speed of an entry in the mix is the sum of w_k times its ln speed under k in
one laboratory, jointly estimated, as workloads share effects there. Entries without numbers under some workload are not
ranked: a missing number is neither zero nor average. See docs/models/mixes.md.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import pandas as pd

from kdb.content import Among
from modelling.evidence.axes import Axis

from .bayes import Forecast, Posterior
from .cells import entry_rows
from .hierarchy import Knowledge
from .ranking import RankedPart, Ranking, part_links, verdict_between
from .recommendation import Option, Recommended, recommend
from .verdict import DIFFER, ENTRY_KINDS, NOT_KNOWN, EntryForecast, Verdict, ladder

_ENDS = (0.025, 0.975)


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
    verdict: Annotated[str, Among(ENTRY_KINDS)]


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
    kind, against : as in modelling.estimation.verdict.Ladder; recommended : of the entries
    """

    entries: tuple[MixEntry, ...]
    ranges: tuple[Range, ...]
    left_out: dict[str, tuple[str, ...]]
    unmeasured: dict[str, tuple[str, ...]]
    kind: str = NOT_KNOWN
    against: int | None = None
    recommended: Recommended = field(default_factory=Recommended)


JointPosterior = Callable[[Sequence[str]], Posterior]


def joint_posterior(
    knowledge: Knowledge, axis: Axis, shares: Mapping[str, float], where: Mapping[str, Mapping[str, str]]
) -> JointPosterior:
    """Return a function from keys to the posterior of entries in the mix.

    shares : of sum one; where : of each workload, as for rank
    """

    def posterior(keys: Sequence[str]) -> Posterior:
        rows = [
            entry_rows(axis, keys, knowledge, where[workload]).assign(share=share) for workload, share in shares.items()
        ]
        return knowledge.posterior(pd.concat(rows))

    return posterior


def mix(
    rankings: Mapping[str, Ranking],
    weights: Mapping[str, float],
    posterior: JointPosterior,
    margin: float = 0.1,
    differ: float = DIFFER,
) -> Mix:
    """Rank by the weighted geometric mean; weights are positive and need not add up to 1.

    posterior : of `joint_posterior`; margin, differ : as of an answer
    """
    total = sum(weights.values())
    shares = {workload: weight / total for workload, weight in weights.items() if weight > 0}
    places = {workload: _places(rankings[workload]) for workload in shares}
    everyone = sorted({key for of_workload in places.values() for key in of_workload})
    joined: dict[tuple[int, ...], list[str]] = {}
    for key in everyone:
        if all(key in of_workload for of_workload in places.values()):
            joined.setdefault(tuple(of_workload[key][1] for of_workload in places.values()), []).append(key)
    ranked = max(joined.values(), key=len, default=[])
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
    beside: set[str] = set()
    if len(parts) == 1:  # with one workload, all its entries are compared with the best
        (part,) = parts.values()
        beside = {entry.key for entry in part.entries if entry.may_be_recommended} - {*ranked}
    known = posterior([*ranked, *sorted(beside)])
    effects = dict(zip(known.treatments, known.effects.tolist(), strict=True))
    order = sorted(ranked, key=lambda key: -effects[key])
    best = order[0]
    leads = np.array([effects[key] - effects[best] for key in order])
    among = known.select(np.array([known.treatments.index(key) for key in order]))
    scores = (among.predictive_certainties().sum(axis=1) - 0.5) / max(len(order) - 1, 1)
    means = known.forecast(margin)
    at = [known.treatments.index(key) for key in order]
    forecast = Forecast(means.best[at], means.slower[at], means.loss[at])
    intervals = among.predictive_quantiles(np.arange(len(order)), np.zeros(len(order), dtype=int), _ENDS)
    links = [part_links(part, rankings[workload].arms) for workload, part in parts.items()]
    choices = [
        EntryForecast(
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
        MixEntry(
            key=key,
            rank=n + 1,
            ratio=math.exp(leads[n]),
            low=math.exp(intervals[n, 0]),
            high=math.exp(intervals[n, 1]),
            tied=n > 0 and bool(intervals[n, 1] >= 0),
            p_score=float(scores[n]),
            parts={workload: math.exp(_difference(parts[workload], key, best)) for workload in shares},
            probability_best=float(forecast.best[n]),
            probability_slower=choices[n].slower,
            expected_loss=100 * choices[n].loss,
            verdict=verdict,
        )
        for n, (key, verdict) in enumerate(zip(order, steps.verdicts, strict=True))
    )
    ranges = tuple(_range(workload, order, leads, parts[workload], shares[workload]) for workload in shares)
    groups = [max(choice.groups for choice in choices[1:]), *(choice.groups for choice in choices[1:])]
    options = [
        Option(entry.key, count, verdict=entry.verdict, place=entry.rank)
        for entry, count in zip(entries, groups, strict=True)
    ]
    recommended = recommend(options, among, steps.kind, margin)
    return Mix(entries, ranges, left_out, unmeasured, steps.kind, steps.against, recommended)


def verdicts_by_share(mixed: Mix, rankings: Mapping[str, Ranking]) -> dict[str, Verdict]:
    """Return workload to the verdict on the mix by that workload's evidence; {} where nothing is ranked.

    The kind is the mix's; strength and contrast rest on the workload's evidence on the two entries that decide the mix.
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
    """Return the part that has numbers of the entry. Raises KeyError where none has."""
    return _places(ranking)[key][0]


def _places(ranking: Ranking) -> dict[str, tuple[RankedPart, int]]:
    """Return entry to its part and the number of its network, for entries with numbers that may be recommended."""
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


def _difference(part: RankedPart, a: str, b: str) -> float:
    return part.difference(a, b)[0] if a != b else 0.0


def _range(workload: str, order: list[str], leads: np.ndarray, part: RankedPart, share: float) -> Range:
    """Return the shares of this workload between which the first entry stays first.

    leads : (n,) of all entries over the first, <= 0; part : of this workload
    """
    low, high, below, above = 0.0, 1.0, None, None
    if share == 1:
        return Range(workload, share, low, high, below, above)
    for other, lead in zip(order[1:], leads[1:].tolist(), strict=True):
        here = _difference(part, order[0], other)
        elsewhere = (-lead - share * here) / (1 - share)
        if here == elsewhere:
            continue
        turn = elsewhere / (elsewhere - here)  # the share at which the two are equal
        if here > elsewhere and low < turn <= share:
            low, below = turn, other
        elif here < elsewhere and share <= turn < high:
            high, above = turn, other
    return Range(workload, share, low, high, below, above)
