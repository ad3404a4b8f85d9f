"""Estimates what a release did to speed: series that took it against series that did not, over laboratories.

Sources: Card and Krueger 1994 (difference in differences); Rücker 2012, 10.1002/jrsm.1058 (one estimate of direct and
indirect comparisons); docs/models/change.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from modelling.estimation.bayes import posterior
from modelling.estimation.hierarchy import published_scales
from modelling.estimation.network import Trial

from .student import Difference, difference

MOST = 20  # points on either side that a level is taken from
LEAST_BEFORE, LEAST_AFTER = 5, 3
_BEFORE, _TOOK, _WITHOUT = "before", "took it", "without it"


@dataclass(frozen=True)
class Step:
    """One series around a day. took : whether it took the release then; levels : how its level after differs"""

    laboratory: int
    took: bool
    levels: Difference

    def is_alike(self, ratio: float) -> bool:
        """Tell whether it surely (95 %) changed in the direction of this ratio."""
        low, high = self.levels.interval
        return high < 1 if ratio < 1 else low > 1


def levels_around(values: Sequence[float], place: int) -> Difference | None:
    """Return how the level from a place on differs from that before it; None where too few points tell.

    values : ln speed, in order of time
    """
    before, after = np.array(values[max(0, place - MOST) : place]), np.array(values[place : place + MOST])
    return difference(before, after) if len(before) >= LEAST_BEFORE and len(after) >= LEAST_AFTER else None


def effect(steps: Sequence[Step]) -> tuple[float, float, float] | None:
    """Return the mean ratio that taking the release has over laboratories, and its 95 % interval; None: none took it.

    It is that of the series that took it, divided by that of the others where there are some.
    """
    if not any(step.took for step in steps):
        return None
    trials = [_trial([step for step in steps if step.laboratory == place]) for place in _laboratories(steps)]
    names = [_BEFORE, _TOOK] if all(step.took for step in steps) else [_BEFORE, _TOOK, _WITHOUT]
    known = posterior(names, trials, laboratories_differ())
    against = np.array([len(names) - 1 if len(names) > 2 else 0])
    middle, low, high = np.exp(known.mean_quantiles(np.array([1]), against, (0.5, 0.025, 0.975))[0])
    return float(middle), float(low), float(high)


@lru_cache
def laboratories_differ() -> float:
    """Return the standard deviation of a release's effect from laboratory to laboratory: as a file system's, which of
    all choices is known best, learnt from all published."""
    scales = published_scales()
    own, by_workload = (scales.of(f"{part} guest_fs") for part in ("own", "by workload"))
    return sqrt(float(np.median(own + by_workload)))


def _laboratories(steps: Sequence[Step]) -> list[int]:
    return sorted({step.laboratory for step in steps})


def _trial(steps: Sequence[Step]) -> Trial:
    """Return the steps of one laboratory as a trial: each kind of series against what it was before."""
    arms = [(_BEFORE, 0.0, 1e-9)]  # each kind of series has levels before of its own, so nothing is common to the two
    for name, took in ((_TOOK, True), (_WITHOUT, False)):
        levels = [step.levels for step in steps if step.took == took]
        if levels:
            # A mean of few points has Student's t; a normal one of equal variance stands for it.
            variance = sum(level.error**2 * level.freedom / (level.freedom - 2) for level in levels) / len(levels) ** 2
            arms.append((name, float(np.mean([level.middle for level in levels])), variance))
    names, means, variances = zip(*arms, strict=True)
    return Trial.from_arms(str(steps[0].laboratory), names, np.array(means), np.array(variances))
