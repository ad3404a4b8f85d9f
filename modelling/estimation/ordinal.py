"""Estimate effects from tier lists, taken as paired comparisons. No Django.

A statement that i stands above j is a paired comparison: its probability is logistic in
(theta_i - theta_j) / scale, theta on the scale of the network estimate (ln ratio). The log likelihood, that of the
Bradley-Terry model, is concave and maximised by Newton steps.

Sources: Bradley and Terry 1952; Hunter 2004 (10.1214/aos/1079120141) for when a maximum exists;
docs/models/network.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from .graph import connected
from .network import EvidenceError, Fit

_STEPS, _TOLERANCE = 100, 1e-14


@dataclass(frozen=True)
class Comparison:
    """`above` is stated to stand above `below`, weighted as this number of independent statements."""

    above: str
    below: str
    weight: float = 1.0


def from_tiers(standing: Mapping[str, float], doubt: float) -> list[Comparison]:
    """Return the comparisons that one tier list makes.

    Parameters
    ----------
    standing : entry to its tier, larger is better; equal tiers make no comparison
    doubt : pseudo-statements in each direction, so that a list without contradiction stays finite

    A list of k entries holds k (k - 1) / 2 pairs but only k - 1 independent ones, so each pair
    weighs 2 / k, as in a trial of k arms.
    """
    share = 2.0 / max(len(standing), 2)
    names = sorted(standing)
    comparisons = []
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            lead = np.sign(standing[first] - standing[second])
            comparisons.append(Comparison(first, second, share * (doubt + (1 + lead) / 2)))
            comparisons.append(Comparison(second, first, share * (doubt + (1 - lead) / 2)))
    return [comparison for comparison in comparisons if comparison.weight > 0]


def bradley_terry(treatments: Sequence[str], comparisons: Sequence[Comparison], scale: float = 1.0) -> Fit:
    """Return the maximum of the likelihood on one connected set of treatments, by Newton steps.

    Parameters
    ----------
    treatments : (n,) names; comparisons : of them; scale > 0 is the ln ratio that one unit of log odds stands for

    Returns
    -------
    Fit with the inverse of the information as covariance, effects of mean zero.

    Raises EvidenceError where the treatments are not connected, or comparisons put one set of treatments above
    another without exception, so that no finite estimate exists.
    """
    size = len(treatments)
    places = {treatment: place for place, treatment in enumerate(treatments)}
    above = np.array([places[comparison.above] for comparison in comparisons], dtype=int)
    below = np.array([places[comparison.below] for comparison in comparisons], dtype=int)
    weight = np.array([comparison.weight for comparison in comparisons], dtype=float)
    differences = np.eye(size)[above] - np.eye(size)[below]  # (c, n)
    links = np.zeros((size, size))
    links[above, below] = 1.0
    if len(connected(links)) > 1:
        raise EvidenceError("no comparison joins all the entries")
    if len(connected(links, strongly=True)) > 1:
        raise EvidenceError("the lists put some entries above others without exception: no finite estimate exists")

    def log_likelihood(effects: np.ndarray) -> float:
        return float(-np.logaddexp(0.0, -(differences @ effects) / scale) @ weight)

    effects, mean = np.zeros(size), np.full((size, size), 1.0 / size)
    for _ in range(_STEPS):
        chance = expit(-(differences @ effects) / scale)
        push = weight * chance / scale
        gradient = push @ differences
        information = (differences.T * (push * (1 - chance) / scale)) @ differences
        covariance = np.linalg.inv(information + mean) - mean
        step, current = covariance @ gradient, log_likelihood(effects)
        if gradient @ step <= _TOLERANCE * (1.0 + abs(current)):  # twice the ln likelihood still to be gained
            return Fit(effects, covariance)
        while log_likelihood(effects + step) < current - _TOLERANCE * (1.0 + abs(current)):
            step = step / 2  # halve it where it overshoots
        effects = effects + step
    raise EvidenceError(f"the likelihood of the lists did not settle in {_STEPS} Newton steps")
