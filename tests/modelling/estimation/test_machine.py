"""Inference from runs on one machine: by hand where one normal is known and no run may be disturbed."""

import numpy as np
import pytest

from modelling.estimation import machine
from modelling.estimation.machine import Block
from modelling.estimation.value import Components

NOISE = 0.07**2


def known(means, deviation: float) -> Components:
    size = len(means)
    return Components(
        np.ones(1), np.array([means], float), np.zeros((1, size, size)), deviation**2 * np.eye(size)[None]
    )


@pytest.fixture
def sure_of_its_runs(monkeypatch):
    monkeypatch.setattr(machine, "DISTURBED", 1e-12)
    monkeypatch.setattr(machine, "_WIDTHS", ((1.0, 1.0),))


def test_a_pair_moves_the_difference_by_its_share_of_the_variance(sure_of_its_runs):
    # Difference a - b: before N(0, 2 * 0.2²); seen 0.3 with variance 2 * 0.07². A level common to both says nothing.
    now = machine.update(machine.initial_machine(known([0, 0], 0.2), NOISE), [Block((0, 1), (5.3, 5.0))])
    share = 2 * 0.2**2 / (2 * 0.2**2 + 2 * NOISE)
    assert now.means[0, 0] - now.means[0, 1] == pytest.approx(0.3 * share, abs=1e-3)
    variance = now.covariances[0, 0, 0] + now.covariances[0, 1, 1] - 2 * now.covariances[0, 0, 1]
    assert variance == pytest.approx((1 - share) * 2 * 0.2**2, rel=1e-3)


def test_what_drifts_between_blocks_changes_nothing(sure_of_its_runs):
    start = machine.initial_machine(known([0, 0, 0], 0.2), NOISE)
    blocks = [Block((0, 1), (1.0, 1.2)), Block((1, 2), (1.1, 1.0))]
    drifted = [blocks[0], Block((1, 2), (0.1, 0.0))]
    ours, theirs = (machine.decide(machine.update(start, those), 0.1) for those in (blocks, drifted))
    assert ours.losses == pytest.approx(theirs.losses, abs=1e-3)


def test_one_run_far_off_is_rather_disturbed_than_believed():
    start = machine.initial_machine(known([0, 0], 0.1), NOISE)
    alike = [Block((0, 1), (0.0, 0.02)), Block((0, 1), (0.01, 0.0))]
    off = machine.decide(machine.update(start, [*alike, Block((0, 1), (0.0, -0.8))]), 0.1)
    assert off.within[1] > 0.7  # a believed mean of -0.26 would leave it far outside of the margin


def test_clear_runs_decide_and_alike_ones_do_not():
    start = machine.initial_machine(known([0, 0, 0], 0.3), NOISE)
    clear = machine.decide(machine.update(start, [Block((0, 1, 2), (0.0, 0.7, -0.2))] * 3), 0.1)
    assert (clear.first, clear.within[1] > 0.95, clear.losses[1] < 0.01) == (1, True, True)
    open_still = machine.decide(machine.update(start, [Block((0, 1), (0.0, 0.02))]), 0.1)
    assert open_still.within[open_still.first] < 0.9  # nobody ran the third


def test_a_sum_over_workloads_has_what_they_have_in_common(sure_of_its_runs):
    # Two entries under two workloads, correlated by 0.5; in equal shares (0.2² + 0.2² + 2 * 0.5 * 0.2²) / 4 an entry.
    together = 0.2**2 * np.kron([[1.0, 0.5], [0.5, 1.0]], np.eye(2))
    start = machine.initial_machine(known([0, 0, 0, 0], 0.0)._replace(extras=together[None]), NOISE)
    whole = machine.sum_entries(start, np.array([[0.5, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.5]]))
    np.testing.assert_allclose(whole.covariances[0], 0.2**2 * 0.75 * np.eye(2), rtol=1e-6)
    # Runs under the first alone move the other by half.
    after = machine.update(start, [Block((0, 1), (0.3, 0.0))] * 200)
    assert after.means[0, 2] - after.means[0, 3] == pytest.approx(0.3 / 2, rel=0.02)


def test_what_two_places_differ_by_is_half_the_same_under_another_workload():
    places, workloads = ["a", "b", "a"], ["mail", "mail", "web"]
    extras = machine.add_place_variance(known([0, 0, 0], 0.0), places, workloads, are_alike=True).extras[0]
    own, across = machine.PLACES**2, machine.PLACES**2 * machine.ACROSS
    np.testing.assert_allclose(extras, [[own, 0, across], [0, own, 0], [across, 0, own]])
