"""Tells a step at the end of a series from nights that hang together, from a drift and from a trouble that passes.

Each shape that speed may have had is fitted by generalised least squares at each autocorrelation, which is averaged out
as it is not known. Source: docs/models/change.md.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from .student import RESOLUTION, Difference

Numbers = NDArray[np.float64]

LAGS = (7, 8, 10, 12, 15, 20, 25, 30, 40)  # a step is looked for so many nights before the end
LEAST_BEFORE = 10  # nights that a level is known by
LEAST = LEAST_BEFORE + LAGS[0]  # nights since the last change, before which nothing is told
MOST = 100  # nights that are looked at
BRIEF = 5  # nights that a trouble takes to pass, at most
FADES = 0.6, 0.75, 0.87  # what is left of a trouble a night later, where it passes slowly
DRIFTS = (14, 20, 28, 40, 56, 80)  # nights since a drift may have begun; or it always was
RATE_NIGHTS = 30  # for which the rate of a drift is given
MOST_P = 1e-3  # of a suspicion
ODDS = log(10)  # a shape must be so much likelier than each of another kind
ODDS_OF_STEP = log(200)  # and a step than each drift: a day is named for it
_AUTOCORRELATIONS = (np.arange(10) / 10)[:, None, None]  # of a night with the next, equally likely beforehand
_FARTHEST = 4.0  # standard deviations from the level, at which what is farther off counts
_LEAST_APART = 3 * RESOLUTION  # that one is taken for: a step drawn in to what no machine repeats would be lost
_NORMAL = 1.4826  # standard deviation of normal numbers, as a multiple of their median distance from the median


@dataclass(frozen=True)
class Fits:
    """Shapes fitted to series. evidence : ln of how likely each is, series by shapes

    weights, middles, variances : of each autocorrelation, and how far speed (ln) went by the shape under it
    """

    evidence: Numbers
    weights: Numbers
    middles: Numbers
    variances: Numbers
    freedom: int

    def p(self, shapes: NDArray[np.int64]) -> Numbers:
        """Return the two-sided p of one shape of each series."""
        every = np.arange(len(shapes))
        weights, middles, variances = (
            numbers[:, every, shapes] for numbers in (self.weights, self.middles, self.variances)
        )
        p: Numbers = (weights * 2 * stdtr(self.freedom, -np.abs(middles) / np.sqrt(variances))).sum(axis=0)
        return p

    def of(self, shape: int) -> Difference:
        """Return what this shape did to the speed of the only series."""
        weights, middles = self.weights[:, 0, shape], self.middles[:, 0, shape]
        middle = float(weights @ middles)
        variance = float(weights @ (self.variances[:, 0, shape] + (middles - middle) ** 2))
        return Difference(middle, sqrt(variance), self.freedom, float(self.p(np.array([shape]))[0]))


@dataclass(frozen=True)
class SeriesEnds:
    """Which shape each of several series ends in. lag, drift : nights since the step, or since the drift began

    step_p : for all places that were looked at
    """

    lag: NDArray[np.int64]
    step_p: Numbers
    is_step: NDArray[np.bool_]
    drift: NDArray[np.int64]
    is_drift: NDArray[np.bool_]


def fits(nights: Numbers, shapes: Numbers) -> Fits:
    """Fit a level and each shape by itself. nights : ln speed, series by nights; shapes : shapes by nights"""
    rows = np.vstack([np.ones_like(shapes[:1]), shapes])
    own, cross = _inner(rows, rows), _inner(nights, rows)
    level = own[:, :1, :1]
    squares = np.diagonal(own, axis1=1, axis2=2)[:, None, 1:] - own[:, :1, 1:] ** 2 / level
    along = cross[:, :, 1:] - cross[:, :, :1] * own[:, :1, 1:] / level
    total = np.diagonal(_inner(nights, nights), axis1=1, axis2=2)[:, :, None] - cross[:, :, :1] ** 2 / level
    freedom = nights.shape[1] - 2
    rest = np.maximum(total - along**2 / squares, 0) + freedom * RESOLUTION**2
    evidence = (np.log1p(-(_AUTOCORRELATIONS**2)) - np.log(level) - np.log(squares) - freedom * np.log(rest)) / 2
    most = evidence.max(axis=0)
    weights = np.exp(evidence - most)
    sums = weights.sum(axis=0)
    variances = rest / squares / freedom
    return Fits(most + np.log(sums), weights / sums, along / squares, variances, freedom)


def classify_ends(nights: Numbers) -> SeriesEnds | None:
    """Tell whether each series ends in a step or a drift; None while it has too few nights.

    nights : ln speed since the last known change, series by nights
    """
    count = min(nights.shape[1], MOST)
    lags, drifts = _looked_for(count)
    if not len(lags):
        return None
    fitted = fits(_drawn_in(nights[:, -MOST:]), _shapes(count))
    step, drift = slice(0, len(lags)), slice(len(lags), len(lags) + len(drifts))
    likeliest = [fitted.evidence[:, part].max(axis=1) for part in (step, drift, slice(drift.stop, None))]
    at_step, at_drift = (fitted.evidence[:, part].argmax(axis=1) for part in (step, drift))
    p = np.minimum(fitted.p(at_step) * len(lags), 1)
    drift_p = fitted.p(drift.start + at_drift) * len(drifts)
    is_step = (p <= MOST_P) & (likeliest[0] >= np.maximum(likeliest[1] + ODDS_OF_STEP, likeliest[2] + ODDS))
    is_drift = (drift_p <= MOST_P) & (likeliest[1] >= np.maximum(likeliest[0], likeliest[2]) + ODDS)
    return SeriesEnds(lags[at_step], p, is_step, drifts[at_drift], is_drift)


@dataclass(frozen=True)
class Step:
    """What the newest night shows. place : of the first night after it"""

    place: int
    difference: Difference
    is_suspicious: bool


def newest_step(values: Numbers) -> Step | None:
    """Return the step that the end of a series shows best; None while too few nights tell. values : ln speed"""
    ends = classify_ends(values[None])
    if ends is None:
        return None
    recent = _drawn_in(values[None, -MOST:])
    ago = np.arange(recent.shape[1])[::-1]
    lags = np.arange(LAGS[0], min(LAGS[-1], len(ago) - LEAST_BEFORE) + 1)
    steps = (ago < lags[:, None]).astype(float)
    best = int(fits(recent, steps).evidence[0].argmax())
    difference = fits(values[None, -MOST:], steps[best : best + 1]).of(0)  # as far as it went: nothing is drawn in
    difference = replace(difference, p=float(ends.step_p[0]))
    return Step(len(values) - int(lags[best]), difference, bool(ends.is_step[0]))


def newest_drift(values: Numbers) -> Difference | None:
    """Return what the drift at the end of a series does in RATE_NIGHTS; None: it shows none. values : ln speed"""
    ends = classify_ends(values[None])
    if ends is None or not ends.is_drift[0]:
        return None
    recent = values[None, -MOST:]
    ago = np.arange(recent.shape[1])[::-1]
    return fits(recent, np.maximum(ends.drift[0] - ago, 0)[None] / RATE_NIGHTS).of(0)


def _looked_for(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lengths in nights of the steps, and of the drifts, that a series of `count` nights is tested for."""
    steps = np.array([lag for lag in LAGS if lag + LEAST_BEFORE <= count], dtype=np.int64)
    return steps, np.array([*(length for length in DRIFTS if length < count), count], dtype=np.int64)


@lru_cache(maxsize=MOST)
def _shapes(count: int) -> Numbers:
    """Return the shapes over so many nights: steps, drifts, and troubles that passed or may pass."""
    ago, (lags, lengths) = np.arange(count)[::-1], _looked_for(count)
    steps = [ago < lag for lag in lags]
    drifts = [np.maximum(1 - ago / length, 0) for length in lengths]
    passing = [ago < lag for lag in range(1, BRIEF + 1)]
    passing += [(ago < lag) & (ago >= lag - length) for lag in lags for length in range(1, BRIEF + 1)]
    fading = [np.where(ago < lag, left ** (lag - 1.0 - ago), 0) for lag in lags for left in FADES]
    return np.array([*steps, *drifts, *passing, *fading], dtype=float)


def _drawn_in(nights: Numbers) -> Numbers:
    """Return nights less the median of their series, none farther from it than _FARTHEST standard deviations."""
    settled = nights[:, :-3]
    middle = np.median(settled, axis=1, keepdims=True)
    apart = np.median(np.abs(settled - middle), axis=1, keepdims=True)
    farthest = _FARTHEST * np.maximum(_NORMAL * apart, _LEAST_APART)
    return np.clip(nights - middle, -farthest, farthest)


def _inner(left: Numbers, right: Numbers) -> Numbers:
    """Return the product of each row of the one with each of the other, whitened by each autocorrelation."""
    beside = left[:, 1:] @ right[:, :-1].T + left[:, :-1] @ right[:, 1:].T
    inside = left[:, 1:-1] @ right[:, 1:-1].T
    products: Numbers = left @ right.T - _AUTOCORRELATIONS * beside + _AUTOCORRELATIONS**2 * inside
    return products
