"""Compare the speed of a disk before and after a move, on minutes of the same load. No Django.

Source: docs/models/placement.md, "Afterwards".
"""

import math
from dataclasses import dataclass

import numpy as np

KEPT, SAME, WORSE, UNKNOWN = VERDICTS = ("kept promise", "no difference", "worse", "cannot be told")
LEAST_MINUTES = 30  # matched, before and after each
LEAST_BLOCKS = 4  # different hours with matched minutes, before and after each
RATE_STEP = math.log(1.25)  # width of a class in ln request rate
SHARE_STEP = 0.1  # width of a class in read share
SIZE_STEP = math.log(2)  # width of a class in ln mean request size
_DRAWS = 500
_BLOCK_SECONDS = 3600


@dataclass(frozen=True)
class Minutes:
    """Watched minutes of one disk, (N,) each.

    starts : s since the epoch; seconds : watched; requests : reads and writes; reads : those of them; bytes : of all
    requests; busy : sum of the seconds of all requests, with flushes
    """

    starts: np.ndarray
    seconds: np.ndarray
    requests: np.ndarray
    reads: np.ndarray
    bytes: np.ndarray
    busy: np.ndarray


@dataclass(frozen=True)
class Outcome:
    """speed : mean service time before / after, above 1 is faster, with its 95 % interval low to high; None: not known

    minutes_before, minutes_after : matched; watched_before, watched_after : with any request
    """

    verdict: str
    speed: float | None
    low: float | None
    high: float | None
    minutes_before: int
    minutes_after: int
    watched_before: int
    watched_after: int


def compare(before: Minutes, after: Minutes, margin: float, seed: int = 0) -> Outcome:
    """Compare the service time of requests, on minutes with similar rate, read share and size of requests.

    Minutes are grouped into classes of load. The ln ratios of the mean service times of the classes that both times
    have are averaged with weights n_b n_a / (n_b + n_a). The interval is from a bootstrap over whole hours, because
    neighbouring minutes are correlated. margin : a difference within it, either way, counts as none
    """
    classes_before, classes_after = _classes(before), _classes(after)
    shared = np.intersect1d(classes_before, classes_after)
    shared = shared[shared >= 0]
    kept_before, kept_after = np.isin(classes_before, shared), np.isin(classes_after, shared)
    n_before, n_after = int(kept_before.sum()), int(kept_after.sum())
    counts = (n_before, n_after, int((before.requests > 0).sum()), int((after.requests > 0).sum()))
    first = _Side(before, np.searchsorted(shared, classes_before[kept_before]), kept_before, len(shared))
    second = _Side(after, np.searchsorted(shared, classes_after[kept_after]), kept_after, len(shared))
    if min(n_before, n_after) < LEAST_MINUTES or min(first.blocks, second.blocks) < LEAST_BLOCKS:
        return Outcome(UNKNOWN, None, None, None, *counts)
    speed = _speed(*first.sums(None), *second.sums(None))
    rng = np.random.default_rng(seed)
    drawn = np.array([_speed(*first.sums(rng), *second.sums(rng)) for _ in range(_DRAWS)])
    low, high = (float(math.exp(edge)) for edge in np.nanquantile(drawn, [0.025, 0.975]))
    within = math.log1p(margin)
    if -within <= math.log(low) and math.log(high) <= within:
        verdict = SAME
    else:
        verdict = KEPT if low > 1 else WORSE if high < 1 else UNKNOWN
    return Outcome(verdict, math.exp(speed), low, high, *counts)


def _classes(minutes: Minutes) -> np.ndarray:
    """Return the class of each minute, (N,) int; -1 for minutes without requests."""
    has_load = (minutes.requests > 0) & (minutes.busy > 0)
    requests = np.where(has_load, minutes.requests, 1)
    rate = np.floor(np.log(requests / minutes.seconds) / RATE_STEP).astype(int) + 1000
    share = np.minimum(np.floor(minutes.reads / requests / SHARE_STEP).astype(int), round(1 / SHARE_STEP) - 1)
    size = np.floor(np.log(np.maximum(minutes.bytes, 1) / requests) / SIZE_STEP).astype(int) + 100
    return np.where(has_load, (rate * 100 + share) * 1000 + size, -1)


class _Side:
    """The matched minutes before or after, summed by hour and class, so that a bootstrap draw is a sum of rows."""

    def __init__(self, minutes: Minutes, classes: np.ndarray, kept: np.ndarray, number: int) -> None:
        hours, block = np.unique(minutes.starts[kept] // _BLOCK_SECONDS, return_inverse=True)
        self.blocks = len(hours)
        shape = (self.blocks, max(number, 1))
        self.n, self.busy, self.requests = (np.zeros(shape) for _ in range(3))
        np.add.at(self.n, (block, classes), 1.0)
        np.add.at(self.busy, (block, classes), minutes.busy[kept])
        np.add.at(self.requests, (block, classes), minutes.requests[kept])

    def sums(self, rng: np.random.Generator | None) -> tuple[np.ndarray, np.ndarray]:
        """Return minutes and mean service time of each class. rng : to draw hours with replacement; None: all hours"""
        times = np.ones(self.blocks)
        if rng is not None:
            times = np.bincount(rng.integers(self.blocks, size=self.blocks), minlength=self.blocks).astype(float)
        requests = times @ self.requests
        with np.errstate(invalid="ignore", divide="ignore"):
            return times @ self.n, np.where(requests > 0, (times @ self.busy) / requests, np.nan)


def _speed(n_before: np.ndarray, before: np.ndarray, n_after: np.ndarray, after: np.ndarray) -> float:
    """Return the weighted mean of ln(service time before / after) over classes that both have; nan without one."""
    both = ~np.isnan(before) & ~np.isnan(after)
    if not both.any():
        return math.nan
    weights = n_before[both] * n_after[both] / (n_before[both] + n_after[both])
    return float(np.average(np.log(before[both] / after[both]), weights=weights))
