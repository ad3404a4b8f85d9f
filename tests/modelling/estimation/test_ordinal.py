"""Tier lists and numbers in one likelihood, with both of its limits."""

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelling.estimation.network import EvidenceError, Trial, Weighted, networks
from modelling.estimation.ordinal import Comparison, from_tiers, joint

NAMES = tuple("abcde")


def wins(matrix: np.ndarray) -> list[Comparison]:
    return [Comparison(NAMES[i], NAMES[j], float(n)) for (i, j), n in np.ndenumerate(matrix) if n]


def numbers(**means: float) -> list[Trial]:
    names = sorted(means)
    return [Trial.from_arms("one", names, np.array([means[n] for n in names]), np.full(len(names), 0.01))]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=20, max_size=20))
def test_with_comparisons_alone_it_is_the_bradley_terry_model_of_choix(counts):
    matrix = np.zeros((5, 5), dtype=int)
    matrix[~np.eye(5, dtype=bool)] = counts
    data = [pair for pair, n in np.ndenumerate(matrix) for _ in range(n)]
    expected = choix.opt_pairwise(5, data, alpha=0)
    np.testing.assert_allclose(joint(NAMES, [], wins(matrix)).effects, expected - expected.mean(), atol=1e-5)


def test_without_comparisons_it_is_the_network_estimate():
    trials = [
        Trial.from_arms("one", ("a", "b", "c"), np.array([0.4, 0.1, 0.0]), np.array([0.01, 0.02, 0.03])),
        Trial.from_arms("two", ("b", "c"), np.array([0.3, 0.1]), np.array([0.01, 0.01])),
    ]
    (network,) = networks(trials)
    fit = joint(network.treatments, [Weighted(trials, network.treatments)], [])
    np.testing.assert_allclose(fit.effects, network.common.effects, atol=1e-12)
    np.testing.assert_allclose(fit.covariance, network.common.covariance, atol=1e-12)


def test_two_entries_can_be_worked_by_hand():
    # 3 statements for a, 1 for b: log odds ln 3; information 4 x 3/4 x 1/4 = 0.75.
    fit = joint(("a", "b"), [], [Comparison("a", "b", 3.0), Comparison("b", "a", 1.0)])
    assert fit.effects[0] - fit.effects[1] == pytest.approx(np.log(3))
    assert fit.errors()[0, 1] == pytest.approx(np.sqrt(1 / 0.75))


def test_the_scale_turns_log_odds_into_log_ratios():
    stated = [Comparison("a", "b", 3.0), Comparison("b", "a", 1.0)]
    fit = joint(("a", "b"), [], stated, scale=0.1)
    assert fit.effects[0] - fit.effects[1] == pytest.approx(0.1 * np.log(3))


def test_a_list_moves_the_numbers_the_more_the_less_sure_they_are():
    stated = [Comparison("b", "a", 2.0), Comparison("a", "b", 0.5)]
    moved = {}
    for variance in (0.0001, 0.1):
        trials = [Trial.from_arms("one", ("a", "b"), np.array([0.05, 0.0]), np.full(2, variance))]
        fit = joint(("a", "b"), [Weighted(trials, ("a", "b"))], stated, scale=0.1)
        moved[variance] = 0.05 - (fit.effects[0] - fit.effects[1])
    assert 0 < moved[0.0001] < 0.01 < moved[0.1]


def test_a_list_joins_an_entry_without_numbers():
    trials = numbers(a=0.5, b=0.0)
    stated = from_tiers({"a": 1.0, "b": 0.0, "c": -1.0}, statements=1, doubt=0.5)
    fit = joint(("a", "b", "c"), [Weighted(trials, ("a", "b", "c"))], stated, scale=0.1)
    assert fit.effects[0] > fit.effects[1] > fit.effects[2]
    assert fit.errors()[0, 2] > fit.errors()[0, 1]


def test_statements_without_exception_have_no_finite_estimate_and_say_so():
    with pytest.raises(EvidenceError, match="without exception"):
        joint(("a", "b"), [], [Comparison("a", "b", 3.0)])


def test_numbers_make_statements_without_exception_finite():
    fit = joint(("a", "b"), [Weighted(numbers(a=0.0, b=0.0), ("a", "b"))], [Comparison("a", "b", 3.0)], scale=0.1)
    assert fit.effects[0] > fit.effects[1]


def test_entries_that_nothing_joins_are_refused():
    with pytest.raises(EvidenceError, match="joins"):
        joint(("a", "b", "c"), [], [Comparison("a", "b"), Comparison("b", "a")])


def test_a_list_counts_as_one_fewer_than_its_entries():
    # Four tiers: 6 pairs, each 2/4; without doubt 3 statements in all.
    stated = from_tiers({"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, statements=1, doubt=0)
    assert sum(comparison.weight for comparison in stated) == pytest.approx(3)


def test_equal_tiers_favour_neither():
    fit = joint(("a", "b"), [], from_tiers({"a": 1.0, "b": 1.0}, statements=3, doubt=0.5))
    assert fit.effects[0] == pytest.approx(fit.effects[1])
