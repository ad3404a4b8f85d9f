"""Numbers worked by hand: 1 MB = 1 000 000 bytes, 1 MiB = 1 048 576 bytes."""

import pytest

from kdb.units import METRICS, UNITS, UnknownUnitError, convert, measures


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        (1.048576, "MB/s", "MiB/s", 1.0),
        (100.0, "MB/s", "MiB/s", 95.367431640625),
        (100.0, "MiB/s", "MB/s", 104.8576),
        (250.0, "ops/s", "ops/s", 250.0),
        (3.5, "ms", "ms", 3.5),
        (3500.0, "us", "ms", 3.5),
        (2048.0, "KiB/s", "MiB/s", 2.0),
    ],
)
def test_a_value_is_the_same_in_another_unit(value, unit, to, expected):
    assert convert(value, unit, to) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_each_metric_is_kept_in_a_unit_that_needs_no_factor(metric):
    assert UNITS[metric.unit][1] == 1.0
    assert measures(metric.unit, metric.name)


def test_a_unit_stands_for_the_mean_unless_a_percentile_is_named():
    assert {metric for metric, _ in UNITS.values()} == {name for name in METRICS if "_p" not in name}
    assert measures("us", "latency_p99")
    assert not measures("s", "latency_p99")
    assert not measures("furlong", "latency")


def test_more_throughput_and_less_latency_are_better():
    assert METRICS["throughput"].higher_is_better
    assert METRICS["operation_rate"].higher_is_better
    assert not METRICS["latency"].higher_is_better


@pytest.mark.parametrize(("unit", "to"), [("furlong", "MiB/s"), ("MiB/s", "furlong")])
def test_an_unknown_unit_is_refused_by_name(unit, to):
    with pytest.raises(UnknownUnitError, match="furlong"):
        convert(1.0, unit, to)


def test_units_of_two_metrics_are_not_mixed():
    with pytest.raises(UnknownUnitError, match="ms measures latency, MiB/s measures throughput"):
        convert(1.0, "ms", "MiB/s")
