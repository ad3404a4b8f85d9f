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
    """The comparisons that one tier list makes.

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
    found = []
    for index, first in enumerate(names):
        for second in names[index + 1 :]:
            lead = np.sign(standing[first] - standing[second])
            found.append(Comparison(first, second, share * (doubt + statements * (1 + lead) / 2)))
            found.append(Comparison(second, first, share * (doubt + statements * (1 - lead) / 2)))
    return [comparison for comparison in found if comparison.weight > 0]


def joint(
    treatments: Sequence[str],
    numbers: Sequence[Weighted],
    comparisons: Sequence[Comparison],
    scale: float = 1.0,
) -> Fit:
    """Maximum of the joint likelihood on one connected set of treatments.

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
    above, below, weight = _arrays(treatments, comparisons)
    links = np.abs(laplacian)
    links[above, below] += 1.0
    if size > 1 and len(connected(links)) > 1:
        raise EvidenceError("no comparison joins all the entries")
    if size > 1 and len(connected(links, strongly=True)) > 1:
        raise EvidenceError("the lists put some entries above others without exception: no finite estimate exists")
    effects = np.zeros(size)
    current = _log_likelihood(effects, laplacian, right, above, below, weight, scale)
    for _ in range(_STEPS):
        chance = expit(-(effects[above] - effects[below]) / scale)
        gradient = right - laplacian @ effects
        np.add.at(gradient, above, weight * chance / scale)
        np.add.at(gradient, below, -weight * chance / scale)
        covariance = _inverse(laplacian + _curvature(size, above, below, weight * chance * (1 - chance) / scale**2))
        step = covariance @ gradient
        if gradient @ step <= _TOLERANCE * (1.0 + abs(current)):  # twice the likelihood still to be gained
            return Fit(effects, covariance)
        for _ in range(40):  # halve a step that overshoots
            proposed = _log_likelihood(effects + step, laplacian, right, above, below, weight, scale)
            if proposed >= current:
                break
            step = step / 2
        effects, current = effects + step, proposed
    raise EvidenceError(f"the joint likelihood did not settle in {_STEPS} Newton steps")


def _arrays(treatments: Sequence[str], comparisons: Sequence[Comparison]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    place = {treatment: index for index, treatment in enumerate(treatments)}
    return (
        np.array([place[comparison.above] for comparison in comparisons], dtype=int),
        np.array([place[comparison.below] for comparison in comparisons], dtype=int),
        np.array([comparison.weight for comparison in comparisons], dtype=float),
    )


def _log_likelihood(
    effects: np.ndarray,
    laplacian: np.ndarray,
    right: np.ndarray,
    above: np.ndarray,
    below: np.ndarray,
    weight: np.ndarray,
    scale: float,
) -> float:
    lead = (effects[above] - effects[below]) / scale
    return float(effects @ right - effects @ laplacian @ effects / 2 - weight @ np.logaddexp(0.0, -lead))


def _curvature(size: int, above: np.ndarray, below: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Laplacian with these weights on the comparisons."""
    links = np.zeros((size, size))
    np.add.at(links, (above, below), weight)
    links = links + links.T
    return np.diag(links.sum(axis=1)) - links


def _inverse(laplacian: np.ndarray) -> np.ndarray:
    """Pseudo-inverse of a connected Laplacian."""
    size = len(laplacian)
    mean = np.full((size, size), 1.0 / size)
    scale = max(np.trace(laplacian) / size, np.finfo(float).tiny)
    return np.linalg.inv(laplacian + scale * mean) - mean / scale
