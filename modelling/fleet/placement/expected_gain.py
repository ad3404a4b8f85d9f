"""Compute what moving one machine promises, from predictive distributions and never from a point. No Django.

The difference of ln throughput there and here, as a new laboratory will see it, is a mixture of normals over tau
(modelling.estimation.bayes); that of a mix of workloads is the sum of w_k times each: of what is published jointly, of
runs under one workload apart from all others.
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
from modelling.estimation.ranking import Ranking
from modelling.estimation.verdict import STRENGTHS

from .content import Prospect, Rules, Unknown

_INTERVAL = np.array([0.025, 0.5, 0.975])
_NODES = 32  # of a mixed mixture: probabilities move by less than 1e-3


Together = Callable[[tuple[str, ...], tuple[tuple[str, float], ...]], Posterior]


@dataclass(frozen=True)
class Known:
    """The knowledge that one part of an answer has of pairs of file systems.

    numbers : the sets of pairs that measured comparisons join; strength : of its verdict
    runs, moves : on the pools themselves, which stand in its pairs in place of host file systems, and that came from
        one to another; both 0: it is published
    together : gives what is published of pairs under several workloads by shares, jointly
    """

    posterior: Posterior
    numbers: tuple[frozenset[str], ...]
    strength: str
    laboratories: int
    runs: int = 0
    moves: int = 0
    together: Together | None = None

    def joins(self, pair: str, other: str) -> bool:
        """Tell whether measured comparisons lead from one to the other."""
        return any({pair, other} <= joined for joined in self.numbers)


# Workload and hypervisor to the parts of the answer.
Knowledge = Mapping[tuple[str, str], Sequence[Known]]


def known_of(ranking: Ranking, together: Together) -> tuple[Known, ...]:
    """Return what each part of a ranking of the axis fs-pair knows. together : as of Known"""
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
    """A mixture of normals: weights of sum one, means, deviations; (T,) each; ln ratio."""

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray


def difference(posterior: Posterior, there: str, here: str) -> Difference:
    """Return ln throughput of one treatment less that of another, as a new laboratory will see it."""
    places = (np.array([posterior.treatments.index(name)]) for name in (there, here))
    means, variances, extras = posterior.differences(*places)
    return Difference(posterior.weights, means[0], np.sqrt(variances[0] + extras[0]))


def mixed(parts: Sequence[tuple[float, Difference]]) -> Difference:
    """Return the sum of shares times independent differences; shares add up to 1."""
    first, *others = [Difference(d.weights, share * d.means, share * d.deviations) for share, d in parts]
    for other in others:
        one, two = _fewer(first), _fewer(other)
        both = Difference(
            np.outer(one.weights, two.weights).ravel(),
            np.add.outer(one.means, two.means).ravel(),
            np.hypot.outer(one.deviations, two.deviations).ravel(),
        )
        first = _fewer(both)
    return first


def _fewer(mixture: Difference) -> Difference:
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
    """Return E[1 - exp(-d); d > 0] - E[1 - exp(d); d < 0]: odd in d, so doubt alone is no gain."""
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
) -> Prospect | Unknown:
    """Compute what a machine will see on the host file system `there` against `here`.

    pools : the pools there and here, where runs tell them apart: these count before what is published
    """
    named = ([pools] if pools else []) + ([(there, here)] if there != here else [])
    pairs = [(pair_key(guest_fs, one), pair_key(guest_fs, other)) for one, other in named]
    total = sum(shares.values())
    parts, missing = [], {}
    for workload, share in shares.items():
        answers = knowledge.get((workload, hypervisor), ())
        known, pair = next(
            ((answer, pair) for pair in pairs for answer in answers if answer.joins(*pair)), (None, ("", ""))
        )
        if known is None:
            is_listed = any({*pair} <= set(answer.posterior.treatments) for pair in pairs for answer in answers)
            missing[workload] = "numbers" if is_listed else "answer"
        else:
            parts.append((workload, share / total, known, pair))
    if missing:
        return Unknown(missing)
    return _promised(mixed(_differences(parts)), [(share, known) for _, share, known, _ in parts], margin)


def _differences(parts: Sequence[tuple[str, float, Known, tuple[str, str]]]) -> list[tuple[float, Difference]]:
    """Return shares and independent differences: one of all workloads of which published evidence tells, one of each
    other.

    parts : workload, share, what is known and the pair it is known of
    """
    published = [part for part in parts if part[2].together]
    together = published[0][2].together if len(published) > 1 else None
    alone = [part for part in parts if not (together and part[2].together)]
    differences = [(share, difference(known.posterior, *pair)) for _, share, known, pair in alone]
    if together:  # of the pairs that numbers join to these two under all of them, as a mix ranks them
        total, pair = sum(share for _, share, *_ in published), published[0][3]
        joined = [next(names for names in known.numbers if {*pair} <= names) for _, _, known, _ in published]
        keys = tuple(sorted(frozenset.intersection(*joined)))
        shares = tuple((workload, share / total) for workload, share, *_ in published)
        differences.append((total, difference(together(keys, shares), *pair)))
    return differences


def host_prospect(evidence: Known, there: str, here: str, margin: float) -> Prospect | None:
    """Compute what a machine will see by what runs and moves say of its whole load; None where they do not join the
    two. there, here : pairs of its guest file system and a pool"""
    if not evidence.joins(there, here):
        return None
    return _promised(difference(evidence.posterior, there, here), [(1.0, evidence)], margin)


def _promised(mixture: Difference, used: Sequence[tuple[float, Known]], margin: float) -> Prospect:
    """Put a difference into what plans look at. used : share of the load and what tells of it"""
    weakest = min((known for _, known in used), key=lambda known: STRENGTHS.index(known.strength))
    means, deviations = (np.tile(part, (len(_INTERVAL), 1)) for part in (mixture.means, mixture.deviations))
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
        runs=sum(known.runs for _, known in used),
        measured=sum(share for share, known in used if known.runs or known.moves),
        moves=sum(known.moves for _, known in used),
    )


def chances(mixture: Difference, margin: float) -> tuple[float, float]:
    """Return the probability that staying is slower by the margin, and that moving is slower at all."""
    limits = np.array([[-math.log1p(-margin)], [0.0]])
    chance = mixture.weights @ ndtr((mixture.means - limits) / mixture.deviations).T
    return float(chance[0]), 1.0 - float(chance[1])


def is_sure(prospect: Prospect, rules: Rules) -> bool:
    """Tell whether the evidence carries a move."""
    return are_sure(prospect.gaining, prospect.losing, prospect.strength, rules)


def are_sure(gaining: float, losing: float, strength: str, rules: Rules) -> bool:
    """Tell whether these chances, and evidence of that strength, carry a move."""
    return (
        gaining >= rules.least_gaining
        and losing <= rules.most_losing
        and STRENGTHS.index(strength) >= STRENGTHS.index(rules.least_strength)
    )
