"""One estimate from many trials."""

import numpy as np
import pytest

from modelling.evidence import Trial
from modelling.network import estimate


def trial(name: str, variance: float = 0.01, **effects: float) -> Trial:
    return Trial(
        name,
        tuple(sorted(effects)),
        np.array([effects[key] for key in sorted(effects)]),
        np.full(len(effects), variance),
    )


def contrast(part, first: str, second: str) -> tuple[float, float]:
    i, j = part.entries.index(first), part.entries.index(second)
    return part.effects[i] - part.effects[j], part.difference_errors()[i, j]


def test_two_trials_of_one_contrast_are_averaged_by_their_precision():
    # Variances of the contrasts: 0.02 and 0.06, so weights 3 : 1; (3 x 0.4 + 1 x 0.8) / 4 = 0.5.
    (part,) = estimate([trial("one", 0.01, a=0.4, b=0.0), trial("two", 0.03, a=0.8, b=0.0)])
    difference, error = contrast(part, "a", "b")
    # Q = (0.4 - 0.5)^2 / 0.02 + (0.8 - 0.5)^2 / 0.06 = 0.5 + 1.5 = 2 on 1 degree of freedom.
    assert difference == pytest.approx(0.5)
    assert (part.heterogeneity, part.freedom) == (pytest.approx(2.0), 1)
    assert error == pytest.approx(np.sqrt(1 / (1 / 0.02 + 1 / 0.06) * 2.0))


def test_entries_measured_in_different_trials_compare_through_a_common_one():
    (part,) = estimate([trial("one", a=1.0, b=0.0), trial("two", b=5.0, c=4.5)])
    assert contrast(part, "a", "c") == (pytest.approx(1.5), pytest.approx(np.sqrt(0.04)))


def test_a_trial_of_three_arms_knows_that_its_contrasts_share_an_arm():
    (part,) = estimate([trial("one", a=0.3, b=0.1, c=0.0)])
    assert contrast(part, "a", "b") == (pytest.approx(0.2), pytest.approx(np.sqrt(0.02)))
    assert part.freedom == 0


def test_parts_that_no_trial_joins_stay_apart_and_the_largest_comes_first():
    parts = estimate([trial("one", a=1.0, b=0.0), trial("two", c=1.0, d=0.0, e=0.5)])
    assert [part.entries for part in parts] == [("c", "d", "e"), ("a", "b")]


def test_agreement_does_not_narrow_the_intervals():
    (part,) = estimate([trial("one", a=0.4, b=0.0), trial("two", a=0.4, b=0.0)])
    assert contrast(part, "a", "b")[1] == pytest.approx(np.sqrt(0.01))


def test_no_trials_give_no_parts():
    assert estimate([]) == []


def test_intervals_cover_the_truth_as_often_as_they_say():
    """95 % intervals over 1,000 simulated networks of known effects: 93.3 to 96.7 % allows for chance (2.5 sd)."""
    rng, truth, covered = np.random.default_rng(7), {"a": 0.5, "b": 0.2, "c": 0.0, "d": -0.3}, 0
    for _ in range(1000):
        trials = []
        for name, entries in (("one", "ab"), ("two", "bc"), ("three", "acd"), ("four", "cd")):
            noise = rng.normal(0, 0.1, len(entries)) + rng.normal()  # each trial has a level of its own
            trials.append(trial(name, **{e: truth[e] + shift for e, shift in zip(entries, noise, strict=True)}))
        (part,) = estimate(trials)
        difference, error = contrast(part, "a", "d")
        unwidened = error / np.sqrt(max(1.0, part.heterogeneity / part.freedom))
        covered += abs(difference - 0.8) <= 1.959964 * unwidened
    assert 933 <= covered <= 967
