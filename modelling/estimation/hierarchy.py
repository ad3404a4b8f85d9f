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

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import cho_solve, eigh, solve_triangular
from scipy.linalg.lapack import dpotri
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

NAMES = (*CHOICES, *ANYWHERE, *WITHIN, *RESIDUALS)
_SCALES = np.array([*CHOICES.values(), *[1.0] * (len(ANYWHERE) + len(WITHIN)), *RESIDUALS.values()])
PUBLISHED = Path(__file__).with_name("proposal.json")  # of everything published, of `manage.py fit_scales`
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
        """Return half the width of the central 68 %: tails as long as these have no finite standard deviation."""
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

    log_weight : of the draw, up to a constant; squares : (names,) squared; root : (n, n) lower Cholesky root of the
    cells' covariance, in single precision, because it is what a kept model consists of; solved : (n,) covariance's
    inverse times outcomes
    """

    log_weight: float
    squares: np.ndarray
    root: np.ndarray
    solved: np.ndarray


class Proposal(NamedTuple):
    """Where draws come from: the mode of the scores by name and laboratory, and a root (names, names) of the inverse
    curvature there."""

    scores: Mapping[str, float]
    root: np.ndarray


@lru_cache
def published_proposal() -> Proposal:
    """Return where the draws of everything published come from."""
    kept = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return Proposal(kept["scores"], np.array(kept["root"]))


@dataclass(frozen=True)
class Hierarchy:
    """The fitted model. spreads : name to its standard deviation (of contexts: multiplier) at the mode; factors :
    laboratory to the square of its factor there; draws : gives them, from memory or made anew."""

    cells: pd.DataFrame
    spreads: Mapping[str, float]
    factors: Mapping[str, float]
    draws: Callable[[], Iterable[_Draw]]
    proposal: Proposal

    def contrast(
        self, a: Mapping[str, str], b: Mapping[str, str], where: Mapping[str, str], noise: float
    ) -> Prediction:
        """Return the ln ratio of a to b that a new laboratory will measure.

        a, b : choice to value of each side; a choice that is left out or empty is not stated
        where : workload, direction, access and storage of the new laboratory; empty where it is not known
        noise : variance of the errors of both sides' runs together
        """
        return self.contrasts([a], [b], [where], np.array([noise]))[0]

    def contrasts(
        self,
        a: Sequence[Mapping[str, str]],
        b: Sequence[Mapping[str, str]],
        where: Sequence[Mapping[str, str]],
        noise: np.ndarray,
    ) -> list[Prediction]:
        """Return what `contrast` does for each of many pairs; all (pairs,)."""
        alike = np.zeros((len(CHOICES), len(a), len(self.cells)))
        valued = np.zeros((len(CHOICES), len(a)))  # sides that state what differs
        for place, choice in enumerate(CHOICES):
            one, other = (np.array([side.get(choice) or "" for side in sides], dtype=object) for sides in (a, b))
            known = self.cells[choice].to_numpy(dtype=object)
            for sign, values in ((1.0, one), (-1.0, other)):
                states = (one != other) & (values != "")
                alike[place] += sign * (states[:, None] & (values[:, None] == known))
                valued[place] += states
        shared = self._shared_with(where)
        logs, means, squares = [], [], []
        for draw in self.draws():
            logs.append(draw.log_weight)
            by_choice, anywhere, within, residuals = _split(draw.squares)
            towards = (1.0 + np.tensordot(anywhere, shared, 1)) * np.tensordot(by_choice, alike, 1)
            known_share = (solve_triangular(draw.root, towards.T, lower=True, check_finite=False) ** 2).sum(axis=0)
            whole = by_choice @ valued
            outside = np.maximum(whole * (1.0 + anywhere.sum()) - known_share, 0.0)
            inside = whole * within.sum() + 2.0 * residuals.sum()
            means.append(np.repeat((towards @ draw.solved)[:, None], len(_FACTORS), axis=1))
            squares.append((outside + noise)[:, None] + inside[:, None] * _FACTORS)
        weights = np.repeat(weights_of(logs) / len(_FACTORS), len(_FACTORS))
        both = zip(np.concatenate(means, axis=1), np.sqrt(np.concatenate(squares, axis=1)), strict=True)
        return [Prediction(weights, *mixture) for mixture in both]

    def _shared_with(self, where: Sequence[Mapping[str, str]]) -> np.ndarray:
        """Return (contexts, pairs, n): whether each cell shares each context with each new laboratory's cells."""
        shared = np.ones((len(ANYWHERE), len(where), len(self.cells)))
        for place, columns in enumerate(ANYWHERE.values()):
            for column in columns:
                values = np.array([known.get(column) or "" for known in where], dtype=object)[:, None]
                shared[place] *= (values != "") & (values == self.cells[column].to_numpy(dtype=object))
        return shared


def fit(cells: pd.DataFrame, near: Proposal | None = None, *, keeps: bool = True) -> Hierarchy:
    """Fit the model.

    Parameters
    ----------
    cells : DataFrame, one row a cell
        COLUMNS str, "" where not stated; configuration int; level int, the same for cells that may be compared;
        outcome float, ln speed; variance float > 0, of the outcome
    near : of a fit to nearly the same cells, where there is one: the search begins at its mode, and the draws are made
        by its curvature. A fit takes a quarter of the time then; the draws' weights make up for the difference.
    keeps : the draws, 32 times 4 n² bytes; else each call of `contrasts` makes them anew

    Raises EvidenceError without cells.
    """
    if cells.empty:
        raise EvidenceError("there are no cells to compare")
    covariance = _Covariance(cells)
    count = len(NAMES) + len(covariance.laboratories)
    begin = np.zeros(count)
    if near is not None:
        begin = np.array([near.scores.get(name, 0.0) for name in (*NAMES, *covariance.laboratories)])
    mode = minimize(
        lambda scores: tuple(-part for part in covariance.posterior(scores)),
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-4.0, 4.0)] * count,
        options={"ftol": 1e-7, "maxiter": 200},
    ).x
    logs, _ = _logarithms(mode)
    at = np.exp(logs)
    root = near.root if near is not None else _root(covariance, mode)
    draws = partial(_draws, covariance, mode, root)
    return Hierarchy(
        cells,
        dict(zip(NAMES, at[: len(NAMES)].tolist(), strict=True)),
        dict(zip(covariance.laboratories, at[len(NAMES) :].tolist(), strict=True)),
        partial(iter, tuple(draws())) if keeps else draws,
        Proposal(dict(zip((*NAMES, *covariance.laboratories), mode.tolist(), strict=True)), root),
    )


def _root(covariance: "_Covariance", mode: np.ndarray) -> np.ndarray:
    """Return a root (names, names) of the inverse curvature of ln posterior at the mode of the scores."""
    count, step = len(NAMES), 0.05
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
    root: np.ndarray = np.linalg.cholesky((vectors / np.maximum(values, 1.0)) @ vectors.T)
    return root


def _draws(covariance: "_Covariance", mode: np.ndarray, root: np.ndarray) -> Iterator[_Draw]:
    """Draw the standard deviations from the normal approximation at the mode of their scores, each draw weighted by
    how much more likely it is than that approximation says; the laboratories' factors stay at the mode."""
    from scipy.stats import qmc

    count = len(NAMES)
    for normal in ndtri(qmc.Sobol(count, seed=1).random(_DRAWS)):
        scores = mode.copy()
        scores[:count] = np.clip(scores[:count] + root @ normal, -4.0, 4.0)
        logs, _ = _logarithms(scores)
        value, (root_of_cells, solved) = covariance.solved(logs)
        log_weight = value - scores @ scores / 2 + normal @ normal / 2
        yield _Draw(float(log_weight), np.exp(2 * logs[:count]), root_of_cells.astype(np.float32), solved)


def weights_of(logs: Sequence[float]) -> np.ndarray:
    """Return the weights of draws from their logarithms; none counts ten times as much as the median."""
    weights = np.minimum(np.exp(np.array(logs) - np.median(logs)), 10.0)
    return weights / weights.sum()


class _Covariance:
    """The covariance of cells as a function of the logarithms of standard deviations and laboratories' factors.

    Only pairs of cells that share a choice's value, a configuration or a level have one, each pair once: with p of
    these, `choices`, `anywhere` and `within` are (names, p), 1 where the pair shares the value or the context.
    """

    def __init__(self, cells: pd.DataFrame) -> None:
        same = {name: _same(cells[name]) & (cells[name] != "").to_numpy() for name in CHOICES}
        # A context that is not stated is one and the same in a laboratory, and another one elsewhere.
        elsewhere = "not stated in " + cells["laboratory"]
        same |= {name: _same(cells[name].where(cells[name] != "", elsewhere)) for name in CONTEXTS}
        same["level"] = _same(cells["level"])
        configuration = _same(cells["configuration"]) & same["laboratory"] & same["workload"]
        related = np.logical_or.reduce([configuration, same["level"], *(same[choice] for choice in CHOICES)])
        self.row, self.column = np.nonzero(np.tril(related))
        self.outcome = (cells["outcome"] - cells["outcome"].groupby(cells["level"]).transform("mean")).to_numpy()
        self.variance = cells["variance"].to_numpy(dtype=float)
        self.level = _LEVEL * same["level"][self.row, self.column]
        self.configuration = configuration[self.row, self.column].astype(float)
        self.choices = np.array([same[choice][self.row, self.column] for choice in CHOICES], dtype=float)
        self.anywhere, self.within = (
            np.array(
                [
                    np.logical_and.reduce([same[name] for name in columns])[self.row, self.column]
                    for columns in contexts
                ],
                dtype=float,
            )
            for contexts in (ANYWHERE.values(), WITHIN.values())
        )
        self.laboratory, names = pd.factorize(cells["laboratory"], sort=True)
        self.laboratories = [str(name) for name in names]

    def solved(self, logs: np.ndarray) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
        """Return ln likelihood up to a constant, with the root of the covariance and its inverse times y."""
        return self._solved(self._sum(logs)[0])

    def _solved(self, covariance: np.ndarray) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
        root = np.linalg.cholesky(covariance)  # which reads the lower half
        solved = cho_solve((root, True), self.outcome)
        value = -self.outcome @ solved / 2 - np.log(np.diag(root)).sum()
        return float(value), (root, solved)

    def posterior(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return ln posterior density of the scores up to a constant, and its gradient."""
        logs, slopes = _logarithms(scores)
        covariance, effects, context, factor = self._sum(logs)
        value, (root, solved) = self._solved(covariance)
        by_choice, anywhere, within, (configuration, cell) = _split(np.exp(2 * logs[: len(NAMES)]))
        inverse, _ = dpotri(root, lower=1)
        slope = solved[self.row] * solved[self.column] - inverse[self.row, self.column]  # of a pair: twice a cell's
        slope[self.row == self.column] /= 2
        own = (solved**2 - np.diag(inverse)) / 2
        by_context, by_effect = slope * context, slope * effects
        gradient = [
            *(2 * by_choice * (self.choices @ by_context)),
            *(2 * anywhere * (self.anywhere @ by_effect)),
            *(2 * within * (self.within @ (by_effect * factor))),
            2 * configuration * (slope * factor) @ self.configuration,
            2 * cell * own @ np.exp(logs[len(NAMES) :])[self.laboratory],
        ]
        of_pair = by_effect * (within @ self.within) + configuration * slope * self.configuration
        count = len(self.laboratories)
        factors = np.bincount(self.laboratory[self.row], of_pair, count) + cell * np.bincount(
            self.laboratory, own, count
        )
        factors *= np.exp(logs[len(NAMES) :])
        return value - scores @ scores / 2, np.concatenate([gradient, factors]) * slopes - scores

    def _sum(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the lower half of the covariance (n, n); and of pairs (p,) the part of main effects, what contexts
        multiply it by, and the factor of the laboratory."""
        by_choice, anywhere, within, (configuration, cell) = _split(np.exp(2 * logs[: len(NAMES)]))
        by_laboratory = np.exp(logs[len(NAMES) :])
        factor = by_laboratory[self.laboratory[self.row]]
        effects = by_choice @ self.choices
        context = 1.0 + anywhere @ self.anywhere + factor * (within @ self.within)
        covariance = np.zeros((len(self.outcome), len(self.outcome)))
        covariance[self.row, self.column] = effects * context + configuration * factor * self.configuration + self.level
        covariance[np.diag_indices_from(covariance)] += cell * by_laboratory[self.laboratory] + self.variance
        return covariance, effects, context, factor


def _logarithms(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of standard deviations and factors, and their derivatives by the scores.

    A score is standard normal where the standard deviation has its half-normal prior and the factor its inverse gamma,
    so that what the cells do not tell keeps its prior exactly.
    """
    spreads, factors = np.split(scores, [len(NAMES)])
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
