"""A few runs chosen one by one: as docs/models/here.md says, on fewer machines."""

import numpy as np
import pytest

from modelling.estimation.hierarchy import published_scales
from modelling.own_lab.content import NO_DIFFERENCE, NOT_YET
from tests.simulations.machines import TROUBLES, Tally, simulate

pytestmark = pytest.mark.slow


def on_machines(trouble: str, size: int, machines: int = 60, laboratories: int = 0) -> Tally:
    (world,) = (one for one in TROUBLES if one.name == trouble)
    rng, scales = np.random.default_rng(3), published_scales()
    return simulate(rng, size, world, machines, scales=scales, margin=0.1, laboratories=laboratories)


def test_a_few_runs_cost_far_less_than_what_was_published():
    tally = on_machines("drift, one run in ten disturbed", 4, machines=40, laboratories=1)
    assert np.mean(tally.losses) < 0.02 < 0.05 < np.mean(tally.published)
    assert np.mean(tally.runs) < 15


@pytest.mark.parametrize("trouble", [world.name for world in TROUBLES])
def test_what_is_said_of_a_machine_is_true_within_three_points(trouble):
    tally = on_machines(trouble, 4, machines=30)
    chance = np.sqrt(0.05 * 0.95 / len(tally.wrong))  # of so few machines
    assert np.mean(tally.wrong) <= np.mean(tally.told) + 0.03 + 2 * chance
    assert np.mean(np.array(tally.kinds) != NOT_YET) > 0.7


@pytest.mark.parametrize(("size", "share", "runs"), [(2, 0.6, 12), (4, 0.2, 19)])
def test_what_is_alike_is_told_where_that_is_sure_in_time(size, share, runs):
    tally = on_machines("all alike", size)
    assert np.mean(np.array(tally.kinds) == NO_DIFFERENCE) > share
    assert np.mean(tally.runs) < runs
