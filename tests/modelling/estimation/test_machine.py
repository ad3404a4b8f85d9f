"""Inference from blocks of observations on one machine: by hand where none may be disturbed."""

import numpy as np
import pytest

from modelling.estimation import machine
from modelling.estimation.machine import Block, Machine
from modelling.estimation.value import Components

ERROR = 0.07**2


def known(means, deviation: float) -> Components:
    size = len(means)
    return Components(
        np.ones(1), np.array([means], float), np.zeros((1, size, size)), deviation**2 * np.eye(size)[None]
    )


def begun(means, deviation: float) -> Machine:
    return Machine.from_components(known(means, deviation))


def update(now: Machine, blocks: list[Block]) -> Machine:
    every = np.eye(now.means.shape[1])
    for block in blocks:
        now = machine.observe(now, every[[*block.entries]], block.outcomes, np.full(len(block.entries), ERROR))
    return now


@pytest.fixture
def undisturbed(monkeypatch):
    monkeypatch.setattr(machine, "DISTURBED", 1e-12)


def test_a_pair_moves_the_difference_by_its_share_of_the_variance(undisturbed):
    # Difference a - b: before N(0, 2 * 0.2²); seen 0.3 with variance 2 * 0.07². A level common to both says nothing.
    now = update(begun([0, 0], 0.2), [Block((0, 1), (5.3, 5.0))])
    share = 2 * 0.2**2 / (2 * 0.2**2 + 2 * ERROR)
    assert now.means[0, 0] - now.means[0, 1] == pytest.approx(0.3 * share, abs=1e-3)
    variance = now.covariances[0, 0, 0] + now.covariances[0, 1, 1] - 2 * now.covariances[0, 0, 1]
    assert variance == pytest.approx((1 - share) * 2 * 0.2**2, rel=1e-3)


def test_one_far_off_is_rather_disturbed_than_believed():
    alike = [Block((0, 1), (0.0, 0.02)), Block((0, 1), (0.01, 0.0))]
    off = machine.decide(update(begun([0, 0], 0.1), [*alike, Block((0, 1), (0.0, -0.8))]), margin=0.1)
    assert off.within[1] > 0.7  # a believed mean of -0.26 would leave it far outside of the margin


def test_clear_comparisons_decide_and_alike_ones_do_not():
    clear = machine.decide(update(begun([0, 0, 0], 0.3), [Block((0, 1, 2), (0.0, 0.7, -0.2))] * 3), margin=0.1)
    assert clear.first == 1
    assert machine.is_sure(clear)
    unclear = machine.decide(update(begun([0, 0, 0], 0.3), [Block((0, 1), (0.0, 0.02))]), 0.1)
    assert not machine.is_sure(unclear)  # nobody compared the third


def test_a_sum_over_workloads_has_what_they_have_in_common(undisturbed):
    # Two entries under two workloads, correlated by 0.5; in equal shares (0.2² + 0.2² + 2 * 0.5 * 0.2²) / 4 an entry.
    together = 0.2**2 * np.kron([[1.0, 0.5], [0.5, 1.0]], np.eye(2))
    start = Machine.from_components(known([0, 0, 0, 0], 0.0)._replace(extras=together[None]))
    whole = machine.sum_entries(start, np.array([[0.5, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.5]]))
    np.testing.assert_allclose(whole.covariances[0], 0.2**2 * 0.75 * np.eye(2), rtol=1e-6)
    # Comparisons under the first alone move the other by half.
    after = update(start, [Block((0, 1), (0.3, 0.0))] * 200)
    assert after.means[0, 2] - after.means[0, 3] == pytest.approx(0.3 / 2, rel=0.02)


def test_what_two_places_differ_by_is_half_the_same_under_another_workload():
    places, workloads = ["a", "b", "a"], ["mail", "mail", "web"]
    extras = machine.add_place_variance(known([0, 0, 0], 0.0), places, workloads, are_alike=True).extras[0]
    own, across = machine.PLACES**2, machine.PLACES**2 * machine.ACROSS
    np.testing.assert_allclose(extras, [[own, 0, across], [0, own, 0], [across, 0, own]])
