"""Throughput over numbers of virtual machines: by hand, with known parameters, and what holds for any numbers."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from modelling.workloads.scaling import (
    CONTENDED,
    DEPENDS,
    LEVEL,
    RETROGRADE,
    SCALES,
    TOO_FEW,
    UNEVEN,
    fit_usl,
    scaling,
    sentence,
)

SPREAD = 0.05**2  # variance of ln, of a run that varies by 5 %
P1_WEBSERVER = (1243.9, 864.9, 595.0)  # Proxmox VE, ext4 on ext4, P1, Table IV
P4_VARMAIL = (13.04, 12.79, 12.22)  # KVM, ext4 on ext4, P4, Table IV


def law(n, one, contention, coherency):
    n = np.asarray(n, dtype=float)
    return n * one / (1 + contention * (n - 1) + coherency * n * (n - 1))


def aggregate(values, counts=None, variance=None):
    counts = counts or range(1, len(values) + 1)
    spread = None if variance is None else [variance] * len(values)
    return scaling(list(counts), values, "MiB/s", variances=spread, scope="aggregate")


def test_p1_webserver_on_proxmox_by_hand():
    # Printed: 595.0 / 1243.9 = 0.4783, a machine added costs 1 - sqrt(0.4783) = 0.3084.
    verdict = scaling([1, 2, 3], P1_WEBSERVER, "MiB/s")
    assert verdict.name == DEPENDS
    assert verdict.fall.value == pytest.approx(0.3084, abs=5e-5)
    total, single = verdict.readings
    # As a sum, with c(n) = n X(1) / X(n) = 1 + σ (n - 1) + κ n (n - 1): c(2) = 2.87640, c(3) = 6.27176;
    # 2 κ = c(3) - 1 - 2 (c(2) - 1) = 1.51896, σ = 1.87640 - 1.51896 = 0.35744.
    assert (total.scope, total.name, total.growth.value) == ("aggregate", RETROGRADE, pytest.approx(0.4783, abs=5e-5))
    assert (total.usl.contention.value, total.usl.coherency.value) == pytest.approx((0.35744, 0.75948), abs=1e-5)
    # As that of one machine X = 1243.9, 1729.8, 1785.0: c(2) = 1.43820, c(3) = 2.09059;
    # 2 κ = 1.09059 - 0.87640 = 0.21419, σ = 0.43820 - 0.21419 = 0.22401; peak sqrt(0.77599 / 0.10709) = 2.692.
    assert (single.scope, single.name) == ("per-vm", CONTENDED)
    assert single.aggregate == pytest.approx((1243.9, 1729.8, 1785.0))
    assert (single.usl.contention.value, single.usl.coherency.value) == pytest.approx((0.22401, 0.10709), abs=1e-5)
    assert single.usl.peak == pytest.approx(2.692, abs=1e-3)


def test_p4_varmail_on_kvm_by_hand():
    # Printed: 12.22 / 13.04 = 0.9371, within a factor 1.1 of the same: level as a sum, and as that of one
    # machine 3 * 0.9371 = 2.811 >= 3 / 1.1 = 2.727: in proportion.
    verdict = scaling([1, 2, 3], P4_VARMAIL, "MiB/s", variances=[SPREAD] * 3)
    total, single = verdict.readings
    assert (verdict.name, total.name, single.name) == (DEPENDS, LEVEL, SCALES)
    assert verdict.fall.value == pytest.approx(1 - math.sqrt(0.93712), abs=1e-5)
    # ln X varies by sqrt(2) * 0.05 = 0.0707: growth 0.9371 * exp(-+0.1386) = 0.816 to 1.076.
    assert (total.growth.low, total.growth.high) == pytest.approx((0.8158, 1.0764), abs=5e-4)
    assert (total.may_be, single.may_be) == ((RETROGRADE,), (CONTENDED,))
    # As a sum c(2) = 2.039093, c(3) = 3.201309: 2 κ = 0.123123, σ = 0.915970.
    assert (total.usl.contention.value, total.usl.coherency.value) == pytest.approx((0.91597, 0.06156), abs=1e-5)
    # As that of one machine c(2) - 1 = 0.019547 and c(3) - 1 = 0.067103 want σ = -0.00846: bound to zero.
    assert (single.usl.at_bound, single.usl.contention.value) == (("contention",), 0.0)
    assert (single.usl.degrees_of_freedom, single.usl.misses) == (1, False)


def test_three_points_meet_three_parameters_and_claim_no_error():
    usl = fit_usl([1, 2, 3], P1_WEBSERVER, [SPREAD] * 3)
    assert (usl.is_exact, usl.misfit, usl.misses) == (True, pytest.approx(0, abs=1e-20), None)
    fitted = (usl.throughput_of_one.value, usl.contention.value, usl.coherency.value)
    assert law([1, 2, 3], *fitted) == pytest.approx(P1_WEBSERVER)
    assert {estimate.low for estimate in (usl.throughput_of_one, usl.contention, usl.coherency)} == {None}
    assert "nothing checks it" in sentence(scaling([1, 2, 3], P1_WEBSERVER, "MiB/s", scope="aggregate"))


@pytest.mark.slow
@given(st.floats(1, 1e5), st.floats(0, 1), st.floats(0, 0.5), st.integers(3, 12))
def test_known_parameters_are_recovered(one, contention, coherency, k):
    counts = list(range(1, k + 1))
    usl = fit_usl(counts, law(counts, one, contention, coherency), [SPREAD] * k)
    assert usl.throughput_of_one.value == pytest.approx(one, rel=1e-5)
    assert (usl.contention.value, usl.coherency.value) == pytest.approx((contention, coherency), abs=1e-5)


def test_an_independent_solver_finds_the_same_with_the_same_errors():
    # MINPACK on ln X, free of bounds, with absolute errors.
    rng = np.random.default_rng(7)
    counts = np.array([1, 2, 3, 4, 6, 8])
    errors = np.array([0.02, 0.05, 0.02, 0.03, 0.04, 0.02])
    values = law(counts, 200, 0.15, 0.02) * np.exp(errors * rng.standard_normal(6))
    theirs, covariance = curve_fit(
        lambda n, *p: np.log(law(n, *p)), counts, np.log(values), (150, 0.1, 0.01), errors, absolute_sigma=True
    )
    ours = fit_usl(counts, values, errors**2)
    assert ours.misfit < 3  # of as many degrees of freedom, so no error is widened
    parameters = (ours.throughput_of_one, ours.contention, ours.coherency)
    assert [estimate.value for estimate in parameters] == pytest.approx(theirs, rel=1e-5)
    margins = [(math.log(parameters[0].high / parameters[0].low)) / 2 * theirs[0]] + [
        e.high - e.value for e in parameters[1:]
    ]
    assert margins == pytest.approx(1.959964 * np.sqrt(np.diag(covariance)), rel=1e-4)


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(3)
    counts, truth = np.arange(1, 9), (100.0, 0.2, 0.02)
    for known in (True, False):
        held = np.zeros(3)
        for _ in range(400):
            values = law(counts, *truth) * np.exp(0.03 * rng.standard_normal(8))
            usl = fit_usl(counts, values, [0.03**2] * 8 if known else None)
            held += [
                estimate.low is not None and estimate.low <= true <= estimate.high
                for estimate, true in zip((usl.throughput_of_one, usl.contention, usl.coherency), truth, strict=True)
            ]
        assert (held / 400 > 0.91).all()


@pytest.mark.parametrize(
    ("values", "name", "start"),
    [
        ((100, 195, 280), SCALES, 1),  # 2.8 >= 3 / 1.1
        ((100, 150, 180), CONTENDED, 1),
        ((100, 104, 95), LEVEL, 1),
        ((100, 50, 33.3), RETROGRADE, 1),
        ((100, 150, 120), RETROGRADE, 2),  # falls from its greatest, with two
        ((100, 50, 100), UNEVEN, 1),
        ((100, 110, 300), UNEVEN, 1),  # the sum only rises, but each machine's 100, 55, 100 does not only fall
    ],
)
def test_names_by_their_definitions(values, name, start):
    verdict = aggregate(values)
    (reading,) = verdict.readings
    assert (verdict.name, reading.start) == (name, start)
    assert (reading.usl is None) == (name == UNEVEN)


def test_counts_that_tell_nothing_are_named():
    close = scaling([10, 12], [100.0, 108.0], "MiB/s")  # 12 / 10 <= 1.1 * 1.1: level would be in proportion
    assert (close.name, close.readings) == (TOO_FEW, ())
    assert "too close together" in sentence(close)


@pytest.mark.parametrize("variances", [None, [0, 0, 0], [None, SPREAD, SPREAD]])
def test_a_spread_that_is_not_known_or_zero_gives_no_interval(variances):
    verdict = scaling([1, 2, 3], (100, 100, 100), "MiB/s", variances=variances, scope="aggregate")
    (reading,) = verdict.readings
    assert (reading.name, reading.may_be, reading.growth.low, verdict.fall.low) == (LEVEL, (), None, None)
    assert (reading.usl.misfit, reading.usl.contention.low) == (None, None)


def test_points_that_do_not_tell_the_parameters_apart_have_no_law():
    # Level from 1000 machines on: X = λ / σ, and nothing shows what one machine would do.
    (reading,) = aggregate((500, 501, 499, 500), (1000, 2000, 4000, 8000), SPREAD).readings
    assert (reading.name, reading.usl) == (LEVEL, None)


def test_a_curve_that_misses_the_points_says_so():
    # Gains more than a machine with each machine added: the law has no such curve.
    verdict = aggregate((100, 205, 330, 470), variance=0.01**2)
    assert verdict.readings[0].usl.misses
    assert "misses the points" in sentence(verdict)


@pytest.mark.parametrize(
    ("counts", "values", "variances"),
    [([1, 2], [5], None), ([0, 1], [5, 6], None), ([1, 2], [5, 0], None), ([1, 2], [5, 6], [1, -1])],
)
def test_input_that_cannot_be_is_refused(counts, values, variances):
    with pytest.raises(ValueError, match=r"above zero|shorter"):
        scaling(counts, values, "MiB/s", variances=variances)


def test_the_sentence_says_under_which_reading_what_holds():
    assert sentence(scaling([1, 2, 3], P4_VARMAIL, "MiB/s")) == (
        "From 1 to 3 virtual machines the printed throughput falls from 13.04 MiB/s to 12.22 MiB/s, by 3.2 % with "
        "each machine added. The source does not say whether it is that of one machine or the sum. Read as the sum, "
        "the aggregate stays level, from 13.0 MiB/s with 1 virtual machine to 12.2 MiB/s with 3: the machines share "
        "what one of them has alone, as where their disk is fully used, and each gets 1/n of it (level). The "
        "Universal Scalability Law gives contention σ = 0.916 and coherency κ = 0.0616; its three parameters meet "
        "the 3 points exactly, so nothing checks it; its greatest aggregate lies at 1.2 machines. Read as that of one "
        "machine, the aggregate grows from 13.0 MiB/s with 1 virtual machine to 36.7 MiB/s with 3, 2.81 times with 3 "
        "times the machines: they hardly disturb each other (scales). The Universal Scalability Law gives contention "
        "σ = 0 and coherency κ = 0.0113 (0.00428 to 0.0183); the points leave no room for contention, which is set to "
        "zero."
    )


series = st.lists(st.floats(1, 1e4), min_size=2, max_size=6)


@pytest.mark.slow
@given(series, st.sampled_from([None, 0.0, 1e-8, SPREAD, 1.0]))
def test_any_series_has_a_named_verdict_and_finite_numbers(values, variance):
    counts = range(1, len(values) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verdict = scaling(list(counts), values, "MiB/s", variances=[variance] * len(values))
    assert verdict.name in (SCALES, CONTENDED, LEVEL, RETROGRADE, UNEVEN, TOO_FEW, DEPENDS)
    text = sentence(verdict)
    assert not [word for word in ("nan", "inf ", "None") if word in text]
