"""The assignment against every other there is, its constraints, and what it says of itself."""

from itertools import product

import numpy as np
import pytest

from modelling.fleet.placement.assignment import Problem, assign, greedy
from modelling.fleet.placement.content import EXACT, GREEDY


def problem(units: int, pools: int, seed: int) -> Problem:
    """Units of different size and load on pools with little room, one of them overloaded, and groups apart."""
    rng = np.random.default_rng(seed)
    here, loads = rng.integers(0, pools, units), rng.uniform(1, 10, units)
    values = rng.normal(0.1, 0.3, (units, pools))
    values[np.arange(units), here] = 0.0
    now = np.bincount(here, loads, pools)
    return Problem(
        values=values,
        here=here,
        sizes=rng.uniform(1, 10, units),
        loads=loads,
        room=rng.uniform(0, 3 * units / pools, pools) + 2,
        headroom=np.maximum(np.where(np.arange(pools) == 0, now - 1, now + 8) - now, 0),
        apart=[rng.choice(units, 3, replace=False) for _ in range(max(units // 6, 1))],
    )


def breaches(asked: Problem, pools: np.ndarray) -> list[str]:
    """Constraints that an assignment breaks, worked out by counting."""
    broken = []
    for pool in range(len(asked.room)):
        comes, leaves = (asked.here != pool) & (pools == pool), (asked.here == pool) & (pools != pool)
        if asked.sizes[comes].sum() > asked.room[pool] + 1e-6:
            broken.append(f"space of {pool}")
        if asked.loads[comes].sum() - asked.loads[leaves].sum() > asked.headroom[pool] + 1e-6 and comes.any():
            broken.append(f"load of {pool}")
        broken += [
            f"apart in {pool}" for group in asked.apart if comes[group].any() and (pools[group] == pool).sum() > 1
        ]
    moved = pools != asked.here
    if (asked.values[moved, pools[moved]] <= 0).any():
        broken.append("a move at a loss")
    return broken


def gain(asked: Problem, pools: np.ndarray) -> float:
    moved = pools != asked.here
    return float(asked.values[moved, pools[moved]].sum())


@pytest.mark.parametrize("seed", range(8))
def test_nothing_allowed_gains_more(seed):
    asked = problem(6, 3, seed)
    best = max(
        gain(asked, pools) for places in product(range(3), repeat=6) if not breaches(asked, pools := np.array(places))
    )
    solution = assign(asked, 30.0, 0.0)
    assert solution.method == EXACT
    assert solution.gain == pytest.approx(best)
    assert solution.bound == pytest.approx(best)


@pytest.mark.parametrize("seconds", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_every_constraint_holds_and_no_plan_is_worse_than_staying_or_beyond_its_bound(seed, seconds):
    asked = problem(60, 5, seed)
    solution = assign(asked, seconds, 0.01)
    assert not breaches(asked, solution.pools)
    assert not breaches(asked, greedy(asked).pools)
    assert 0 <= greedy(asked).gain <= solution.gain == pytest.approx(gain(asked, solution.pools))
    assert solution.gain <= solution.bound + 1e-9
    assert (solution.method == EXACT) == (solution.gain >= 0.99 * solution.bound - 1e-9)


def test_an_answer_that_had_no_time_says_so():
    asked = problem(60, 5, 1)
    solution = assign(asked, 0.0, 0.0)
    assert solution.method == GREEDY
    assert solution.gain == greedy(asked).gain < solution.bound


def test_nothing_to_do_is_done():
    asked = problem(6, 3, 0)
    still = Problem(np.zeros((6, 3)), asked.here, asked.sizes, asked.loads, asked.room, asked.headroom)
    solution = assign(still, 1.0, 0.0)
    assert (solution.pools == asked.here).all()
    assert (solution.gain, solution.bound, solution.method) == (0.0, 0.0, EXACT)
