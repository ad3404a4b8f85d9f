"""Verdicts on how throughput scales with virtual machines: worked by hand, and what holds for any numbers."""

import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelling.workloads.scaling import (
    CONTENDED,
    DEPENDS,
    LEVEL,
    RETROGRADE,
    SCALES,
    TOO_FEW,
    UNEVEN,
    scaling,
    sentence,
)

SPREAD = 0.05**2  # variance of ln, of a run that varies by 5 %
P1_WEBSERVER = (1243.9, 864.9, 595.0)  # Proxmox VE, ext4 on ext4, P1, Table IV
P4_VARMAIL = (13.04, 12.79, 12.22)  # KVM, ext4 on ext4, P4, Table IV


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
    assert (total.scope, total.name, total.growth.value) == ("aggregate", RETROGRADE, pytest.approx(0.4783, abs=5e-5))
    # As that of one machine 1 * 1243.9, 2 * 864.9, 3 * 595.0.
    assert (single.scope, single.name) == ("per-vm", CONTENDED)
    assert single.aggregate == pytest.approx((1243.9, 1729.8, 1785.0))


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


def test_counts_that_tell_nothing_are_named():
    close = scaling([10, 12], [100.0, 108.0], "MiB/s")  # 12 / 10 <= 1.1 * 1.1: level would be in proportion
    assert (close.name, close.readings) == (TOO_FEW, ())
    assert "too close together" in sentence(close)


@pytest.mark.parametrize("variances", [None, [0, 0, 0], [None, SPREAD, SPREAD]])
def test_a_spread_that_is_not_known_or_zero_gives_no_interval(variances):
    verdict = scaling([1, 2, 3], (100, 100, 100), "MiB/s", variances=variances, scope="aggregate")
    (reading,) = verdict.readings
    assert (reading.name, reading.may_be, reading.growth.low, verdict.fall.low) == (LEVEL, (), None, None)


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
        "what one of them has alone, as where their disk is fully used, and each gets 1/n of it (level). "
        "Read as that of one machine, the aggregate grows from 13.0 MiB/s with 1 virtual machine to 36.7 MiB/s with "
        "3, 2.81 times with 3 times the machines: they hardly disturb each other (scales)."
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
