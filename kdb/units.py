"""Metrics with their units and directions, and conversion between units. Standard library only.

Values are stored in the unit of their source, and converted for absolute comparisons. Ratios need no conversion, as
only values of the same unit are divided (kdb.fair_play).
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str  # canonical
    higher_is_better: bool
    relative: str  # the name of a ratio of two values in which larger is better

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")

    @property
    def direction(self) -> int:
        """Return the factor of ln(value), 1 or -1, after which larger is better."""
        return 1 if self.higher_is_better else -1


SCORE = "score"  # only comparable within one benchmark

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

# Metrics whose ratios say how many times faster the same work is done: no percentiles of latency, and no scores.
SPEEDS = ("throughput", "operation_rate", "transaction_rate", "latency", "duration", "relative")

OPERATION_RATE = "operation_rate"
THROUGHPUT = "throughput"  # the default metric
LATENCY = "latency"
RELATIVE = "relative"

# unit: (its metric where none is named, factor to the metric's canonical unit)
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
    """Tell whether the metric can be given in this unit, as latency and its percentiles in ms."""
    return unit in UNITS and METRICS[UNITS[unit][0]].unit == METRICS[metric].unit


class UnknownUnitError(ValueError):
    """A unit of no known metric, or of another one than expected."""


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
_PERCENTILE = re.compile(
    r"(.{1,12}?)[ ,]{0,9}\(?(p50|p95|p99|median)\)?(?: latency)?"
)  # longer than any name of a unit of time
KIB_OF_TOOLS = "KB/s"  # tools that print it mean 1024 bytes; kB/s is 1000


@dataclass(frozen=True)
class SpelledUnit:
    """A unit as a table spells it. unit : of UNITS; factor : of the table's numbers to `unit`; metric : of METRICS"""

    unit: str
    factor: float
    metric: str


def spelled_unit(text: str) -> SpelledUnit | None:
    """Return the unit of a spelling: "kIOPS", "GB/s", "Gbit/s", "MiB/s", "ms p99", "ns"; None for no unit.

    Units of UNITS are kept as they are. b is a bit and B a byte.
    """
    words = " ".join(text.split()).removesuffix(" latency")
    if words in UNITS:
        return SpelledUnit(words, 1.0, UNITS[words][0])
    if words == KIB_OF_TOOLS:
        return SpelledUnit("KiB/s", 1.0, THROUGHPUT)
    if (tail := _PERCENTILE.fullmatch(words)) and tail[1] in _TIMES:
        unit, factor = _TIMES[tail[1]]
        unit, factor = ("ms", factor * 1e3) if unit == "s" else (unit, factor)
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
