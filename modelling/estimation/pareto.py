"""Find the Pareto-optimal entries, by estimates and beyond their intervals. No Django.

An entry is dominated by another that is better in one objective and no worse in any. Estimates always give a Pareto
set; beyond their intervals, whether an entry belongs to it is often undecided. Source: docs/models/trade-off.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DOMINATED, EFFICIENT, UNDECIDED = "dominated", "in the Pareto set", "cannot tell"


@dataclass(frozen=True)
class Compared:
    """The comparisons of n entries in one objective, beyond chance.

    better : (n, n) bool, whether i is surely better than j; no_worse : whether i is surely better than j or equal to it
    """

    better: np.ndarray
    no_worse: np.ndarray


def by_intervals(low: np.ndarray, high: np.ndarray) -> Compared:
    """Compare by the (n, n) ends of the intervals of value i - value j; larger is better."""
    return Compared(better=low > 0, no_worse=low >= 0)


def standings(objectives: Sequence[Compared]) -> list[str]:
    """Return for each entry whether another surely dominates it, surely none does, or neither is sure."""
    better = np.any([objective.better for objective in objectives], axis=0)
    no_worse = np.all([objective.no_worse for objective in objectives], axis=0)
    dominates = no_worse & better
    # i cannot dominate j where j is surely better in some objective, or surely equal in all.
    cannot_dominate = better.T | (no_worse & no_worse.T)
    return [
        DOMINATED if dominates[others, j].any() else EFFICIENT if cannot_dominate[others, j].all() else UNDECIDED
        for j, others in enumerate(~np.eye(len(better), dtype=bool))
    ]


def front(estimates: Sequence[tuple[float, ...]]) -> list[bool]:
    """Return for each entry whether none dominates it by estimates alone; larger is better in each objective."""
    values = np.array(estimates, dtype=float)
    difference = values[:, None, :] - values[None, :, :]
    compared = [by_intervals(differences, differences) for differences in np.moveaxis(difference, 2, 0)]
    return [standing != DOMINATED for standing in standings(compared)]
