"""Partial pooling: shrinkage worked by hand, its limits, and what it holds on simulated laboratories."""

import numpy as np
import pytest

from modelling.estimation.network import EvidenceError, Trial
from modelling.estimation.pooling import Observed, _Equations, kinds_of, pool

A, B, C = ("guest_fs", "ext4"), ("guest_fs", "xfs"), ("guest_fs", "btrfs")
NONE = 1e-6  # a standard deviation that is as good as zero
KINDS = (*kinds_of("guest_fs"), "rest")
SCALES = dict.fromkeys(KINDS, 0.3)


def spreads(main=NONE, workload=NONE, laboratory=NONE, rest=NONE):
    return dict(zip(KINDS, (main, workload, laboratory, rest), strict=True))


def saw(difference, laboratory="one", workload="mail", variance=0.01):
    """A laboratory that saw ext4 ahead of XFS by a difference of ln throughput; variance is of an arm."""
    trial = Trial.from_arms(laboratory, ("a", "b"), np.array([difference, 0.0]), np.array([variance] * 2))
    return Observed(trial, {"a": (A,), "b": (B,)}, workload, laboratory)


def told(observed, load="mail", **known):
    return pool(observed, SCALES, spreads=spreads(**known)).contrast({A: 1.0, B: -1.0}, load)


def test_one_laboratory_is_drawn_towards_no_difference():
    # Prior variance of the difference 2 x 0.2² = 0.08, of its noise 2 x 0.01 = 0.02:
    # mean 0.4 x 0.08 / 0.10, variance 0.08 x 0.02 / 0.10.
    assert told([saw(0.4)], main=0.2) == pytest.approx((0.32, 0.016))


def test_another_workload_is_foretold_by_what_both_share():
    # Workloads add 2 x 0.1² = 0.02, of which a new one has its own: 0.4 x 0.08 / 0.12; 0.08 - 0.08² / 0.12 + 0.02.
    assert told([saw(0.4)], "files", main=0.2, workload=0.1) == pytest.approx((0.8 / 3, 0.14 / 3))
    # The same workload keeps both: 0.4 x 0.10 / 0.12; 0.10 - 0.10² / 0.12.
    assert told([saw(0.4)], "mail", main=0.2, workload=0.1) == pytest.approx((1 / 3, 0.1 / 6))


def test_a_new_laboratory_differs_as_those_before_and_by_the_rest():
    # 0.08 / (0.08 + 0.02 + 0.02 + 0.02) of what was seen; a deviation and a rest of its own, 0.02 each, come on top.
    expected = (0.4 * 0.08 / 0.14, 0.08 - 0.08**2 / 0.14 + 0.04)
    assert told([saw(0.4)], main=0.2, laboratory=0.1, rest=0.1) == pytest.approx(expected)


def test_kinds_of_parts_vary_each_by_its_own():
    """A backend that differs between laboratories leaves what is foretold of file systems as certain as it was."""
    known = spreads(main=0.2) | {"backend": NONE, "backend by workload": NONE, "backend by laboratory": 1.0}
    model = pool([saw(0.4)], SCALES | dict.fromkeys(kinds_of("backend"), 1.0), spreads=known)
    assert model.contrast({A: 1.0, B: -1.0}, "mail") == pytest.approx((0.32, 0.016))
    assert model.contrast({("backend", "nfs"): 1.0}, "mail")[1] == pytest.approx(1.0)


def test_no_spread_between_workloads_pools_them_completely():
    both = [saw(0.4, "one", "mail"), saw(0.0, "two", "files")]
    assert told(both, "mail", main=1e3)[0] == pytest.approx(0.2, abs=1e-6)
    assert told(both, "files", main=1e3)[0] == pytest.approx(0.2, abs=1e-6)


def test_a_huge_spread_between_workloads_pools_nothing():
    both = [saw(0.4, "one", "mail"), saw(0.0, "two", "files")]
    assert told(both, "mail", main=0.2, workload=1e3)[0] == pytest.approx(0.4, abs=1e-6)
    assert told(both, "files", main=0.2, workload=1e3)[0] == pytest.approx(0.0, abs=1e-6)


def test_what_was_never_compared_is_as_uncertain_as_its_prior():
    model = pool([saw(0.4)], SCALES, spreads=spreads(main=0.2))
    assert not model.knows(C)
    assert model.contrast({C: 1.0}, "mail") == pytest.approx((0.0, 0.04), abs=1e-9)


def test_the_level_of_a_trial_says_nothing():
    trial = Trial.from_arms("one", ("a", "b"), np.array([7.4, 7.0]), np.array([0.01, 0.01]))
    lifted = Observed(trial, {"a": (A,), "b": (B,)}, "mail", "one")
    assert told([lifted], main=0.2) == pytest.approx(told([saw(0.4)], main=0.2))


def test_without_trials_there_is_nothing_to_pool():
    with pytest.raises(EvidenceError, match="no trials"):
        pool([], SCALES)


SEEN = [
    saw(0.4, "one", "mail"),
    saw(-0.1, "one", "files", 0.02),
    saw(0.3, "two", "mail"),
    saw(0.9, "three", "web", variance=0.05),
]


def test_the_marginal_likelihood_is_that_of_the_observed_differences():
    """Against the normal density of the four differences, whose covariance is written down here."""
    y = np.array([0.4, -0.1, 0.3, 0.9])

    def density(s):
        shared = np.full((4, 4), s["guest_fs"] ** 2)
        for kind, of in (
            ("guest_fs by workload", ["mail", "files", "mail", "web"]),
            ("guest_fs by laboratory", ["one", "one", "two", "three"]),
        ):
            shared += s[kind] ** 2 * np.equal.outer(of, of)
        shared += np.diag([0.01, 0.02, 0.01, 0.05]) + s["rest"] ** 2 * np.eye(4)
        return -(np.linalg.slogdet(2 * shared)[1] + y @ np.linalg.solve(2 * shared, y)) / 2

    equations = _Equations(SEEN, KINDS)
    settings = [np.random.default_rng(seed).uniform(0.05, 0.5, len(KINDS)) for seed in range(3)]
    ours = [equations.likelihood(np.log(each))[0] for each in settings]
    brute = [density(dict(zip(KINDS, each, strict=True))) for each in settings]
    assert np.diff(ours) == pytest.approx(np.diff(brute))


def test_the_gradient_is_that_of_the_likelihood():
    equations, logs, step = _Equations(SEEN, KINDS), np.log([0.3, 0.1, 0.2, 0.25]), 1e-5
    slopes = [
        (equations.likelihood(logs + h)[0] - equations.likelihood(logs - h)[0]) / (2 * step)
        for h in step * np.eye(len(KINDS))
    ]
    assert equations.likelihood(logs)[1] == pytest.approx(slopes, abs=1e-7)


def test_the_search_ends_where_no_neighbour_is_more_probable():
    found = pool(SEEN, SCALES).spreads
    equations = _Equations(SEEN, KINDS)

    def density(values):
        logs = np.log([values[kind] for kind in KINDS])
        prior = sum(logs) - sum(values[kind] ** 2 / (2 * SCALES[kind] ** 2) for kind in KINDS)
        return equations.likelihood(logs)[0] + prior

    assert all(density(found) >= density(found | {kind: found[kind] * f}) for kind in KINDS for f in (0.8, 1.25))


def test_intervals_hold_in_laboratories_nobody_saw():
    """Eight laboratories of three workloads each, whose spreads are estimated; the ninth is foretold."""
    rng, inside, asked = np.random.default_rng(5), 0, 0
    parts = (A, B, C)
    for _ in range(60):
        main = rng.normal(0, 0.25, 3)
        by_load = rng.normal(0, 0.15, (3, 3))
        observed = []
        for laboratory in range(9):
            own = rng.normal(0, 0.15, 3)
            for load in range(3):
                means = main + by_load[load] + own + rng.normal(0, np.sqrt(0.15**2 + 0.01), 3)
                trial = Trial.from_arms(str(laboratory), ("a", "b", "c"), means, np.full(3, 0.01))
                made_of = {"a": (A,), "b": (B,), "c": (C,)}
                observed.append(Observed(trial, made_of, str(load), str(laboratory)))
        model = pool(observed[:-3], SCALES)
        for new in observed[-3:]:
            for i, j in ((0, 1), (0, 2), (1, 2)):
                mean, variance = model.contrast({parts[i]: 1.0, parts[j]: -1.0}, new.workload)
                inside += abs(mean - new.trial.effects[i, j]) <= 1.96 * np.sqrt(variance + 0.02)
                asked += 1
    assert 0.93 <= inside / asked <= 0.985
