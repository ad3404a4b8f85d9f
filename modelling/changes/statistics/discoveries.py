"""The significance level of the next test, such that few of all discoveries are false: LORD++.

Source: Ramdas, Yang, Wainwright and Jordan 2017, arXiv:1710.00499; docs/models/change.md.
"""

from collections.abc import Callable, Sequence
from functools import cache

from scipy.special import zeta

FALSE = 0.05  # share of false discoveries, at most and on average
FIRST = 0.5  # of it that may be spent before anything is discovered
HORIZON = 1000  # tests after which levels begin to fall

Weights = Callable[[int], float]


def weight(number: int, horizon: int = HORIZON) -> float:
    """Return the share that the test of this number, from 1, has of what may be spent; all of them sum to 1."""
    return float((number + horizon) ** -1.5 / _sum(horizon))


@cache
def _sum(horizon: int) -> float:
    return float(zeta(1.5, horizon + 1))


def level(
    number: int,
    discoveries: Sequence[int],
    *,
    false: float = FALSE,
    first: float = FIRST * FALSE,
    weights: Weights = weight,
) -> float:
    """Return the p-value below which the test of this number, from 1, is a discovery.

    discoveries : numbers of the earlier tests that were, ascending; first : what may be spent before the first of them
    """
    spent = first * weights(number)
    for place, earlier in enumerate(discoveries):
        spent += (false if place else false - first) * weights(number - earlier)
    return spent
