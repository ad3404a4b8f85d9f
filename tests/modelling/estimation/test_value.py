"""What one more laboratory is worth: against integration by brute force, and at its limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelling.estimation.bayes import posterior
from modelling.estimation.network import Trial
from modelling.estimation.value import expected_gain, most_telling

lines = st.lists(st.tuples(st.integers(-40, 40), st.integers(-20, 20)), min_size=1, max_size=7)


@given(lines)
def test_the_gain_is_the_expectation_over_what_may_be_seen(found):
    means, moves = (np.array(each) / 20 for each in zip(*found, strict=True))
    z = np.linspace(-9, 9, 20_001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    largest = (means[:, None] + moves[:, None] * z).max(axis=0)
    expected = np.trapezoid(largest * density, z) - means.max()
    assert expected_gain(means, moves) == pytest.approx(expected, abs=1e-6)


def test_two_equal_means_gain_what_one_normal_is_above_zero():
    # max(0, Z) has the mean 1 / sqrt(2 pi).
    assert expected_gain([0.0, 0.0], [0.0, 1.0]) == pytest.approx(1 / math.sqrt(2 * math.pi))


def test_what_moves_nothing_gains_nothing():
    assert expected_gain([1.0, 2.0, 2.0], [0.3, 0.3, 0.3]) == 0.0


def trial(laboratory: str, **effects: float) -> Trial:
    return Trial.from_arms(laboratory, tuple(effects), np.array(list(effects.values())), np.full(len(effects), 0.001))


def test_the_two_that_cannot_be_told_apart_are_the_ones_to_measure():
    seen = [trial("one", a=0.30, b=0.29, c=-2.0), trial("two", a=0.31, b=0.30, c=-2.1)]
    first, *others = most_telling(posterior(("a", "b", "c"), seen, 0.3), noise=0.002)
    assert {first.a, first.b} == {"a", "b"}
    assert all(other.gain <= first.gain for other in others)
    assert others[-1].gain < first.gain / 2


def test_a_laboratory_more_is_worth_less_where_more_have_measured():
    few = [trial(f"laboratory {n}", a=0.0, b=0.0) for n in range(1)]
    many = [trial(f"laboratory {n}", a=0.0, b=0.0) for n in range(8)]
    gains = [most_telling(posterior(("a", "b"), seen, 0.3), noise=0.002)[0].gain for seen in (few, many)]
    assert gains[1] < gains[0] / 3


def test_a_noisy_laboratory_is_worth_less():
    found = posterior(("a", "b"), [trial("one", a=0.0, b=0.0)], 0.3)
    exact, noisy = (most_telling(found, noise)[0].gain for noise in (0.0, 1.0))
    assert noisy < exact / 2


def test_the_gain_is_the_mean_of_what_is_gained_in_simulated_laboratories():
    """Draw a truth, let the laboratory see it, choose anew: the mean advantage over choosing at once."""
    found = posterior(("a", "b"), [trial("one", a=0.05, b=0.0)], 0.2)
    told = most_telling(found, noise=0.01)[0].gain
    fit, tau2 = found.fit(), float(found.weights @ found.taus**2)
    of_contrast = fit.covariance[0, 0] + fit.covariance[1, 1] - 2 * fit.covariance[0, 1]
    rng = np.random.default_rng(7)
    mean = fit.effects[0] - fit.effects[1]
    truth = rng.normal(mean, math.sqrt(of_contrast), 400_000)
    seen = rng.normal(truth, math.sqrt(tau2 + 0.01))
    shrink = of_contrast / (of_contrast + tau2 + 0.01)
    after = mean + shrink * (seen - mean)
    gained = np.where(after > 0, truth, 0.0).mean() - max(mean, 0.0)
    assert math.log1p(told) == pytest.approx(gained, abs=0.001)
