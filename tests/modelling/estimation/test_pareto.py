"""Pareto sets, worked by hand."""

import numpy as np
import pytest

from modelling.estimation.pareto import Compared, by_intervals, front, standings


def compared(*ends: tuple[float, float]) -> Compared:
    """Compare entries with independent intervals, larger better."""
    low, high = np.array(ends).T
    return by_intervals(low[:, None] - high[None, :], high[:, None] - low[None, :])


def test_by_estimates_the_front_is_what_nothing_beats_in_everything():
    # (3, 1) and (1, 3) trade; (2, 2) lies between; (1, 1) loses to (2, 2); (2, 1) loses to (3, 1).
    assert front([(3, 1), (1, 3), (2, 2), (1, 1), (2, 1)]) == [True, True, True, False, False]


def test_equal_entries_do_not_dominate_each_other():
    assert front([(2, 2), (2, 2), (1, 2)]) == [True, True, False]


def test_an_entry_is_dominated_only_beyond_the_intervals():
    # The first is faster than both; in spread it is surely better than the second and not told from the third.
    speed = compared((10, 12), (5, 6), (5, 6))
    spread = compared((3, 4), (1, 2), (2, 5))
    assert standings([speed, spread]) == ["in the Pareto set", "dominated", "cannot tell"]


def test_where_intervals_overlap_in_everything_nothing_can_be_told():
    thing = compared((1, 3), (2, 4))
    assert standings([thing, thing]) == ["cannot tell", "cannot tell"]


def test_what_is_surely_equal_in_one_thing_is_decided_by_the_other():
    # Both keep acknowledged writes; the first is faster. The third is fastest, and loses writes.
    speed = compared((10, 12), (5, 6), (20, 22))
    keeps_writes = compared((1, 1), (1, 1), (0, 0))
    assert standings([speed, keeps_writes]) == ["in the Pareto set", "dominated", "in the Pareto set"]


@pytest.mark.parametrize("unknown", [(0, 1)])
def test_what_is_not_known_in_one_thing_is_not_decided_by_the_other(unknown):
    speed = compared((10, 12), (5, 6))
    assert standings([speed, compared(unknown, (1, 1))]) == ["in the Pareto set", "cannot tell"]
    assert standings([speed, compared(unknown, unknown)]) == ["in the Pareto set", "cannot tell"]
