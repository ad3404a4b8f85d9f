"""Forecasts by partial pooling: what a new laboratory will see of what was measured elsewhere. No Django.

The ln throughput of an arm is the level of its trial, the sum of the effects of what it is made of, and noise:

    y = level + X u + e,   u ~ N(0, diag of s_k²),   e ~ N(0, v + r²)

An effect belongs to a part ("guest_fs=xfs"): its main effect, and its deviations in one workload and in one laboratory.
Effects of one kind k ("guest_fs", "guest_fs by laboratory", ...) share a variance. The level has a flat prior and is
taken out, so that all algebra is of the size of the effects. The standard deviations have half-normal priors and are
taken where the posterior of their logarithms is highest, which is never at zero.

Sources: Henderson 1975 (10.2307/2529430) for the equations of mixed models; Gelman and Hill 2007, chapter 12, for
partial pooling; Chung and others 2013 (10.1007/s11336-013-9328-2) for modes away from zero; docs/models/forecasts.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import minimize
from scipy.sparse import csr_array

from .network import EvidenceError, Trial

Part = tuple[str, str]  # ("guest_fs", "xfs")

REST = "rest"
VARYING = ("hypervisor", "container", "guest_fs", "host_fs", "backend")  # parts that deviate by workload and laboratory


@dataclass(frozen=True)
class Observed:
    """One trial and where it was made. made_of : treatment to its parts"""

    trial: Trial
    made_of: Mapping[str, Sequence[Part]]
    workload: str
    laboratory: str


@dataclass(frozen=True)
class Pooled:
    """The estimates of the p effects by all trials together.

    places : (part, kind, where) to the place of the effect; where is the workload or laboratory, "" for main
    spreads : kind to its standard deviation, ln ratio
    means : (p,); covariance : (p, p), of the effects
    """

    places: Mapping[tuple[Part, str, str], int]
    spreads: Mapping[str, float]
    means: np.ndarray
    covariance: np.ndarray

    def knows(self, part: Part) -> bool:
        """Tell whether some trial compared the part with another; one that only adds to others need not be known."""
        return part[0] not in VARYING or (part, part[0], "") in self.places

    def contrast(self, weights: Mapping[Part, float], workload: str) -> tuple[float, float]:
        """Return mean and variance of a difference of two arms in a new laboratory.

        weights : part to how much more of it the first arm has than the second: 1, -1, or between for means over
            several arms
        """
        vector, unseen = np.zeros(len(self.means)), 2 * self.spreads[REST] ** 2
        for part, weight in weights.items():
            for kind, where in _effects(part, workload, ""):
                place = self.places.get((part, kind, where))
                if place is None:
                    unseen += (weight * self.spreads[kind]) ** 2
                else:
                    vector[place] = weight
        return float(vector @ self.means), float(vector @ self.covariance @ vector + unseen)


def pool(
    observed: Sequence[Observed],
    scales: Mapping[str, float],
    *,
    spreads: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
) -> Pooled:
    """Fit the effects.

    Parameters
    ----------
    scales : kind to the scale of the half-normal prior on its standard deviation (`kinds_of`, and "rest")
    spreads : the standard deviations where they are known; they are then not estimated
    start : where the search for them begins

    Raises EvidenceError without trials.
    """
    if not observed:
        raise EvidenceError("there are no trials to pool")
    kinds = tuple(scales)
    equations = _Equations(observed, kinds)
    if spreads is None:
        begin = start or {kind: scale / 2 for kind, scale in scales.items()}
        logs = _mode(equations, *(np.array([values[kind] for kind in kinds]) for values in (scales, begin)))
    else:
        logs = np.log([spreads[kind] for kind in kinds])
    solved = equations.solved(logs)
    spreads = dict(zip(kinds, np.exp(logs).tolist(), strict=True))
    return Pooled(equations.places, spreads, solved.effects, solved.covariance)


def _mode(equations: "_Equations", scales: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the logarithms of the standard deviations where their posterior density is highest."""

    def objective(logs: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = equations.likelihood(logs)
        squares = np.exp(2 * logs) / scales**2
        return -(value + (logs - squares / 2).sum()), -(gradient + 1.0 - squares)

    # From a thousandth of the prior's scale to twenty times it.
    bounds = [(low, low + 10) for low in np.log(scales) - 7]
    optimum = minimize(objective, np.log(start), jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-6})
    return optimum.x


class _Solved(NamedTuple):
    """The mixed model's equations solved: n arms, p effects, t trials.

    weights : (n,) of arms; totals : (t,) their sums; design (n, p), outcome (n,) weighted and centred within trials;
    half_log : ln of the determinant of the precision's root; effects : (p,); covariance : (p, p)
    """

    weights: np.ndarray
    totals: np.ndarray
    design: np.ndarray
    outcome: np.ndarray
    half_log: float
    effects: np.ndarray
    covariance: np.ndarray


class _Equations:
    """The mixed model's equations: rows are arms, columns are effects that some trial tells."""

    def __init__(self, observed: Sequence[Observed], kinds: Sequence[str]) -> None:
        places: dict[tuple[Part, str, str], int] = {}
        cells: list[tuple[int, int]] = []
        of_row: list[int] = []
        means: list[float] = []
        variances: list[float] = []
        for number, observation in enumerate(observed):
            trial = observation.trial
            if trial.arm_variances is None:
                raise EvidenceError(f"{trial.name}: only trials of independent arms can be pooled")
            common = set.intersection(*(set(observation.made_of[treatment]) for treatment in trial.treatments))
            for treatment, mean, variance in zip(
                trial.treatments, trial.effects.mean(axis=1), trial.arm_variances, strict=True
            ):
                for part in set(observation.made_of[treatment]) - common:
                    for kind, where in _effects(part, observation.workload, observation.laboratory):
                        cells.append((len(means), places.setdefault((part, kind, where), len(places))))
                of_row.append(number)
                means.append(mean)
                variances.append(variance)
        self.places = places
        self.trial, self.y, self.v = np.array(of_row), np.array(means), np.array(variances)
        self.design = np.zeros((len(means), len(places)))
        self.design[tuple(np.array(cells, dtype=int).reshape(-1, 2).T)] = 1.0
        self.kind = np.array([kinds.index(kind) for _, kind, _ in places], dtype=int)
        self.rest = kinds.index(REST)
        self.of_trial = csr_array((np.ones(len(means)), (of_row, np.arange(len(means)))))
        self.counts = np.bincount(self.kind, minlength=len(kinds))

    def solved(self, logs: np.ndarray) -> _Solved:
        weights = 1.0 / (self.v + np.exp(2 * logs[self.rest]))
        totals = np.bincount(self.trial, weights)
        share = weights / totals[self.trial]
        design = weights[:, None] * (self.design - (self.of_trial @ (share[:, None] * self.design))[self.trial])
        outcome = weights * (self.y - np.bincount(self.trial, share * self.y)[self.trial])
        precision = self.design.T @ design
        precision[np.diag_indices_from(precision)] += np.exp(-2 * logs[self.kind])
        root = np.linalg.cholesky(precision)
        covariance = cho_solve((root, True), np.eye(len(root)))
        effects = covariance @ (self.design.T @ outcome)
        return _Solved(weights, totals, design, outcome, float(np.log(np.diag(root)).sum()), effects, covariance)

    def likelihood(self, logs: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the marginal ln likelihood of the contrasts up to a constant, and its gradient by the logarithms."""
        weights, totals, design, outcome, half_log, effects, covariance = self.solved(logs)
        rest = outcome - design @ effects
        value = (np.log(weights).sum() - np.log(totals).sum() - self.y @ rest) / 2 - half_log - logs[self.kind].sum()
        squares = (effects**2 + np.diag(covariance)) * np.exp(-2 * logs[self.kind])
        gradient = np.bincount(self.kind, squares, minlength=len(logs)) - self.counts
        trace = weights.sum() - (np.bincount(self.trial, weights**2) / totals).sum()
        trace -= np.sum((design @ covariance) * design)
        gradient[self.rest] = (rest @ rest - trace) * np.exp(2 * logs[self.rest])
        return float(value), gradient


def kinds_of(part: str) -> list[str]:
    """Return the kinds of effects that parts of this kind have: main, and where they vary, by workload and by
    laboratory."""
    return [part, f"{part} by workload", f"{part} by laboratory"] if part in VARYING else [part]


def _effects(part: Part, workload: str, laboratory: str) -> list[tuple[str, str]]:
    """Return the kind and the place of the effects that a part has there."""
    return list(zip(kinds_of(part[0]), ("", workload, laboratory), strict=False))
