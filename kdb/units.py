"""Each metric: its unit, and which direction is better. Standard library only.

A value keeps the unit its source gave it; `convert` brings two of them onto one scale where an
absolute comparison needs it. Ratios inside a fair-play group need none, because the unit is part
of what the group holds equal.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A metric: a thing that a number measures."""

    name: str
    unit: str  # canonical
    higher_is_better: bool
    relative: str  # what a ratio of two entries is a ratio of, larger being better

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")

    @property
    def direction(self) -> int:
        """Return what ln(value) is multiplied by so that larger is better."""
        return 1 if self.higher_is_better else -1


SCORE = "score"  # of one benchmark: compared with no other's

METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput", "MiB/s", higher_is_better=True, relative="throughput"),
        Metric("operation_rate", "ops/s", higher_is_better=True, relative="operation rate"),
        Metric("transaction_rate", "TPS", higher_is_better=True, relative="transaction rate"),
        Metric("latency", "ms", higher_is_better=False, relative="speed by latency"),
        *(
            Metric(f"latency_p{nth}", "ms", higher_is_better=False, relative=f"speed by the latency of {nth} in 100")
            for nth in (50, 95, 99)
        ),
        Metric("duration", "s", higher_is_better=False, relative="speed by duration"),
        Metric(SCORE, "score", higher_is_better=True, relative="score"),
        Metric("relative", "ratio", higher_is_better=True, relative="speed as its source relates it"),
    )
}

# Whose ratios say how many times faster the same work is done: no tails of latency, and no scores.
SPEEDS = ("throughput", "operation_rate", "transaction_rate", "latency", "duration", "relative")

OPERATION_RATE = "operation_rate"
THROUGHPUT = "throughput"  # what is meant where nobody says otherwise
LATENCY = "latency"

# unit: (the metric it is taken for where none is named, factor to the metric's canonical unit)
UNITS = {
    "MiB/s": ("throughput", 1.0),
    "MB/s": ("throughput", 1e6 / 2**20),
    "KiB/s": ("throughput", 2**-10),
    "ops/s": ("operation_rate", 1.0),
    "TPS": ("transaction_rate", 1.0),
    "ms": ("latency", 1.0),
    "us": ("latency", 1e-3),
    "s": ("duration", 1.0),
    "score": ("score", 1.0),
    "ratio": ("relative", 1.0),
}


def measures(unit: str, metric: str) -> bool:
    """Tell whether the metric is measured in this unit: a percentile of latency is, as latency is, in ms."""
    return unit in UNITS and METRICS[UNITS[unit][0]].unit == METRICS[metric].unit


class UnknownUnitError(ValueError):
    """A unit that no metric here is measured in."""


def convert(value: float, unit: str, to: str) -> float:
    """Convert `value`, given in `unit`, to the unit `to` of the same metric.

    Raises UnknownUnitError where either is unknown or they measure different metrics.
    """
    try:
        (metric, factor), (other, divisor) = UNITS[unit], UNITS[to]
    except KeyError as missing:
        raise UnknownUnitError(f"{missing} is not a unit here; known are {', '.join(UNITS)}") from None
    if metric != other:
        raise UnknownUnitError(f"{unit} measures {metric}, {to} measures {other}")
    return value * factor / divisor
