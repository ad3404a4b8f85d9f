"""Tells which entries are beaten in everything that is weighed, and which are not, as far as intervals tell. No Django.

An entry is dominated by another that is better in one thing and no worse in any. Estimates always name a set that
nothing dominates; beyond their intervals much of it cannot be told. Source: docs/models/trade-off.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DOMINATED, EFFICIENT, UNDECIDED = "dominated", "in the Pareto set", "cannot tell"


@dataclass(frozen=True)
class Compared:
    """The comparisons of n entries in one thing, beyond what chance explains.

    better : (n, n) bool, whether i is surely better than j; no_worse : whether i is surely better than j or equal to it
    """

    better: np.ndarray
    no_worse: np.ndarray


def by_intervals(low: np.ndarray, high: np.ndarray) -> Compared:
    """Compare by the (n, n) ends of the intervals of what i is above j; larger is better."""
    return Compared(better=low > 0, no_worse=low >= 0)


def standings(things: Sequence[Compared]) -> list[str]:
    """Say of each entry: dominated by another beyond the intervals, surely by none, or neither can be told."""
    better = np.any([thing.better for thing in things], axis=0)
    no_worse = np.all([thing.no_worse for thing in things], axis=0)
    dominates = no_worse & better
    # j is spared by i where j is surely better than i in something, or surely equal to it in everything.
    spared = better.T | (no_worse & no_worse.T)
    standings_in_order = []
    for j in range(len(better)):
        others = np.arange(len(better)) != j
        if dominates[others, j].any():
            standings_in_order.append(DOMINATED)
        else:
            standings_in_order.append(EFFICIENT if spared[others, j].all() else UNDECIDED)
    return standings_in_order


def front(estimates: Sequence[tuple[float, ...]]) -> list[bool]:
    """Tell of each entry, one or more, whether none dominates it by estimates alone; larger is better in each thing."""
    values = np.array(estimates, dtype=float)
    difference = values[:, None, :] - values[None, :, :]
    compared = [by_intervals(differences, differences) for differences in np.moveaxis(difference, 2, 0)]
    return [standing != DOMINATED for standing in standings(compared)]
