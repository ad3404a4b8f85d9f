"""Draw scales, factors and sizes of the hierarchical model from their posterior, given cells. No Django.

Each is a function of a score with a standard normal prior, so what cells do not inform keeps its prior exactly, and the
posterior is well scaled. Effects are integrated out (`Hierarchy.likelihood`). Hamiltonian Monte Carlo starts several
chains from the prior, to find several modes. The degrees of freedom of the groups' factors are drawn between
trajectories, given the factors.

Source: Neal 2011 (MCMC using Hamiltonian dynamics, section 5.3); docs/models/hierarchy.md.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, gammaln, ndtr, ndtri

from .hierarchy import NAMES, PRIORS, SIZES, Hierarchy, Scales, inverse_gamma_quantiles
from .network import EvidenceError

# Degrees of freedom of the groups' factors, equally likely in the prior. With two or fewer, the variance would be
# infinite.
FREEDOM = np.array([3.0, 4.0, 6.0, 10.0])
CHAINS = 4
_WANTED = 0.8  # share of trajectories to accept
_FURTHEST = 6.0  # largest absolute score


class _State(NamedTuple):
    """C chains at their scores: ln posterior densities (C,), slopes (C, scores), and the parameters."""

    value: np.ndarray
    slopes: np.ndarray
    variances: np.ndarray
    factors: np.ndarray
    sizes: np.ndarray


def learn(
    hierarchy: Hierarchy,
    draws: int = 32,
    trajectories: int = 200,
    warm_up: int = 100,
    seed: int = 1,
    progress: Callable[[], object] = lambda: None,
) -> Scales:
    """Draw from the posterior.

    draws : number to keep, evenly spaced over all chains' trajectories after the warm-up
    progress : called before each trajectory
    Raises EvidenceError without cells.
    """
    if not hierarchy.groups:
        raise EvidenceError("there are no cells to compare")
    random = np.random.default_rng(seed)
    cuts = np.cumsum([len(NAMES), len(hierarchy.groups)])
    freedom = np.full(CHAINS, FREEDOM[0])
    scores = random.normal(size=(CHAINS, cuts[-1] + len(hierarchy.effects)))
    step, kept = 0.1, []
    at = _evaluate(hierarchy, scores, freedom, cuts)
    for trajectory in range(warm_up + trajectories):
        progress()
        momentum = random.normal(size=scores.shape)
        length, step_now = int(random.integers(4, 13)), step * random.uniform(0.7, 1.3)
        new, there, speed = scores, at, momentum
        for _ in range(length):
            speed = speed + step_now / 2 * there.slopes
            new = np.clip(new + step_now * speed, -_FURTHEST, _FURTHEST)
            there = _evaluate(hierarchy, new, freedom, cuts)
            speed = speed + step_now / 2 * there.slopes
        gained = there.value - at.value + ((momentum**2).sum(axis=1) - (speed**2).sum(axis=1)) / 2
        chance = np.exp(np.minimum(np.nan_to_num(gained, nan=-np.inf), 0.0))
        taken = random.uniform(size=CHAINS) < chance
        scores = np.where(taken[:, None], new, scores)
        factors = np.where(taken[:, None], there.factors, at.factors)
        freedom = np.array([_freedom(own, random) for own in factors])
        scores[:, cuts[0] : cuts[1]] = _scores(factors, freedom)
        at = _evaluate(hierarchy, scores, freedom, cuts)
        if trajectory < warm_up:
            step *= float(np.exp(0.2 * (chance.mean() - _WANTED)))
        else:
            kept.append((at.variances, freedom, at.factors, at.sizes))
    variances, degrees, factors, sizes = (_thin(np.stack(part, axis=1), draws) for part in zip(*kept, strict=True))
    shared = set(hierarchy.shared.tolist())
    return Scales(
        np.full(len(variances), 1 / len(variances)),
        variances,
        degrees,
        dict(zip(hierarchy.groups, factors.T, strict=True)),
        {effect.name: sizes[:, number] for effect, number in hierarchy.effects.items() if number in shared},
    )


def _evaluate(hierarchy: Hierarchy, scores: np.ndarray, freedom: np.ndarray, cuts: np.ndarray) -> _State:
    of_scales, of_factors, of_sizes = np.split(scores, cuts, axis=1)
    ratio = ndtri((1 + ndtr(of_scales)) / 2)  # of a standard deviation to its prior's scale
    variances = (PRIORS * ratio) ** 2
    factors, sizes = (
        inverse_gamma_quantiles(ndtr(part), own) for part, own in ((of_factors, freedom[:, None]), (of_sizes, SIZES))
    )
    value, slopes = hierarchy.likelihood(variances, factors, sizes)
    along = (
        np.exp((ratio**2 - of_scales**2) / 2) / ratio,
        _slope(of_factors, factors, freedom[:, None]),
        _slope(of_sizes, sizes, np.array(SIZES)),
    )
    together = np.concatenate([own * turned for own, turned in zip(slopes, along, strict=True)], axis=1)
    return _State(value - (scores**2).sum(axis=1) / 2, together - scores, variances, factors, sizes)


def _slope(scores: np.ndarray, squares: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Return the derivatives of ln(squared factors) by their scores."""
    density = np.exp(_log_density(squares, freedom)) * squares
    return np.exp(-(scores**2) / 2) / np.sqrt(2 * np.pi) / density


def _log_density(squares: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Return the ln densities of squared factors: inverse gamma."""
    half = freedom / 2
    logs: np.ndarray = half * np.log(half) - gammaln(half) - (half + 1) * np.log(squares) - half / squares
    return logs


def _freedom(squares: np.ndarray, random: np.random.Generator) -> float:
    """Draw the degrees of freedom given the (groups,) squared factors."""
    logs = _log_density(squares, FREEDOM[:, None]).sum(axis=1)
    likely = np.exp(logs - logs.max())
    return float(random.choice(FREEDOM, p=likely / likely.sum()))


def _scores(squares: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    half = freedom[:, None] / 2
    return np.clip(ndtri(gammaincc(half, half / squares)), -_FURTHEST, _FURTHEST)


def _thin(parts: np.ndarray, draws: int) -> np.ndarray:
    """Return (draws, ...) of (chains, trajectories, ...), evenly spaced."""
    flat = parts.reshape(-1, *parts.shape[2:])
    return flat[np.linspace(0, len(flat) - 1, min(draws, len(flat))).round().astype(int)]
