"""Compute the prospect of moving one machine, from predictive distributions rather than point estimates. No Django.

The difference of ln throughput there and here in a new laboratory is a mixture of normals over tau
(modelling.estimation.bayes). That of a mix of workloads is the sum of w_k times each: published ones jointly, those of
runs under one workload independently.
Source: docs/models/placement.md.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from kdb.pairs import pair_key
from modelling.estimation.bayes import Posterior, quantiles, shortfall
from modelling.estimation.machine import PLACES
from modelling.estimation.ranking import Ranking
from modelling.estimation.verdict import STRENGTHS

from .content import Possible, Prospect, Rules, Unknown

_INTERVAL = np.array([0.025, 0.5, 0.975])
_MOST_DOUBT = 0.5  # probability of a load of which nothing is known, above which nothing is said
_NODES = 32  # normals of a reduced mixture; probabilities change by less than 1e-3


Together = Callable[[tuple[str, ...], tuple[tuple[str, float], ...]], Posterior]


@dataclass(frozen=True)
class Known:
    """The knowledge of pairs of file systems from one part of an answer.

    numbers : sets of pairs connected by measured comparisons; strength : of its verdict
    runs : on the pools themselves, whose names replace the host file systems in pairs; 0 for published knowledge
    is_borrowed : whether these were under other loads
    together : function of pairs and shares of workloads to their joint posterior, of published knowledge
    """

    posterior: Posterior
    numbers: tuple[frozenset[str], ...]
    strength: str
    laboratories: int
    runs: int = 0
    is_borrowed: bool = False
    together: Together | None = None

    def joins(self, pair: str, other: str) -> bool:
        """Tell whether measured comparisons connect the two."""
        return any({pair, other} <= joined for joined in self.numbers)


# Workload and hypervisor to the parts of the answer, the first one preferred.
Knowledge = Mapping[tuple[str, str], Sequence[Known]]


def known_of(ranking: Ranking, together: Together) -> tuple[Known, ...]:
    """Return the knowledge from each part of a ranking of the axis fs-pair. together : as in Known"""
    return tuple(
        Known(
            part.posterior,
            tuple(frozenset(network.treatments) for network in part.networks),
            part.verdict.strength,
            max((entry.laboratories for entry in part.entries), default=0),
            together=together,
        )
        for part in ranking.parts
    )


class Difference(NamedTuple):
    """A mixture of normals of a ln ratio: weights, which add up to 1, means and deviations, (T,) each."""

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray


def difference(posterior: Posterior, there: str, here: str) -> Difference:
    """Return the predictive difference of ln throughput, there - here, in a new laboratory."""
    places = (np.array([posterior.treatments.index(name)]) for name in (there, here))
    means, variances, extras = posterior.differences(*places)
    return Difference(posterior.weights, means[0], np.sqrt(variances[0] + extras[0]))


def add_differences(parts: Sequence[tuple[float, Difference]]) -> Difference:
    """Return the sum of independent differences times their shares, which add up to 1."""
    first, *others = [Difference(d.weights, share * d.means, share * d.deviations) for share, d in parts]
    for other in others:
        one, two = _reduce(first), _reduce(other)
        both = Difference(
            np.outer(one.weights, two.weights).ravel(),
            np.add.outer(one.means, two.means).ravel(),
            np.hypot.outer(one.deviations, two.deviations).ravel(),
        )
        first = _reduce(both)
    return first


def _reduce(mixture: Difference) -> Difference:
    """Reduce the mixture to at most _NODES normals: neighbours in deviation joined, with their mean and variance."""
    if len(mixture.weights) <= _NODES:
        return mixture
    order = np.argsort(mixture.deviations)
    weights, means, deviations = (column[order] for column in mixture)
    place = np.minimum((np.cumsum(weights) - weights / 2) * _NODES, _NODES - 1).astype(int)
    total = np.bincount(place, weights, _NODES)
    kept = total > 0
    total = total[kept]
    mean = np.bincount(place, weights * means, _NODES)[kept] / total
    square = np.bincount(place, weights * (means**2 + deviations**2), _NODES)[kept] / total
    return Difference(total, mean, np.sqrt(np.maximum(square - mean**2, 0.0)))


def expected_gain(mixture: Difference) -> float:
    """Return E[1 - exp(-d); d > 0] - E[1 - exp(d); d < 0], which is odd in d, so that uncertainty alone is no gain."""
    weights, means, deviations = mixture
    below, above = ndtr(-means / deviations), ndtr(means / deviations)
    return float(weights @ (shortfall(-means, deviations, above) - shortfall(means, deviations, below)))


def prospect(
    knowledge: Knowledge,
    hypervisor: str,
    guest_fs: str,
    shares: Mapping[str, float],
    there: str,
    here: str,
    margin: float,
    pools: tuple[str, str] | None = None,
    others: Sequence[Possible] = (),
) -> Prospect | Unknown:
    """Compute the prospect of a machine on the host file system `there` against `here`.

    pools : the pools there and here, if runs compared them; these take precedence over published knowledge
    others : what it may do instead of the shares. Unknown where it most likely does what nothing is known of
    """
    named = ([pools] if pools else []) + ([(there, here)] if there != here else [])
    pairs = [(pair_key(guest_fs, one), pair_key(guest_fs, other)) for one, other in named]
    first = 1.0 - sum(other.probability for other in others)
    ways: list[Difference] = []
    used: list[tuple[float, Known]] = []
    missing, doubt = [], 0.0
    for probability, doing in (Possible(first, shares), *others):
        parts, lacks = _evidence_of_mix(knowledge, hypervisor, doing, pairs)
        if lacks:
            missing += lacks
            doubt += probability
        else:
            weights, means, deviations = add_differences(_differences(parts))
            ways.append(Difference(probability * weights, means, deviations))
            used += [(probability * share, known) for _, share, known, _ in parts]
    if doubt > _MOST_DOUBT:
        return Unknown(tuple(dict.fromkeys(missing)))
    if doubt:
        ways.append(Difference(np.array([doubt]), np.zeros(1), np.array([np.sqrt(2) * PLACES])))
    return _make_prospect(Difference(*map(np.concatenate, zip(*ways, strict=True))), used, doubt, margin)


def _evidence_of_mix(
    knowledge: Knowledge, hypervisor: str, shares: Mapping[str, float], pairs: Sequence[tuple[str, str]]
) -> tuple[list[tuple[str, float, Known, tuple[str, str]]], list[str]]:
    """Return the evidence on each workload of a mix, and the workloads without any.

    The evidence is workload, share of all, knowledge, and the pair of the pairs that it compares.
    """
    total, parts, missing = sum(shares.values()), [], []
    for workload, share in shares.items():
        answers = knowledge.get((workload, hypervisor), ())
        known, pair = next(
            ((answer, pair) for pair in pairs for answer in answers if answer.joins(*pair)), (None, ("", ""))
        )
        if known is None:
            missing.append(workload)
        else:
            parts.append((workload, share / total, known, pair))
    return parts, missing


def _differences(parts: Sequence[tuple[str, float, Known, tuple[str, str]]]) -> list[tuple[float, Difference]]:
    """Return shares and independent differences: one for all workloads with published knowledge, one for each other.

    parts : workload, share, knowledge, and its pair
    """
    published = [part for part in parts if part[2].together]
    together = published[0][2].together if len(published) > 1 else None
    alone = [part for part in parts if not (together and part[2].together)]
    differences = [(share, difference(known.posterior, *pair)) for _, share, known, pair in alone]
    if together:  # with all pairs connected to these two under every workload, as in rankings of mixes
        total, pair = sum(share for _, share, *_ in published), published[0][3]
        joined = [next(names for names in known.numbers if {*pair} <= names) for _, _, known, _ in published]
        keys = tuple(sorted(frozenset.intersection(*joined)))
        shares = tuple((workload, share / total) for workload, share, *_ in published)
        differences.append((total, difference(together(keys, shares), *pair)))
    return differences


def _make_prospect(mixture: Difference, used: Sequence[tuple[float, Known]], doubt: float, margin: float) -> Prospect:
    """Summarise a difference as a prospect. used : shares of the load, with their knowledge; doubt : as of Prospect"""
    weakest = min((known for _, known in used), key=lambda known: STRENGTHS.index(known.strength))
    means, deviations = (np.tile(part, (len(_INTERVAL), 1)) for part in (mixture.means, mixture.deviations))
    own = {id(known): known for _, known in used if not known.is_borrowed}.values()
    low, middle, high = np.exp(quantiles(means, deviations, mixture.weights, _INTERVAL)).tolist()
    gaining, losing = chances(mixture, margin)
    return Prospect(
        ratio=middle,
        low=low,
        high=high,
        gain=expected_gain(mixture),
        gaining=gaining,
        losing=losing,
        strength=weakest.strength,
        laboratories=weakest.laboratories,
        runs=max(sum(known.runs for known in own), max((known.runs for _, known in used), default=0)),
        measured=sum(share for share, known in used if known.runs and not known.is_borrowed),
        borrowed=sum(share for share, known in used if known.is_borrowed),
        doubt=doubt,
    )


def chances(mixture: Difference, margin: float) -> tuple[float, float]:
    """Return the probabilities of gaining the margin, and of losing at all."""
    limits = np.array([[-math.log1p(-margin)], [0.0]])
    chance = mixture.weights @ ndtr((mixture.means - limits) / mixture.deviations).T
    return float(chance[0]), 1.0 - float(chance[1])


def is_sure(prospect: Prospect, rules: Rules) -> bool:
    """Tell whether the evidence suffices for a move."""
    return (
        prospect.gaining >= rules.least_gaining
        and prospect.losing <= rules.most_losing
        and STRENGTHS.index(prospect.strength) >= STRENGTHS.index(rules.least_strength)
    )
