"""Each metric: its unit, and which direction is better. Standard library only.

A value keeps the unit its source gave it; `convert` brings two of them onto one scale where an
absolute comparison needs it. Ratios inside a fair-play group need none, because the unit is part
of what the group holds equal.
"""

import re
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
RELATIVE = "relative"

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


# Units as people write them

PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
BINARY_PREFIXES = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_TIMES = {
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), ("us", 1e-3)),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microseconds"), ("us", 1.0)),
    **dict.fromkeys(("ms", "msec", "milliseconds"), ("ms", 1.0)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("s", 1.0)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), ("s", 60.0)),
    **dict.fromkeys(("h", "hour", "hours"), ("s", 3600.0)),
}
_COUNTS = {
    **dict.fromkeys(("iops", "io/s", "ios/s", "ops/s", "ops", "ops/sec", "/s", "req/s", "requests/s"), "ops/s"),
    **dict.fromkeys(("tps", "transactions/s", "tx/s"), "TPS"),
}
_RATE = re.compile(r"([KMGT]i|[kKMGT]?)(B|b|bit|bits|bytes?|Bytes?)(?:/s|/sec|/second|ps)")
_PERCENTILE = re.compile(r"(.{1,12}?)[ ,]{0,9}\(?(p50|p95|p99|median)\)?(?: latency)?")  # no name of a time is longer
KIB_OF_TOOLS = "KB/s"  # the tools that print it count 1024 bytes; kB/s is 1000


@dataclass(frozen=True)
class SpelledUnit:
    """A unit as a table writes it. unit : of UNITS; a number times factor is in it; metric : of METRICS"""

    unit: str
    factor: float
    metric: str


def spelled_unit(text: str) -> SpelledUnit | None:
    """Return what a unit's spelling means: "kIOPS", "GB/s", "Gbit/s", "MiB/s", "ms p99", "ns"; None for no unit.

    A value that is in a unit of UNITS already keeps it. b is a bit and B a byte.
    """
    words = " ".join(text.split()).removesuffix(" latency")
    if words in UNITS:
        return SpelledUnit(words, 1.0, UNITS[words][0])
    if words == KIB_OF_TOOLS:
        return SpelledUnit("KiB/s", 1.0, THROUGHPUT)
    if (tail := _PERCENTILE.fullmatch(words)) and tail[1] in _TIMES:
        unit, factor = _in_milliseconds(*_TIMES[tail[1]])
        return SpelledUnit(unit, factor, f"{LATENCY}_{'p50' if tail[2] == 'median' else tail[2]}")
    if words in _TIMES:
        unit, factor = _TIMES[words]
        return SpelledUnit(unit, factor, UNITS[unit][0])
    if rate := _RATE.fullmatch(words):
        prefix, base = rate[1], rate[2]
        bytes_each = (PREFIXES | BINARY_PREFIXES)[prefix] * (1 / 8 if base in ("b", "bit", "bits") else 1)
        unit, size = ("MiB/s", 2**20) if prefix in BINARY_PREFIXES else ("MB/s", 1e6)
        return SpelledUnit(unit, bytes_each / size, THROUGHPUT)
    for prefix, counted in (("", words), *([(words[0], words[1:].lstrip())] if words and words[0] in PREFIXES else [])):
        if counted.lower() in _COUNTS:
            unit = _COUNTS[counted.lower()]
            return SpelledUnit(unit, PREFIXES[prefix], UNITS[unit][0])
    if words in ("x", "times"):
        return SpelledUnit("ratio", 1.0, "relative")
    return None


def _in_milliseconds(unit: str, factor: float) -> tuple[str, float]:
    return ("ms", factor * 1e3) if unit == "s" else (unit, factor)
