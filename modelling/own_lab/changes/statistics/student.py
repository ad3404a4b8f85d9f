"""Student's t: by how much two levels of ln speed differ. docs/models/change.md has the equations."""

from dataclasses import dataclass
from math import exp, inf, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

RESOLUTION = 0.005  # no machine repeats its runs more closely (ln speed); nor does rounding become news

SURE_P = 0.01  # of a rerun, with which a suspicion becomes a change


@dataclass(frozen=True)
class Difference:
    """The difference of two means of ln speed. middle, error : of ln speed; freedom : degrees of it; p : two-sided"""

    middle: float
    error: float
    freedom: int
    p: float

    @property
    def ratio(self) -> float:
        """Return how fast the second is as a multiple of the first."""
        return exp(self.middle)

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the ratio; without any freedom it is everything."""
        if not self.freedom:
            return 0.0, inf
        reach = float(stdtrit(self.freedom, 0.975)) * self.error
        return exp(self.middle - reach), exp(self.middle + reach)

    def confirms(self, ratio: float) -> bool:
        """Tell whether a rerun with this difference bears out a suspicion of this ratio, in its direction."""
        return self.p <= SURE_P and (self.ratio < 1) == (ratio < 1)


def difference(before: NDArray[np.float64], after: NDArray[np.float64]) -> Difference:
    """Return how two groups of ln speed differ, whose points vary alike. Each has one or more."""
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    freedom = len(before) + len(after) - 2
    variance = max(squares / freedom, RESOLUTION**2) if freedom else RESOLUTION**2
    return judged(float(after.mean() - before.mean()), sqrt(variance * (1 / len(before) + 1 / len(after))), freedom)


def judged(middle: float, error: float, freedom: int) -> Difference:
    """Return a difference with its p-value; without any freedom nothing is known, and p is 1."""
    return Difference(middle, error, freedom, 2 * float(stdtr(freedom, -abs(middle) / error)) if freedom else 1.0)
