"""Change points, the newest point, releases and false discoveries against numbers of others and numbers by hand."""

import json
from math import exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from modelling.changes.statistics import discoveries, divisive, newest, release, student
from modelling.research import changes as research

OTAVA = json.loads((Path(__file__).parents[2] / "data" / "changes" / "otava.json").read_text())["series"]
# A step of 0.2 back after six points. Otava 0.8.0 takes a doubtful change at 37 away and does not test the one before
# it, at 36, against what follows now.
MISSED = {"steps [(30, -0.2), (36, 0.2)]": [30, 36]}


def test_the_divergence_of_four_numbers_is_the_one_worked_by_hand():
    """0 0 | 3 3: between the halves 4 pairs differ by 3 each, within them none: 2 / 4 * 12."""
    assert divisive.best_split(np.array([0.0, 0.0, 3.0, 3.0])) == (2, 6.0)


def test_what_a_side_differs_in_itself_counts_against_a_split():
    """0 2 | 3: between 3 + 1, within the left 2, weighed 1 / (2 - 1): 2 / 3 * (4 - 2); 0 | 2 3 is larger."""
    q = divisive.divergences(np.array([0.0, 2.0, 3.0]))
    assert q[1, 1] == pytest.approx(2 / 3 * (4 - 2))
    assert q[0, 1] == pytest.approx(2 / 3 * (5 - 1))
    assert q[1, 0] == -np.inf


@pytest.mark.parametrize("series", OTAVA, ids=[series["name"] for series in OTAVA])
def test_the_same_changes_are_found_as_by_apache_otava(series):
    values = np.array(series["values"])
    place, q = divisive.best_split(values)
    assert [place, q] == pytest.approx(series["first_split"])
    changes = divisive.change_points(values, series["most_p"], series["window"])
    assert [change.place for change in changes] == MISSED.get(series["name"], series["change_points"])


def test_points_at_the_end_move_no_old_change():
    rng = np.random.default_rng(3)
    values = rng.normal(0, 0.03, 200) + 0.1 * (np.arange(200) >= 60)
    shorter, longer = divisive.change_points(values[:160]), divisive.change_points(values)
    assert (shorter[0].place, longer[0].place) == (60, 60)


def test_two_levels_differ_as_students_test_says():
    before, after = np.array([1.0, 1.2, 0.9, 1.1]), np.array([1.5, 1.4, 1.7])
    told = student.difference(before, after)
    expected = stats.ttest_ind(after, before)
    assert told.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert told.interval == pytest.approx((exp(low), exp(high)))
    assert told.ratio == pytest.approx(exp(after.mean() - before.mean()))


def test_one_point_a_side_tells_nothing():
    told = student.difference(np.array([1.0]), np.array([9.0]))
    assert (told.p, told.interval) == (1.0, (0.0, np.inf))


def test_equal_numbers_are_not_news_by_rounding():
    values = np.repeat([7.0, 7.0001], [20, 20])
    assert newest.newest_p(values) > 0.5


def step_of(laboratory, took, shift, seed):
    values = np.random.default_rng(seed).normal(7, 0.02, 20) + shift * (np.arange(20) >= 10)
    return release.Step(laboratory, took, release.levels_around(values.tolist(), 10))


def test_a_release_is_told_apart_from_what_happened_to_all():
    """All became slower by 10 % in these nights; those that took it by 20 % more."""
    steps = [step_of(place, place < 3, -0.1 - 0.2 * (place < 3), place) for place in range(6)]
    _, low, high = release.effect(steps)
    assert low < exp(-0.2) < high
    assert high < exp(-0.1)
    alone, _, _ = release.effect([step for step in steps if step.took])
    assert alone == pytest.approx(exp(-0.3), abs=0.02)
    assert release.effect([step for step in steps if not step.took]) is None


def test_many_series_of_one_laboratory_are_one_laboratory():
    few = [step_of(0, True, -0.2, 1)]
    many = [step_of(0, True, -0.2, seed) for seed in range(12)]
    (_, low, high), (_, low_of_many, high_of_many) = release.effect(few), release.effect(many)
    assert high / low > high_of_many / low_of_many > exp(2 * 1.96 * release.laboratories_differ() / 2)


def test_too_few_points_tell_of_no_release():
    assert release.levels_around([7.0] * 7, 5) is None
    assert release.levels_around([7.0] * 8, 5).freedom == 6


@pytest.mark.parametrize(("took", "without"), [(4, 4), (2, 0)])
def test_intervals_of_a_release_hold_the_truth_as_often_as_they_say(took, without):
    rng = np.random.default_rng(3)
    differ = release.laboratories_differ()
    held = []
    for _ in range(60):
        world = research.ReleaseWorld(took, without, abs(rng.normal(0, differ)))
        _, low, high = research.told_of_release(rng, world)
        held.append(low <= exp(world.effect) <= high)
    assert np.mean(held) >= 0.88  # 95 % by the model; the page has more worlds


def test_levels_of_lord_are_those_of_the_package_onlinefdr():
    """R, onlineFDR: LORD(sample.df), the first 10 rows of its vignette, with its weights and w0 = 0.005."""

    def weights(number: int) -> float:
        return 0.07720838 * log(max(number, 2)) / (number * exp(sqrt(log(number))))

    p_values = [2.9e-08, 0.06743, 0.01514, 0.08174, 0.00171, 3.6e-05, 0.79149, 0.27201, 0.28295, 7.59e-08]
    rejected: list[int] = []
    levels = []
    for number, p in enumerate(p_values, start=1):
        levels.append(discoveries.level(number, rejected, first=0.005, weights=weights))
        rejected += [number] if p <= levels[-1] else []
    assert levels == pytest.approx(
        [
            *(0.0002675839, 0.0024664457, 0.0005732818, 0.0004872805, 0.0004059066, 0.0003447286, 0.0029745013),
            *levels[7:],
        ],
        rel=1e-6,
    )
    assert rejected == [1, 6, 10]


def test_all_that_may_be_spent_is_five_percent():
    weights = [discoveries.weight(number) for number in range(1, 200_001)]
    assert weights == sorted(weights, reverse=True)
    assert 0.9 < sum(weights) < 1
    assert discoveries.weight(1, horizon=0) == pytest.approx(1 / 2.612375)  # zeta(3/2)
    assert sum(discoveries.level(number, []) for number in range(1, 5000)) < 0.025


def test_a_newest_point_before_any_level_is_known_tells_nothing():
    assert newest.newest_p(np.zeros(7)) is None
    assert newest.newest_p(np.zeros(8)) is not None
    assert newest.newest_p(np.zeros(20), changed=[14]) is None


def test_one_outlier_is_no_news_and_a_step_is_where_it_is():
    values = np.random.default_rng(5).normal(7, 0.03, 60)
    values[-2] -= 2
    assert newest.newest_p(values) > 0.01
    values[-2] += 2
    values[-4:] -= 0.2
    assert newest.newest_p(values) < 1e-5
    place, change = newest.located(values)
    assert place == 56
    assert change.ratio == pytest.approx(exp(-0.2), rel=0.05)
    assert change.interval[0] < change.ratio < change.interval[1]


def test_p_values_of_series_that_never_change_are_not_too_small():
    """Each p-value is that of its own series: independent of the others."""
    rng = np.random.default_rng(6)
    p_values = [newest.newest_p(rng.normal(7, 0.03, 40)) for _ in range(2000)]
    for most in (0.1, 0.02):
        assert np.mean(np.array(p_values) <= most) < most + 3 * sqrt(most / 2000)


def test_what_is_said_again_of_a_known_change_is_nothing():
    values = np.random.default_rng(7).normal(7, 0.03, 60) + 0.2 * (np.arange(60) >= 40)
    assert newest.newest_p(values[:50]) < 1e-6
    assert newest.newest_p(values[:50], changed=[40]) > 0.01


@pytest.mark.slow
def test_changes_of_ten_percent_are_found_soon_and_little_else():
    """A small world of the command's; the page has the large ones."""
    world = research.scaled(research.WORLDS[0], 0.04)
    tally = research.simulate(np.random.default_rng(8), world)
    assert tally.changes >= 5
    assert len(tally.delays) / tally.changes >= 0.9
    assert np.median(tally.delays) <= 3
    assert tally.false <= 1
