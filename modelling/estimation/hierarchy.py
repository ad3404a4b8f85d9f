"""One hierarchical model of speed: what a configuration does in a laboratory that nobody has seen. No Django.

A cell is what one laboratory measured of one configuration under one load; its outcome is ln speed. With the level of
the cells it may be compared with, the effects of its choices, a residual of its configuration, its own residual and
the error of its runs,

    y = level + sum over choices of effect(choice) + configuration + residual + e

The effect of a choice ("cache_mode=none") is a main effect plus a deviation for each context of the cell: its
workload, its kind of disk, its research group, its laboratory, ... All are normal around zero, so each is shrunk as
far as the evidence is thin. A kind of choice c has the standard deviation s_c, its deviation by context k has m_k s_c.
What belongs to one laboratory (its deviations and residuals) is scaled by a factor of that laboratory whose square has
an inverse gamma distribution: Student's t, so that one odd laboratory does not drag the rest. The standard deviations
have half-normal priors and are integrated out.

The effects are never computed: the covariance of two cells says the same, and is as large as there are cells.

Sources: Gelman and Hill 2007, chapters 12 and 13 (shrinkage); Rasmussen and Williams 2006, equations 2.25 and 5.9 (the
normal posterior, its likelihood and gradient); Rue, Martino and Chopin 2009 (10.1111/j.1467-9868.2008.00700.x, scales
around their mode); West 1987 (10.1093/biomet/74.3.646, Student's t as a mixture); docs/models/hierarchy.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import cho_solve, eigh
from scipy.optimize import brentq, minimize
from scipy.special import gammainccinv, gammaln, ndtr, ndtri

from .network import EvidenceError

# Kind of choice: scale of the half-normal prior on the standard deviation of its main effects, ln ratio. Wide where
# caches and networks come along and make factors, narrow where percents are usual.
CHOICES = {
    "hypervisor": 0.2,
    "container": 0.5,
    "guest_fs": 0.2,
    "host_fs": 0.2,
    "pair": 0.1,
    "backend": 0.5,
    "cache_mode": 0.3,
    "image_format": 0.2,
    "disk_bus": 0.2,
    "io_mode": 0.2,
    "allocation": 0.2,
}
# Contexts in which effects deviate: the columns that two cells must share. Their multipliers m have half-normal priors
# of scale 1.
ANYWHERE = {
    "workload": ("workload",),
    "direction": ("direction",),
    "access": ("access",),
    "storage": ("storage",),
    "workload and storage": ("workload", "storage"),
    "group": ("group",),
}
WITHIN = {"laboratory": ("laboratory",), "laboratory and workload": ("laboratory", "workload"), "level": ("level",)}
RESIDUALS = {"configuration": 0.2, "cell": 0.15}  # scales of the priors on their standard deviations
CONTEXTS = ("workload", "direction", "access", "storage", "group", "laboratory")
COLUMNS = (*CHOICES, *CONTEXTS)

_NAMES = (*CHOICES, *ANYWHERE, *WITHIN, *RESIDUALS)
_SCALES = np.array([*CHOICES.values(), *[1.0] * (len(ANYWHERE) + len(WITHIN)), *RESIDUALS.values()])
_LEVEL = 100.0  # variance of levels: flat
_FREEDOM = 1.0  # of Student's t: published laboratories differ by percents, and a few by factors of twenty
_DRAWS = 32  # of the standard deviations, around their mode
_FACTORS = _FREEDOM / 2 / gammainccinv(_FREEDOM / 2, (np.arange(32) + 0.5) / 32)  # of a new laboratory


@dataclass(frozen=True)
class Prediction:
    """The distribution of an ln ratio in a new laboratory: a mixture of normals. All (components,)."""

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.weights @ self.means)

    @property
    def deviation(self) -> float:
        """Half the width of the central 68 %: tails as long as these have no finite standard deviation."""
        return (self.quantile(0.8413) - self.quantile(0.1587)) / 2

    def below(self, value: float) -> float:
        """Return the probability that the ln ratio is below a value."""
        return float(self.weights @ ndtr((value - self.means) / self.deviations))

    def density(self, value: float) -> float:
        z = (value - self.means) / self.deviations
        return float(self.weights @ (np.exp(-(z**2) / 2) / (self.deviations * np.sqrt(2 * np.pi))))

    def quantile(self, probability: float) -> float:
        quantiles = self.means + self.deviations * ndtri(probability)
        low, high = float(quantiles.min()), float(quantiles.max())
        if high - low < 1e-12:
            return low
        return float(brentq(lambda value: self.below(value) - probability, low - 1e-9, high + 1e-9))


class _Draw(NamedTuple):
    """One draw of the standard deviations with the posterior it gives.

    weight : of the draw; squares : (names,) squared; root : (n, n) lower Cholesky root of the cells' covariance;
    solved : (n,) covariance's inverse times outcomes
    """

    weight: float
    squares: np.ndarray
    root: np.ndarray
    solved: np.ndarray


@dataclass(frozen=True)
class Hierarchy:
    """The fitted model. spreads : name to its standard deviation (of contexts: multiplier) at the mode; factors :
    laboratory to the square of its factor there."""

    cells: pd.DataFrame
    spreads: Mapping[str, float]
    factors: Mapping[str, float]
    draws: tuple[_Draw, ...]

    def contrast(
        self, a: Mapping[str, str], b: Mapping[str, str], where: Mapping[str, str], noise: float
    ) -> Prediction:
        """Return the ln ratio of a to b that a new laboratory will measure.

        a, b : choice to value of each side; a choice that is left out or empty is not stated
        where : workload, direction, access and storage of the new laboratory; empty where it is not known
        noise : variance of the errors of both sides' runs together
        """
        differ = [choice for choice in CHOICES if (a.get(choice) or "") != (b.get(choice) or "")]
        signs = {
            choice: [(sign, value) for sign, side in ((1.0, a), (-1.0, b)) if (value := side.get(choice) or "")]
            for choice in differ
        }
        shared = self._shared_with(where)
        alike = {
            choice: np.sum([sign * (self.cells[choice].to_numpy() == value) for sign, value in values], axis=0)
            for choice, values in signs.items()
            if values
        }
        means, squares, weights = [], [], []
        for draw in self.draws:
            by_choice, anywhere, within, residuals = _split(draw.squares)
            of_choice = dict(zip(CHOICES, by_choice, strict=True))
            context = 1.0 + anywhere @ shared
            towards = context * np.sum([of_choice[choice] * column for choice, column in alike.items()], axis=0)
            whole = sum(of_choice[choice] * len(values) for choice, values in signs.items())
            towards = np.broadcast_to(towards, len(self.cells))
            known = towards @ cho_solve((draw.root, True), towards)
            outside = max(whole * (1.0 + anywhere.sum()) - known, 0.0)
            inside = whole * within.sum() + 2.0 * residuals.sum()
            means.append(np.full(len(_FACTORS), towards @ draw.solved))
            squares.append(outside + inside * _FACTORS + noise)
            weights.append(np.full(len(_FACTORS), draw.weight / len(_FACTORS)))
        return Prediction(np.concatenate(weights), np.concatenate(means), np.sqrt(np.concatenate(squares)))

    def _shared_with(self, where: Mapping[str, str]) -> np.ndarray:
        """Return (contexts, n): whether each cell shares each context with a new laboratory's cell."""
        rows = []
        for columns in ANYWHERE.values():
            row = np.ones(len(self.cells))
            for column in columns:
                value = where.get(column) or ""
                row *= (self.cells[column].to_numpy() == value) if value else 0.0
            rows.append(row)
        return np.array(rows)


def fit(cells: pd.DataFrame) -> Hierarchy:
    """Fit the model.

    Parameters
    ----------
    cells : DataFrame, one row a cell
        COLUMNS str, "" where not stated; configuration int; level int, the same for cells that may be compared;
        outcome float, ln speed; variance float > 0, of the outcome

    Raises EvidenceError without cells.
    """
    if cells.empty:
        raise EvidenceError("there are no cells to compare")
    covariance = _Covariance(cells)
    count = len(_NAMES) + len(covariance.laboratories)
    mode = minimize(
        lambda scores: tuple(-part for part in covariance.posterior(scores)),
        np.zeros(count),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-4.0, 4.0)] * count,
        options={"ftol": 1e-7, "maxiter": 200},
    ).x
    logs, _ = _logarithms(mode)
    at = np.exp(logs)
    return Hierarchy(
        cells,
        dict(zip(_NAMES, at[: len(_NAMES)].tolist(), strict=True)),
        dict(zip(covariance.laboratories, at[len(_NAMES) :].tolist(), strict=True)),
        tuple(_draws(covariance, mode)),
    )


def _draws(covariance: "_Covariance", mode: np.ndarray) -> list[_Draw]:
    """Draw the standard deviations from the normal approximation at the mode of their scores, each draw weighted by
    how much more likely it is than that approximation says; the laboratories' factors stay at the mode."""
    from scipy.stats import qmc

    count, step = len(_NAMES), 0.05
    curvature = np.empty((count, count))
    for place in range(count):
        ahead, behind = mode.copy(), mode.copy()
        ahead[place] += step
        behind[place] -= step
        slope = covariance.posterior(ahead)[1] - covariance.posterior(behind)[1]
        curvature[place] = -slope[:count] / (2 * step)
    values, vectors = eigh((curvature + curvature.T) / 2)
    # A direction that nothing tells of keeps its prior's width, 1. Cholesky's root does not jump where two directions
    # are equally well known, as eigenvectors do.
    root = np.linalg.cholesky((vectors / np.maximum(values, 1.0)) @ vectors.T)
    solutions, logs_of_weights = [], []
    for normal in ndtri(qmc.Sobol(count, seed=1).random(_DRAWS)):
        scores = mode.copy()
        scores[:count] = np.clip(scores[:count] + root @ normal, -4.0, 4.0)
        logs, _ = _logarithms(scores)
        value, solution = covariance.solved(logs)
        logs_of_weights.append(value - scores @ scores / 2 + normal @ normal / 2)
        solutions.append((np.exp(2 * logs[:count]), *solution))
    weights = np.minimum(np.exp(np.array(logs_of_weights) - np.median(logs_of_weights)), 10.0)
    return [_Draw(float(weight), *draw) for weight, draw in zip(weights / weights.sum(), solutions, strict=True)]


class _Covariance:
    """The covariance of cells as a function of the logarithms of standard deviations and laboratories' factors."""

    def __init__(self, cells: pd.DataFrame) -> None:
        same = {name: _same(cells[name]) & (cells[name] != "").to_numpy() for name in CHOICES}
        # A context that is not stated is one and the same in a laboratory, and another one elsewhere.
        elsewhere = "not stated in " + cells["laboratory"]
        same |= {name: _same(cells[name].where(cells[name] != "", elsewhere)) for name in CONTEXTS}
        same["level"] = _same(cells["level"])
        self.outcome = (cells["outcome"] - cells["outcome"].groupby(cells["level"]).transform("mean")).to_numpy()
        self.variance = cells["variance"].to_numpy(dtype=float)
        self.level = _LEVEL * same["level"]
        self.choices = [same[choice].astype(float) for choice in CHOICES]
        self.anywhere, self.within = (
            [np.logical_and.reduce([same[column] for column in columns]).astype(float) for columns in contexts.values()]
            for contexts in (ANYWHERE, WITHIN)
        )
        configuration = cells["configuration"].to_numpy()
        in_laboratory = same["laboratory"] & same["workload"]
        self.configuration = (in_laboratory & (configuration[:, None] == configuration)).astype(float)
        self.laboratory, names = pd.factorize(cells["laboratory"], sort=True)
        self.laboratories = [str(name) for name in names]

    def solved(self, logs: np.ndarray) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
        """Return ln likelihood up to a constant, with the root of the covariance and its inverse times y."""
        covariance, *_ = self._sum(logs)
        root = np.linalg.cholesky(covariance)
        solved = cho_solve((root, True), self.outcome)
        value = -self.outcome @ solved / 2 - np.log(np.diag(root)).sum()
        return float(value), (root, solved)

    def posterior(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return ln posterior density of the scores up to a constant, and its gradient."""
        logs, slopes = _logarithms(scores)
        value, (root, solved) = self.solved(logs)
        _, effects, context, factor = self._sum(logs)
        by_choice, anywhere, within, (configuration, cell) = _split(np.exp(2 * logs[: len(_NAMES)]))
        slope = (np.outer(solved, solved) - cho_solve((root, True), np.eye(len(solved)))) / 2
        by_context, by_effect = slope * context, slope * effects
        inside = by_effect * factor
        own = np.diag(slope)
        gradient = [
            *(2 * square * np.vdot(by_context, same) for square, same in zip(by_choice, self.choices, strict=True)),
            *(2 * square * np.vdot(by_effect, same) for square, same in zip(anywhere, self.anywhere, strict=True)),
            *(2 * square * np.vdot(inside, same) for square, same in zip(within, self.within, strict=True)),
            2 * configuration * np.vdot(slope * factor, self.configuration),
            2 * cell * own @ factor[:, 0],
        ]
        deviating = sum(square * same for square, same in zip(within, self.within, strict=True))
        of_cell = (by_effect * deviating + configuration * slope * self.configuration).sum(axis=1) + cell * own
        factors = np.bincount(self.laboratory, of_cell * factor[:, 0], minlength=len(self.laboratories))
        return value - scores @ scores / 2, np.concatenate([gradient, factors]) * slopes - scores

    def _sum(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the covariance (n, n), the part of main effects (n, n), what contexts multiply it by (n, n), and the
        factor of each cell's laboratory (n, 1)."""
        by_choice, anywhere, within, (configuration, cell) = _split(np.exp(2 * logs[: len(_NAMES)]))
        factor = np.exp(logs[len(_NAMES) :])[self.laboratory][:, None]
        effects = sum(square * same for square, same in zip(by_choice, self.choices, strict=True))
        context = 1.0 + sum(square * same for square, same in zip(anywhere, self.anywhere, strict=True))
        context = context + factor * sum(square * same for square, same in zip(within, self.within, strict=True))
        covariance = effects * context + configuration * factor * self.configuration + self.level
        covariance[np.diag_indices_from(covariance)] += cell * factor[:, 0] + self.variance
        return covariance, effects, context, factor


def _logarithms(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of standard deviations and factors, and their derivatives by the scores.

    A score is standard normal where the standard deviation has its half-normal prior and the factor its inverse gamma,
    so that what the cells do not tell keeps its prior exactly.
    """
    spreads, factors = np.split(scores, [len(_NAMES)])
    ratio = ndtri((1 + ndtr(spreads)) / 2)  # of a standard deviation to its prior's scale
    half = _FREEDOM / 2
    squared = half / gammainccinv(half, ndtr(factors))
    density = np.exp(half * np.log(half / squared) - half / squared - gammaln(half))  # of ln of the factor
    logs = np.concatenate([np.log(_SCALES * ratio), np.log(squared)])
    slopes = np.concatenate(
        [np.exp((ratio**2 - spreads**2) / 2) / (2 * ratio), np.exp(-(factors**2) / 2) / np.sqrt(2 * np.pi) / density]
    )
    return logs, slopes


def _split(squares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cut (names,) into choices, contexts anywhere, contexts within a laboratory, residuals."""
    cuts = np.cumsum([len(CHOICES), len(ANYWHERE), len(WITHIN)])
    by_choice, anywhere, within, residuals = np.split(squares, cuts)
    return by_choice, anywhere, within, residuals


def _same(column: pd.Series) -> np.ndarray:
    """Return (n, n): whether two rows have the same value."""
    codes = pd.factorize(column)[0]
    return np.equal.outer(codes, codes)
