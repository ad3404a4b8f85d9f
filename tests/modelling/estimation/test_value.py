"""The worth of sets of runs on a machine: closed forms, brute force, and limits."""

import math

import numpy as np
import pytest

from modelling.estimation import value
from modelling.estimation.hierarchy import NAMES, Knowledge, Scales
from modelling.estimation.value import (
    Candidate,
    Components,
    RunSet,
    candidate_sets,
    expected_after_runs,
    expected_gains,
    merge_components,
    order_by_lead,
    propose_run_sets,
    run_sets,
)
from tests.modelling.scales import asked, cells


def normal(means, spread: float) -> Components:
    """Return one normal: known means over laboratories, and the standard deviation of each entry in a laboratory."""
    size = len(means)
    return Components(np.ones(1), np.array([means], float), np.zeros((1, size, size)), spread**2 * np.eye(size)[None])


def heavy() -> Components:
    """Return four entries, of which laboratories mostly deviate a little and sometimes much."""
    scales = np.array([0.05, 0.2, 0.6])
    extras = scales[:, None, None] ** 2 * np.eye(4)
    return Components(np.array([0.6, 0.3, 0.1]), np.tile([0.1, 0.05, 0.0, -0.1], (3, 1)), extras / 4, extras)


def test_two_equal_entries_gain_what_one_normal_is_above_zero():
    # The difference is N(0, 2 * 0.3²), seen with error 2 * 0.01: what is learnt has the variance 0.18² / 0.2, and
    # E max(0, s Z) = s / sqrt(2 pi).
    (gain,) = expected_gains(normal([0.0, 0.0], 0.3), [(0, 1)], noise=0.01)
    assert gain == pytest.approx(0.18 / math.sqrt(0.2) / math.sqrt(2 * math.pi), rel=0.01)


def test_all_of_k_equal_entries_without_error_gain_the_largest_of_k_normals():
    # E max of 3 and 5 standard normals: 0.8463 and 1.1630 (Harter 1961, table 1).
    for size, largest in ((3, 0.8463), (5, 1.1630)):
        (gain,) = expected_gains(normal([0.0] * size, 0.2), [tuple(range(size))], noise=1e-9)
        assert gain == pytest.approx(0.2 * largest, rel=0.02)


@pytest.mark.slow
def test_what_is_expected_after_runs_is_the_mean_of_drawn_machines_that_show_the_like():
    """Brute force: draw machines, make the runs, keep those near what was seen."""
    known, rng = heavy(), np.random.default_rng(3)
    of = rng.choice(3, p=known.weights, size=4_000_000)
    deviations = np.sqrt((known.covariances + known.extras)[of, 0, 0])[:, None]
    speed = known.means[0] + deviations * rng.normal(size=(len(of), 4))
    seen = speed[:, [0, 2]] + 0.05 * rng.normal(size=(len(of), 2))
    for difference in (-0.5, 0.1):
        near = np.abs(seen[:, 1] - seen[:, 0] - difference) < 0.01
        told = expected_after_runs(known, (0, 2), 0.0025, np.array([[7.0, 7.0 + difference]]))[
            0
        ]  # whatever the machine's level
        expected = speed[near].mean(axis=0)
        assert told - told[0] == pytest.approx(expected - expected[0], abs=0.012)


def test_the_gain_of_a_mixture_is_what_choosing_anew_gains_on_drawn_machines():
    known, rng = heavy(), np.random.default_rng(4)
    of = rng.choice(3, p=known.weights, size=200_000)
    speed = known.means[0] + np.sqrt((known.covariances + known.extras)[of, 0, 0])[:, None] * rng.normal(
        size=(len(of), 4)
    )
    for places in ((0, 1), (0, 1, 2), (0, 1, 2, 3)):
        seen = (speed + 0.05 * rng.normal(size=speed.shape))[:, places]
        chosen = expected_after_runs(known, places, 0.0025, seen).argmax(axis=1)
        gained = np.mean(speed[np.arange(len(of)), chosen] - speed[:, 0])
        (gain,) = expected_gains(known, [places], 0.0025)
        assert gain == pytest.approx(gained, rel=0.05)


def test_a_level_or_a_covariance_common_to_all_entries_changes_nothing():
    known = heavy()
    shifted = known._replace(means=known.means + np.array([[1.0], [-2.0], [0.5]]), covariances=known.covariances + 3.0)
    sets = [(0, 1), (1, 3), (0, 1, 2, 3)]
    assert expected_gains(shifted, sets, 0.001) == pytest.approx(expected_gains(known, sets, 0.001), rel=0.02)


def test_more_entries_gain_more_and_more_error_less():
    known = heavy()
    pair, three, everything = expected_gains(known, [(0, 1), (0, 1, 2), (0, 1, 2, 3)], 0.001)
    assert pair < three < everything
    assert expected_gains(known, [(0, 1, 2, 3)], 0.5)[0] < everything / 2


def test_one_alone_or_a_decided_question_gains_nothing():
    assert run_sets(["a"], normal([0.0], 0.2), 0.0025, 2) == []
    sets = run_sets(["a", "b"], normal([3.0, 0.0], 0.2), 0.0025, 2)
    assert sets[0].gain < 1e-6
    assert propose_run_sets(sets, 0.005) == []


def test_an_entry_that_nobody_measured_leads_one_known_to_be_slower():
    known = normal([0.0, -0.3, -0.3], 0.1)
    known.extras[0, 2, 2] = 0.5
    assert order_by_lead(known, ["a", "b", "c"]) == [0, 2, 1]
    sets = run_sets(["a", "b", "c"], known, 0.0025, 2)
    assert propose_run_sets(sets, 0.005)[0].entries == ("a", "c")


def test_candidates_are_pairs_leading_ones_factorials_and_all_each_once():
    cells = [("ext4", "xfs"), ("xfs", "ext4"), ("ext4", "ext4"), ("xfs", "xfs"), ("btrfs", "ext4")]
    design = candidate_sets(5, cells)
    assert Candidate("all", (0, 1, 2, 3, 4)) in design
    assert Candidate("factorial", (0, 1, 2, 3)) in design  # and not the leading four once more
    assert {len(candidate.places) for candidate in design if candidate.kind == "leading"} == {3}
    assert sum(candidate.kind == "pair" for candidate in design) == 10
    assert len({candidate.places for candidate in design}) == len(design)
    assert {candidate.kind for candidate in candidate_sets(20, is_cut=True)} == {"pair", "leading"}


def test_the_best_a_run_comes_first_and_then_what_gains_more():
    small, large = RunSet("pair", ("a", "b"), 2, 0.04), RunSet("all", ("a", "b", "c", "d"), 2, 0.06)
    factorial = RunSet("factorial", ("a", "b", "c"), 2, 0.05)
    weak = RunSet("pair", ("c", "d"), 1, 0.003)
    assert propose_run_sets([large, weak, factorial, small], 0.005) == [small, factorial, large]
    assert propose_run_sets([weak, large], 0.005) == [large]  # what a run gains does not make up for gaining nothing
    assert propose_run_sets([weak], 0.005) == []


def test_the_set_proposed_does_not_depend_on_how_entries_are_numbered():
    known, names = heavy(), ["d", "a", "c", "b"]
    sets = {runs.entries: runs.gain for runs in run_sets(names, known, 0.0025, 2)}
    turned = [3, 1, 0, 2]
    again = {runs.entries: runs.gain for runs in run_sets([names[i] for i in turned], known.select(turned), 0.0025, 2)}
    assert sets == pytest.approx(again)


def test_few_components_gain_what_many_do(monkeypatch):
    rng = np.random.default_rng(1)
    factors = 1 / rng.gamma(1.0, 1.0, 128)
    spread = 0.02 * rng.lognormal(0, 0.5, 128)
    known = Components(
        np.full(128, 1 / 128),
        rng.normal(0, 0.1, (128, 5)),
        spread[:, None, None] * np.eye(5),
        (0.03 * factors)[:, None, None] * np.eye(5),
    )
    few = [runs.gain for runs in run_sets("abcde", known, 0.0025, 2)]
    assert len(merge_components(known).weights) <= 12
    monkeypatch.setattr(value, "merge_components", lambda components: components)
    assert few == pytest.approx([runs.gain for runs in run_sets("abcde", known, 0.0025, 2)], rel=0.08)


def test_laboratories_that_agree_make_runs_worth_less():
    # Of two draws, in one laboratories differ much and in the other hardly.
    own = [
        [deviation if name == "own guest_fs" else 0.5 * name.startswith("shared") for name in NAMES]
        for deviation in (0.3, 0.01)
    ]
    scales = Scales(np.full(2, 0.5), np.square(own), np.full(2, 10.0), {}, {})
    gains = []
    for count in (1, 8):
        frame = cells(*((f"lab{number}", name, 0.0) for number in range(count) for name in "ab"), variance=0.001)
        known = Components.from_posterior(Knowledge(frame, scales).posterior(asked(*"ab")))
        gains.append(run_sets(["a", "b"], known, 0.0025, 2)[0].gain)
    assert gains[1] < gains[0]
