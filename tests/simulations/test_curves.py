"""A small version of python -m tests.simulations steady_part; docs/models/here.md has the large one."""

import random
from statistics import fmean

import pytest
from kdb_client.curve import steady_part

from experiments.laboratory.benchmarks.curves import warm_up
from tests.simulations.curves import KINDS, simulate

FAINT = "a cache, 1.3 times"  # no larger than what seconds vary by


def wrong(kind):
    tally = simulate(kind, 40, 30)
    return [fmean(column) if column else 0.0 for column in vars(tally).values()][:4]


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {FAINT}))
def test_a_cache_is_told_where_one_is_and_the_rate_is_that_of_the_steady_part(kind):
    assert max(wrong(kind)) <= 0.1


def test_a_slow_beginning_ends_where_the_rule_of_campaigns_ends_it():
    chance = random.Random(3)
    for slow in (3, 5, 8, 12):
        curve = [(40.0 if at < slow else 100.0) * chance.uniform(0.95, 1.05) for at in range(40)]
        assert steady_part(curve) == (warm_up(curve), 0) == (slow, 0)
    even = [100.0 * chance.uniform(0.9, 1.1) for _ in range(40)]
    assert steady_part(even) == (0, 0)
