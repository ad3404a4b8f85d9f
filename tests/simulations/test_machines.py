"""A few runs chosen one by one: as docs/models/here.md says, on fewer machines."""

import numpy as np
import pytest

from modelling.estimation.hierarchy import published_scales
from tests.simulations.machines import TROUBLES, simulate

pytestmark = pytest.mark.slow


def test_a_few_runs_cost_far_less_than_what_was_published():
    rng, trouble = np.random.default_rng(3), TROUBLES[-1]
    tally = simulate(rng, 4, trouble, 40, scales=published_scales(), margin=0.1)
    assert np.mean(tally.losses) < 0.02 < 0.05 < np.mean(tally.published)
    assert np.mean(tally.runs) < 8  # a factorial of three repetitions has 12
    assert np.mean(tally.same) > 0.9
