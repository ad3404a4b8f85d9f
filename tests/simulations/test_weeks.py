"""Small versions of twelve_weeks, and the rules of others by hand; docs/models/placement.md has figures."""

import numpy as np
import pytest

from modelling.fleet.placement.content import Rules
from tests.simulations.balancers import Watched, basil, load_of, slope, storage_drs
from tests.simulations.test_placement import beliefs
from tests.simulations.weeks import LEARNS, MEASURED, NEVER, ORACLE, SPACE, STORAGE_DRS, TRIALS, simulate


def watched(**fields) -> Watched:
    """Return four machines of load 1 on pool 0 and one on pool 1; pools of 100 bytes, machines of 10."""
    told = {"here": np.array([0, 0, 0, 0, 1]), "load": np.ones(5), "sizes": np.full(5, 10.0)}
    told |= {"may_move": np.ones(5, bool), "slope": np.ones(2), "latency": np.array([20.0, 5.0])}
    return Watched(**told | {"used": np.array([40.0, 10.0]), "capacity": np.full(2, 100.0)} | fields)


def test_the_load_of_a_machine_is_basils_product():
    """(1.3 + 4) (51 + 16) (1.4 + 0.5) (0.7 + 0.5)"""
    assert load_of(*(np.array([part]) for part in (4.0, 16.0, 0.5, 0.5))) == pytest.approx([5.3 * 67 * 1.9 * 1.2])


def test_a_pool_is_the_slope_of_its_latency():
    outstanding = np.array([1.0, 2.0, 3.0, 4.0])
    assert slope(outstanding, 3 + 2 * outstanding) == pytest.approx(2.0)
    assert slope(outstanding, np.full(4, 5.0)) == pytest.approx(2.0)  # no rise: 20 ms of 10 requests


def test_basil_moves_from_the_most_to_the_least_loaded_what_eases_most_for_its_size():
    assert basil(watched(sizes=np.array([10.0, 10.0, 5.0, 10.0, 10.0]))) == (2, 1)
    assert basil(watched(may_move=np.array([False, False, False, True, True]))) == (3, 1)
    assert basil(watched(here=np.array([0, 0, 0, 1, 1]), load=np.array([1.0, 1.0, 0.0, 1.0, 1.0]))) is None
    assert basil(watched(slope=np.array([1.0, 4.0]))) is None  # equal loads by speed: 4 and 4
    assert basil(watched(used=np.array([40.0, 75.0]))) is None  # it would fill pool 1 above four fifths


def test_storage_drs_waits_for_its_thresholds():
    assert storage_drs(watched()) == (0, 1)
    assert storage_drs(watched(latency=np.array([14.9, 5.0]))) is None
    assert storage_drs(watched(slope=np.array([1.0, 3.0]))) is None  # 4 and 3: fair at 0.98
    full = {"latency": np.zeros(2), "used": np.array([85.0, 10.0])}
    assert storage_drs(watched(**full)) == (0, 1)
    assert storage_drs(watched(**full | {"used": np.array([79.0, 10.0])})) is None
    assert storage_drs(watched(**full | {"used": np.array([85.0, 81.0])})) is None


@pytest.fixture(scope="module")
def weeks():
    policies = (NEVER, SPACE, STORAGE_DRS, MEASURED, TRIALS, LEARNS, ORACLE)
    return simulate(beliefs(0.4), 50, 2, Rules(), 1, waiting=0.0, policies=policies)


@pytest.mark.slow
def test_plans_that_measure_gain_more_than_rules_that_do_not_and_send_nobody_to_and_fro(weeks):
    others = max(float(np.mean(weeks[policy].gains)) for policy in (NEVER, SPACE, STORAGE_DRS))
    for policy in (MEASURED, LEARNS):
        assert np.mean(weeks[policy].gains) > others + 0.05
        assert weeks[policy].back == 0
        assert weeks[policy].runs > 0
    assert weeks[NEVER].gains == [0.0, 0.0]
    assert weeks[NEVER].moves == weeks[NEVER].harmed == weeks[NEVER].slowed == 0


@pytest.mark.slow
def test_trial_moves_teach_without_a_run(weeks):
    trial = weeks[TRIALS]
    assert trial.runs == 0 < trial.trials < trial.moves
    assert np.mean(trial.gains) > 0


@pytest.mark.slow
def test_every_policy_sees_the_same_machines_and_the_same_seed_gives_the_same(weeks):
    again = simulate(beliefs(0.4), 50, 2, Rules(), 1, waiting=0.0, policies=(STORAGE_DRS, SPACE))
    assert (again[SPACE], again[STORAGE_DRS]) == (weeks[SPACE], weeks[STORAGE_DRS])
    assert len({tally.lives for tally in weeks.values()}) == 1
