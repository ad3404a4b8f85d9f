"""Where a series changed: E-divisive, in windows, each change held against a t-test.

Sources: Matteson and James 2014, 10.1080/01621459.2013.849605 (the divergence); Fleming
et al. 2023, 10.1145/3578244.3583719 (windows, and what is found merged again by t-tests); docs/models/change.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .student import Difference, difference

Numbers = NDArray[np.float64]

WINDOW = 50  # points that are looked at together
FIRST_PASS = 10  # a change found in one window may be as many times less sure; the whole series decides then
MOST_P = 0.001  # of a change that a page marks, unless it is asked for another


@dataclass(frozen=True)
class Change:
    """One change. place : index of its first point; q : its divergence; difference : the levels around it"""

    place: int
    q: float
    difference: Difference


def divergences(values: Numbers) -> Numbers:
    """Return Q[i, j], how much values[:i + 1] and values[i + 1 : j + 2] differ; -inf where the second is empty.

    values : n numbers; returns n - 1 by n - 1
    """
    n = len(values)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = np.abs(values[:, None] - values[None, :]).cumsum(axis=0).cumsum(axis=1)
    within = np.diagonal(sums) / 2  # of values[:k], each pair once
    place, end = np.arange(1, n)[:, None], np.arange(2, n + 1)[None, :]
    left, right = place.astype(float), np.maximum(end - place, 1).astype(float)
    between = sums[1:n, 2:] - 2 * within[1:n, None]
    of_right = within[None, 2:] - within[1:n, None] - between
    q = between - right / np.maximum(left - 1, 1) * within[1:n, None] - left / np.maximum(right - 1, 1) * of_right
    return np.where(end > place, 2 / (left + right) * q, -np.inf)


def best_split(values: Numbers, *, to_end: bool = False) -> tuple[int, float]:
    """Return where the series differs most from what comes before, and by how much. values : two or more

    to_end : compare with all that comes after, else with as much of it as differs most
    """
    q = divergences(values)
    if to_end:
        place = int(np.argmax(q[:, -1]))
        return place + 1, float(q[place, -1])
    row, column = np.unravel_index(int(np.argmax(q)), q.shape)
    return int(row) + 1, float(q[row, column])


def change_points(values: Numbers, most_p: float = MOST_P, window: int = WINDOW) -> tuple[Change, ...]:
    """Return where the series changed, in order; adding points at its end moves none that is two windows old.

    most_p : of the t-test between the levels on both sides of a change
    """
    places: set[int] = set()
    start = 0
    while start < len(values):
        in_window = _within(values[start : start + window], min(FIRST_PASS * most_p, 1.0))
        places.update(start + place for place in in_window)
        start = max(start + max(in_window, default=0), start + window // 2)
    return _merged(values, sorted(places), most_p)


def segments(count: int, places: Sequence[int]) -> list[slice]:
    """Return the parts of a series of so many points between its changes; one more than there are changes."""
    ends = [0, *places, count]
    return [slice(first, last) for first, last in pairwise(ends)]


def _within(values: Numbers, most_p: float) -> list[int]:
    """Split the part that differs most until no split is sure enough. Return the splits in order."""
    places: list[int] = []
    while True:
        splits = [
            (*best_split(values[part]), part) for part in segments(len(values), places) if part.stop - part.start > 1
        ]
        if not splits:
            return places
        place, _, part = max(splits, key=lambda split: split[1])
        if difference(values[part][:place], values[part][place:]).p > most_p:
            return places
        places = sorted([*places, part.start + place])


def _merged(values: Numbers, places: list[int], most_p: float) -> tuple[Change, ...]:
    """Take away the least sure change until all are sure, each against the levels up to its neighbours."""
    while True:
        parts = [values[part] for part in segments(len(values), places)]
        differences = [difference(before, after) for before, after in pairwise(parts)]
        least = max(range(len(places)), key=lambda i: differences[i].p, default=None)
        if least is None or differences[least].p <= most_p:
            break
        places = places[:least] + places[least + 1 :]
    changes = []
    for i, place in enumerate(places):
        both = np.concatenate(parts[i : i + 2])
        changes.append(Change(place, float(divergences(both)[len(parts[i]) - 1, -1]), differences[i]))
    return tuple(changes)
