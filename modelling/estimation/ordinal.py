"""Tier lists and numbers in one likelihood.

No Django. A statement that i stands above j is a paired comparison: its probability is logistic in
(theta_i - theta_j) / scale, theta on the scale of the network estimate (ln ratio). The log
likelihood, quadratic for the numbers and logistic for the comparisons, is concave and maximised by
Newton steps. Without comparisons the result is the network estimate; without numbers it is the
Bradley-Terry model.

Sources: Bradley and Terry 1952; Hunter 2004 (10.1214/aos/1079120141) for when a maximum exists;
docs/models/network.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from .graph import connected
from .network import EvidenceError, Fit, Weighted

_STEPS, _TOLERANCE = 100, 1e-14


@dataclass(frozen=True)
class Comparison:
    """`above` is stated to stand above `below`, with the weight of so many independent statements."""

    above: str
    below: str
    weight: float = 1.0


def from_tiers(standing: dict[str, float], statements: float, doubt: float) -> list[Comparison]:
    """Return the comparisons that one tier list makes.

    Parameters
    ----------
    standing : entry to its tier, larger is better; equal tiers make no comparison
    statements : independent statements of the whole list, for example case studies it holds for
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
            comparisons.append(Comparison(first, second, share * (doubt + statements * (1 + lead) / 2)))
            comparisons.append(Comparison(second, first, share * (doubt + statements * (1 - lead) / 2)))
    return [comparison for comparison in comparisons if comparison.weight > 0]


def joint(
    treatments: Sequence[str],
    numbers: Sequence[Weighted],
    comparisons: Sequence[Comparison],
    scale: float = 1.0,
) -> Fit:
    """Return the maximum of the joint likelihood on one connected set of treatments.

    Parameters
    ----------
    treatments : (n,) names, the places of `numbers`
    numbers : weighted trials over these treatments; may be empty
    comparisons : may be empty; scale > 0 is the ln ratio that one unit of log odds stands for

    Returns
    -------
    Fit with the inverse of the information as covariance, effects of mean zero.

    Raises EvidenceError where the treatments are not connected, or comparisons without numbers
    put one set of treatments above another without exception, so that no finite estimate exists.
    """
    size = len(treatments)
    laplacian = sum((weighted.laplacian for weighted in numbers), np.zeros((size, size)))
    right = sum((weighted.right for weighted in numbers), np.zeros(size))
    lists = Lists(treatments, comparisons, scale)
    lists.check(laplacian)
    effects, covariances = lists.modes(laplacian[None], right[None])
    return Fit(effects[0], covariances[0])


class Lists:
    """Comparisons as arrays over the numbered treatments of one part, with the scale of their odds.

    above, below : (c,) places; weight : (c,) statements; scale > 0, the ln ratio of one unit of log odds
    """

    def __init__(self, treatments: Sequence[str], comparisons: Sequence[Comparison], scale: float) -> None:
        place = {treatment: index for index, treatment in enumerate(treatments)}
        self.size, self.scale = len(treatments), scale
        self.above = np.array([place[comparison.above] for comparison in comparisons], dtype=int)
        self.below = np.array([place[comparison.below] for comparison in comparisons], dtype=int)
        self.weight = np.array([comparison.weight for comparison in comparisons], dtype=float)

    def check(self, laplacian: np.ndarray) -> None:
        """Raise EvidenceError where lists and numbers, of this (n, n) Laplacian, have no finite estimate together."""
        links = np.abs(laplacian)
        links[self.above, self.below] += 1.0
        if self.size > 1 and len(connected(links)) > 1:
            raise EvidenceError("no comparison joins all the entries")
        if self.size > 1 and len(connected(links, strongly=True)) > 1:
            raise EvidenceError("the lists put some entries above others without exception: no finite estimate exists")

    def modes(self, laplacians: np.ndarray, rights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the maxima of the joint likelihoods with T different weightings of the numbers, by Newton steps.

        laplacians (T, n, n) and rights (T, n) of the numbers. Returns effects (T, n) of mean zero and
        covariances (T, n, n), the inverses of the information. Raises EvidenceError where the steps do not settle.
        """
        effects = np.zeros_like(rights)
        current = self._log_likelihoods(effects, laplacians, rights)
        for _ in range(_STEPS):
            chance = expit(-(effects[:, self.above] - effects[:, self.below]) / self.scale)
            gradients = rights - np.einsum("tij,tj->ti", laplacians, effects)
            push = self.weight * chance / self.scale
            np.add.at(gradients.T, self.above, push.T)
            np.add.at(gradients.T, self.below, -push.T)
            covariances = _inverses(laplacians + self._curvatures(push * (1 - chance) / self.scale))
            steps = np.einsum("tij,tj->ti", covariances, gradients)
            to_gain = np.einsum("ti,ti->t", gradients, steps)  # twice the likelihood still to be gained
            if (to_gain <= _TOLERANCE * (1.0 + np.abs(current))).all():
                return effects, covariances
            for _ in range(40):  # halve the steps that overshoot
                proposed = self._log_likelihoods(effects + steps, laplacians, rights)
                overshoots = proposed < current - _TOLERANCE * (1.0 + np.abs(current))
                if not overshoots.any():
                    break
                steps[overshoots] /= 2
            effects, current = effects + steps, proposed
        raise EvidenceError(f"the joint likelihood did not settle in {_STEPS} Newton steps")

    def _log_likelihoods(self, effects: np.ndarray, laplacians: np.ndarray, rights: np.ndarray) -> np.ndarray:
        numbers = np.einsum("ti,ti->t", effects, rights - np.einsum("tij,tj->ti", laplacians, effects) / 2)
        return numbers + self.stated(effects)

    def stated(self, effects: np.ndarray) -> np.ndarray:
        """Log likelihoods (T,) of the comparisons alone at (T, n) effects."""
        lead = (effects[:, self.above] - effects[:, self.below]) / self.scale
        return -np.logaddexp(0.0, -lead) @ self.weight

    def _curvatures(self, weights: np.ndarray) -> np.ndarray:
        """Return (T, n, n) Laplacians with these (T, c) weights on the comparisons."""
        links = np.zeros((len(weights), self.size, self.size))
        np.add.at(links.transpose(1, 2, 0), (self.above, self.below), weights.T)
        links = -(links + links.transpose(0, 2, 1))
        places = np.arange(self.size)
        links[:, places, places] -= links.sum(axis=2)
        return links


def _inverses(laplacians: np.ndarray) -> np.ndarray:
    """Return pseudo-inverses of (T, n, n) connected Laplacians."""
    size = laplacians.shape[1]
    scales = np.maximum(np.einsum("tii->t", laplacians) / size, np.finfo(float).tiny)[:, None, None]
    return np.linalg.inv(laplacians + scales / size) - 1.0 / (scales * size)
