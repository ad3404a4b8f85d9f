"""The promise of a move: numbers worked by hand, and against what answers say of the same two entries."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from modelling.estimation.bayes import posterior
from modelling.estimation.network import Trial
from modelling.fleet.placement.content import Possible, Prospect, Rules, Unknown
from modelling.fleet.placement.expected_gain import (
    Difference,
    Known,
    add_differences,
    expected_gain,
    is_sure,
    prospect,
)
from tests.modelling.fleet.placement.beliefs import known

MAIL = known({"ext4-on-ext4": 0.0, "ext4-on-xfs": 0.5}, tau=0.3)


def on_xfs(*parts: Known, shares=None, there="xfs", here="ext4") -> Prospect | Unknown:
    knowledge = {("varmail", "kvm"): parts, ("webserver", "kvm"): parts}
    return prospect(knowledge, "kvm", "ext4", shares or {"varmail": 1.0}, there, here, 0.1)


def test_probabilities_of_a_normal_are_those_of_the_table():
    """d ~ N(0.5, 0.3²): z = (0.5 + ln 0.9) / 0.3 = 1.315 and 0.5 / 0.3 = 1.667."""
    promise = on_xfs(MAIL)
    assert promise.gaining == pytest.approx(0.9058, abs=1e-4)
    assert promise.losing == pytest.approx(0.0478, abs=1e-4)
    assert promise.ratio == pytest.approx(math.exp(0.5))
    assert (promise.low, promise.high) == pytest.approx((math.exp(0.5 - 0.588), math.exp(0.5 + 0.588)), rel=1e-4)


def test_the_expected_gain_is_the_integral_of_the_share_of_the_better():
    gain, _ = quad(lambda d: math.copysign(-math.expm1(-abs(d)), d) * norm.pdf(d, 0.5, 0.3), -3, 4, points=[0])
    assert on_xfs(MAIL).gain == pytest.approx(gain, abs=1e-7)


def test_what_one_way_gains_the_other_way_loses_and_doubt_alone_gains_nothing():
    there, back = on_xfs(MAIL), on_xfs(MAIL, there="ext4", here="xfs")
    assert there.gain == pytest.approx(-back.gain)
    assert on_xfs(known({"ext4-on-ext4": 0.0, "ext4-on-xfs": 0.0}, tau=2.0)).gain == pytest.approx(0.0, abs=1e-12)
    assert on_xfs(known({"ext4-on-ext4": 0.0, "ext4-on-xfs": 0.5}, tau=0.6)).gain < there.gain


def test_it_is_what_answers_say_of_two_entries():
    pairs = ("ext4-on-ext4", "ext4-on-xfs")
    trials = [Trial.from_arms(f"lab {n}", pairs, np.array([0.0, 0.4 + n / 10]), np.full(2, 1e-3)) for n in range(3)]
    fitted = posterior(pairs, trials, 0.3)
    forecast = fitted.forecast(0.1)
    ours = on_xfs(Known(fitted, (frozenset(pairs),), "strong", 3))
    assert ours.gain == pytest.approx(forecast.loss[0] - forecast.loss[1])
    assert ours.losing == pytest.approx(1 - forecast.best[1])
    assert ours.gaining == pytest.approx(forecast.slower[0])
    assert (ours.low, ours.high) == pytest.approx(
        tuple(np.exp(fitted.predictive_quantiles([1], [0], (0.025, 0.975))[0]))
    )


def test_a_mix_adds_the_shares_of_independent_differences():
    """3 to 1 of the same: mean 0.5, variance 0.09 (9 + 1) / 16."""
    promise = on_xfs(MAIL, shares={"varmail": 75, "webserver": 25})
    assert promise.losing == pytest.approx(norm.cdf(-0.5 / (0.3 * math.sqrt(10 / 16))))


def test_what_a_machine_may_do_instead_counts_by_its_probability_and_not_on_average():
    """0.8 of N(0.5, 0.3²) and 0.2 of N(-0.5, 0.3²), not N(0.3, ...)."""
    knowledge = {("varmail", "kvm"): [MAIL], ("log", "kvm"): [known({"ext4-on-ext4": 0.0, "ext4-on-xfs": -0.5}, 0.3)]}
    ask = partial(prospect, knowledge, "kvm", "ext4", {"varmail": 1.0}, "xfs", "ext4", 0.1)
    promise = ask(others=[Possible(0.2, {"log": 1.0})])
    assert promise.losing == pytest.approx(0.8 * norm.cdf(-0.5 / 0.3) + 0.2 * norm.cdf(0.5 / 0.3))
    assert promise.gain == pytest.approx(0.6 * on_xfs(MAIL).gain)
    # Of a load that nothing is known of half loses, and none is gained: two disks that nobody measured.
    unknown = ask(others=[Possible(0.2, {"any load": 1.0})])
    assert unknown.losing == pytest.approx(0.8 * norm.cdf(-0.5 / 0.3) + 0.2 / 2)
    assert (unknown.gain, unknown.doubt) == pytest.approx((0.8 * on_xfs(MAIL).gain, 0.2))
    assert ask(others=[Possible(0.6, {"any load": 1.0})]) == Unknown(("any load",))


def test_joining_neighbours_of_a_mixture_moves_no_probability_by_a_thousandth():
    rng = np.random.default_rng(3)
    parts = [
        (share, Difference(rng.dirichlet(np.ones(150)), rng.normal(0.2, 0.03, 150), rng.gamma(2.0, 0.15, 150)))
        for share in (0.6, 0.4)
    ]
    (a, one), (b, two) = parts
    means = np.add.outer(a * one.means, b * two.means)
    deviations = np.hypot.outer(a * one.deviations, b * two.deviations)
    whole = Difference(np.outer(one.weights, two.weights).ravel(), means.ravel(), deviations.ravel())
    joined = add_differences(parts)
    for limit in (-0.2, 0.0, 0.1, 0.5):
        ours, exact = (
            mixture.weights @ norm.cdf((limit - mixture.means) / mixture.deviations) for mixture in (joined, whole)
        )
        assert ours == pytest.approx(exact, abs=1e-3)
    assert expected_gain(joined) == pytest.approx(expected_gain(whole), abs=1e-3)


@pytest.mark.parametrize(
    "parts",
    [(), (known({"ext4-on-xfs": 0.0}),), (known({"ext4-on-ext4": 0.0, "ext4-on-xfs": 0.5}, numbers=False),)],
)
def test_nothing_is_said_where_no_numbers_join_the_two(parts):
    assert on_xfs(*parts) == Unknown(("varmail",))


def test_weak_evidence_carries_no_move_whatever_it_promises():
    promise = on_xfs(known({"ext4-on-ext4": 0.0, "ext4-on-xfs": 1.0}))
    assert is_sure(promise, Rules())
    assert not is_sure(replace(promise, strength="very weak"), Rules())
    assert not is_sure(replace(promise, losing=0.11), Rules())
    assert not is_sure(replace(promise, gaining=0.49), Rules())
