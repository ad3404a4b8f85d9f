"""Deciding by runs: by hand where runs vary by a known amount, against all ways in which runs may be disturbed, and in
the faults that machines have."""

from itertools import product

import numpy as np
import pytest

from modelling.estimation import machine, sequential
from modelling.estimation.machine import Block
from modelling.estimation.value import Components

MARGIN = 0.1


def begun(deviation: float, size: int = 2, means: tuple[float, ...] = ()) -> sequential.Trial:
    spread = deviation**2 * np.eye(size)[None]
    return sequential.begin(Components(np.ones(1), np.array([means or [0.0] * size]), 0 * spread, spread))


@pytest.fixture
def known_noise(monkeypatch):
    """Let every run vary by 7 %, and none be early."""
    monkeypatch.setattr(sequential, "draws", lambda count, size: ([[0.07] * size] * count, [[0] * size] * count))


@pytest.fixture
def undisturbed(monkeypatch):
    monkeypatch.setattr(machine, "DISTURBED", 1e-12)


def test_a_pair_moves_the_difference_by_its_share_of_the_variance(known_noise, undisturbed):
    # Difference a - b: before N(0, 2 * 0.2²); seen 0.3 with variance 2 * 0.07². A level common to both says nothing.
    known = sequential.update(begun(0.2), [Block((0, 1), (5.3, 5.0))]).machine.posterior("ab").fit()
    share = 0.2**2 / (0.2**2 + 0.07**2)
    assert known.effects[0] - known.effects[1] == pytest.approx(0.3 * share, abs=1e-3)
    variance = known.covariance[0, 0] + known.covariance[1, 1] - 2 * known.covariance[0, 1]
    assert variance == pytest.approx((1 - share) * 2 * 0.2**2, rel=1e-3)


def test_what_drifts_between_blocks_changes_nothing():
    blocks = [Block((0, 1), (1.0, 1.2)), Block((1, 2), (1.1, 1.0))]
    drifted = [blocks[0], Block((1, 2), (0.1, 0.0))]
    ours, theirs = (sequential.update(begun(0.2, 3), those).standing(MARGIN) for those in (blocks, drifted))
    assert ours.losses == pytest.approx(theirs.losses, abs=1e-3)


def exactly(blocks: list[Block], deviation: float) -> float:
    """Return the mean difference of two choices over all ways in which one run of each block may be disturbed."""
    likely, weighed = 0.0, 0.0
    for ways in product((None, 0, 1), repeat=len(blocks)):
        seen = [block.outcomes[0] - block.outcomes[1] for block in blocks]
        shift = [0.0 if way is None else (machine.SLOWER if way == 0 else -machine.SLOWER) for way in ways]
        errors = [2 * 0.07**2 + (0.0 if way is None else machine.WIDER**2) for way in ways]
        chances = [1.0 if way is None else machine.DISTURBED for way in ways]
        values, total = np.array(seen) + shift, np.diag(errors) + 2 * deviation**2
        inverse = np.linalg.inv(total)
        weight = np.prod(chances) * np.exp(-values @ inverse @ values / 2) / np.sqrt(np.linalg.det(total))
        likely += weight
        weighed += weight * 2 * deviation**2 * float(inverse.sum(axis=0) @ values)
    return weighed / likely


@pytest.mark.parametrize("last", [0.1, -0.4, -1.0])
def test_one_normal_in_place_of_all_ways_in_which_runs_are_disturbed_says_nearly_the_same(known_noise, last):
    blocks = [Block((0, 1), (0.12, 0.0)), Block((0, 1), (0.1, 0.0)), Block((0, 1), (last, 0.0))]
    known = sequential.update(begun(0.3), blocks).machine.posterior("ab").fit()
    assert known.effects[0] - known.effects[1] == pytest.approx(exactly(blocks, 0.3), abs=0.02)


def test_first_runs_that_are_off_are_not_believed_once_later_ones_differ():
    early = [Block((0, 1), (0.7, 0.0)), Block((0, 1), (0.7, 0.0))]
    sure = sequential.update(begun(0.4), early).standing(MARGIN)
    assert not sequential.is_settled(sure, np.array([1, 1]))
    later = [Block((0, 1), (-0.3, 0.0))] * 3
    assert sequential.update(begun(0.4), [*early, *later]).standing(MARGIN).first == 1


def test_runs_that_vary_much_decide_later_than_those_that_hardly_do():
    steady = [Block((0, 1), (0.3, 0.0)), Block((0, 1), (0.31, 0.0)), Block((0, 1), (0.3, 0.01))]
    rough = [Block((0, 1), (0.6, 0.0)), Block((0, 1), (-0.1, 0.0)), Block((0, 1), (0.4, 0.0))]
    sure, unsure = (sequential.update(begun(0.4), those).standing(MARGIN) for those in (steady, rough))
    assert (sure.first, unsure.first) == (0, 0)
    assert 1 - sure.within[0] < (1 - unsure.within[0]) / 3


def test_nothing_is_decided_on_one_run_of_what_is_in_question():
    trial = sequential.update(begun(0.05, means=(0.3, 0.0)), [Block((0, 1), (0.3, 0.0))])
    stands = trial.standing(MARGIN)
    assert stands.within[0] > 0.95
    assert not sequential.is_settled(stands, trial.runs) or stands.within[1] < sequential.OUT


def test_the_next_block_compares_what_may_be_the_best_and_was_run_least():
    trial = begun(0.001, 3, means=(0.0, -0.05, -2.0))
    assert sorted(sequential.next_block(trial.standing(MARGIN), trial.runs)) == [0, 1]
    eight = begun(0.4, 8)
    first = sequential.next_block(eight.standing(MARGIN), eight.runs)
    assert len(first) == sequential.LARGEST
    after = sequential.update(eight, [Block(first, (0.0,) * len(first))])
    assert {*range(8)} - {*first} < {*sequential.next_block(after.standing(MARGIN), after.runs)}


def test_a_block_of_any_length_has_chances():
    trial = sequential.update(begun(0.4), [Block((0, 1) * 15, (0.1, 0.0) * 15)])
    assert np.isfinite(trial.machine.means).all()


def test_every_draw_counts_once():
    noise, early = map(np.array, sequential.draws(sequential.DRAWS, 3))
    assert noise.shape == early.shape == (sequential.DRAWS, 3)
    assert np.median(noise) == pytest.approx(sequential.USUAL, rel=0.15)
    assert np.mean(early > 0) == pytest.approx(sequential.EARLY, abs=0.05)


def test_a_session_says_the_same_of_its_choices_whatever_else_is_of_interest():
    blocks = [Block((0, 1), (0.7, 0.0)), Block((0, 1), (0.7, 0.0)), *[Block((0, 1), (-0.3, 0.0))] * 3]
    spread = 0.4**2 * np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]])[None]
    known = Components(np.ones(1), np.zeros((1, 3)), 0 * spread, spread)
    own = sequential.update(begun(0.4), blocks).standing(MARGIN)
    whole = sequential.update_with_sessions(known, [blocks])
    alone = machine.decide(machine.select_entries(whole, [0, 1]), MARGIN)
    assert alone.within == pytest.approx(own.within, abs=1e-6)
    effects = whole.posterior("abc").fit().effects
    # Runs move a and b apart by as much each; c, correlated with a by one half, follows a half of its way.
    assert effects[2] - effects[1] == pytest.approx((effects[0] - effects[1]) * 0.75, abs=0.01)


def test_first_runs_may_be_early_again_in_the_next_session():
    before, later = [Block((0, 1), (0.0, 0.0))] * 4, [Block((0, 1), (0.5, 0.0))] * 2
    known = Components(np.ones(1), np.zeros((1, 2)), np.zeros((1, 2, 2)), 0.4**2 * np.eye(2)[None])
    apart, at_once = (sequential.update_with_sessions(known, own) for own in ([before, later], [before + later]))
    leads = [now.posterior("ab").fit().effects @ [1.0, -1.0] for now in (apart, at_once)]
    assert 0 < leads[0] < leads[1] / 2
