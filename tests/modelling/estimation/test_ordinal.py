"""Tier lists as paired comparisons, against another implementation and by hand."""

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelling.estimation.network import EvidenceError
from modelling.estimation.ordinal import Comparison, bradley_terry, from_tiers

NAMES = tuple("abcde")


def wins(matrix: np.ndarray) -> list[Comparison]:
    return [Comparison(NAMES[i], NAMES[j], float(n)) for (i, j), n in np.ndenumerate(matrix) if n]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=20, max_size=20))
def test_with_comparisons_alone_it_is_the_bradley_terry_model_of_choix(counts):
    matrix = np.zeros((5, 5), dtype=int)
    matrix[~np.eye(5, dtype=bool)] = counts
    data = [pair for pair, n in np.ndenumerate(matrix) for _ in range(n)]
    expected = choix.opt_pairwise(5, data, alpha=0)
    np.testing.assert_allclose(bradley_terry(NAMES, wins(matrix)).effects, expected - expected.mean(), atol=1e-5)


def test_two_entries_can_be_worked_by_hand():
    # 3 statements for a, 1 for b: log odds ln 3; information 4 x 3/4 x 1/4 = 0.75.
    fit = bradley_terry(("a", "b"), [Comparison("a", "b", 3.0), Comparison("b", "a", 1.0)])
    assert fit.effects[0] - fit.effects[1] == pytest.approx(np.log(3))
    assert fit.errors()[0, 1] == pytest.approx(np.sqrt(1 / 0.75))


def test_the_scale_turns_log_odds_into_log_ratios():
    stated = [Comparison("a", "b", 3.0), Comparison("b", "a", 1.0)]
    fit = bradley_terry(("a", "b"), stated, scale=0.1)
    assert fit.effects[0] - fit.effects[1] == pytest.approx(0.1 * np.log(3))


def test_statements_without_exception_have_no_finite_estimate_and_say_so():
    with pytest.raises(EvidenceError, match="without exception"):
        bradley_terry(("a", "b"), [Comparison("a", "b", 3.0)])


def test_entries_that_nothing_joins_are_refused():
    with pytest.raises(EvidenceError, match="joins"):
        bradley_terry(("a", "b", "c"), [Comparison("a", "b"), Comparison("b", "a")])


def test_a_list_counts_as_one_fewer_than_its_entries():
    # Four tiers: 6 pairs, each 2/4; without doubt 3 statements in all.
    stated = from_tiers({"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, doubt=0)
    assert sum(comparison.weight for comparison in stated) == pytest.approx(3)


def test_equal_tiers_favour_neither():
    fit = bradley_terry(("a", "b"), from_tiers({"a": 1.0, "b": 1.0}, doubt=0.5))
    assert fit.effects[0] == pytest.approx(fit.effects[1])
