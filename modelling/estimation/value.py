"""The worth of one more laboratory, before anybody measures. No Django.

A choice by the posterior means m of the effects gains max m. A laboratory that measures i and j side by side sees
d = effect(i) - effect(j) + noise, and moves the means by b Z, with Z standard normal and

    b = C (e_i - e_j) / sqrt(C_ii + C_jj - 2 C_ij + tau² + s²)

where C is the effects' covariance and s² the variance of its own repetitions. So it is worth
E[max (m + b Z)] - max m >= 0, in ln ratio, closed: the expectation of the largest of n lines.
Source: Frazier, Powell and Dayanik 2009 (10.1287/ijoc.1080.0314); docs/models/verdict.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import ndtr

from .bayes import Posterior

_MOST = 8  # entries that are looked at: those with the largest means


@dataclass(frozen=True)
class Comparison:
    """Two entries to be measured side by side; gain : expected, as a share of the value of what is chosen."""

    a: str
    b: str
    gain: float


def most_telling(estimate: Posterior, noise: float) -> list[Comparison]:
    """Return the comparisons that one more laboratory could make, from the one worth most.

    noise : variance of ln ratio from the laboratory's own repetitions, >= 0
    Of pairs of the eight entries that come first; tau² and the covariance are means over the mixture.
    """
    fit = estimate.fit()
    noise += float(estimate.weights @ estimate.taus**2)
    first = np.argsort(-fit.effects, kind="stable")[:_MOST]
    pairs = []
    for i, j in combinations(first, 2):
        towards = fit.covariance[:, i] - fit.covariance[:, j]
        moves = towards / np.sqrt(towards[i] - towards[j] + noise)
        gain = float(np.expm1(expected_gain(fit.effects, moves)))
        pairs.append(Comparison(estimate.treatments[i], estimate.treatments[j], gain))
    return sorted(pairs, key=lambda pair: -pair.gain)


def expected_gain(means: Sequence[float] | np.ndarray, moves: Sequence[float] | np.ndarray) -> float:
    """Return E[max (means + moves Z)] - max means, Z standard normal; (n,) each.

    Only lines of the upper envelope count: between neighbours, which meet at z, the slope grows by s, and the
    expectation by s (phi(z) - |z| Phi(-|z|)).
    """
    means, moves = np.asarray(means, float), np.asarray(moves, float)
    order = np.lexsort((means, moves))
    means, moves = means[order], moves[order]
    envelope: list[int] = []
    crossings: list[float] = []  # where each line of the envelope overtakes the one before
    for line in range(len(means)):
        while envelope:
            last = envelope[-1]
            if moves[line] == moves[last]:  # the higher of two parallel lines, which comes second
                crossing = -np.inf
            else:
                crossing = (means[last] - means[line]) / (moves[line] - moves[last])
            if len(envelope) > 1 and crossing <= crossings[-1]:
                envelope.pop()
                crossings.pop()
            elif crossing == -np.inf:
                envelope.pop()
            else:
                crossings.append(crossing)
                break
        envelope.append(line)
    z = -np.abs(np.array(crossings))
    steps = np.diff(moves[envelope])
    return float(steps @ (np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) + z * ndtr(z)))
