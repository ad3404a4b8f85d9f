"""Describe how throughput changes with the number of virtual machines. No Django.

Verdicts are about the aggregate X(n), the throughput of n machines together. Where a source does not say whether its
numbers are per machine or aggregate, both readings are judged and neither is chosen.
Source: docs/models/cache-and-scaling.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modelling.evidence.normal import NORMAL_95

# Verdicts by the aggregate X; "the same" and "in proportion" hold within the factor SIMILAR.
SCALES = "scales"  # X grows in proportion to the machines
CONTENDED = "contended"  # X grows, by less than the machines
LEVEL = "level"  # X is the same at the last count as at the first, so a machine gets 1/n of it
RETROGRADE = "retrograde"  # X is less at the last count than at the one where it is greatest
UNEVEN = "uneven"  # X, or X per machine, falls and then rises again, which no law of contention explains
TOO_FEW = "too few counts"  # so close together that LEVEL and SCALES cannot be told apart
DEPENDS = "depends on the reading"

SIMILAR = 1.1  # the factor within which two throughputs count as the same, as for "similar" in claims

PER_VM, AGGREGATE, NOT_STATED = "per-vm", "aggregate", ""


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval; None: the data give none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ScopedReading:
    """The verdict if the printed numbers are of this scope.

    scope : "per-vm" or "aggregate"
    aggregate : X(n) at each count, in the unit of the values
    start, end : the vm counts that were compared: first and last, or greatest aggregate and last
    growth : X(end) / X(start)
    may_be : other verdicts that lie within the interval of the growth
    """

    scope: str
    name: str
    aggregate: tuple[float, ...]
    start: int
    end: int
    growth: Estimate
    may_be: tuple[str, ...]


@dataclass(frozen=True)
class Scaling:
    """The change of the printed numbers, and the verdict of each possible reading.

    name : the verdict; "depends on the reading" where the readings differ
    fall : share of the printed number lost with each machine added, from first to last count; negative: gained
    """

    name: str
    vm_counts: tuple[int, ...]
    values: tuple[float, ...]
    unit: str
    scope: str
    fall: Estimate
    readings: tuple[ScopedReading, ...]


def scaling(
    vm_counts: Sequence[int],
    values: Sequence[float],
    unit: str,
    *,
    variances: Sequence[float | None] | None = None,
    scope: str = NOT_STATED,
) -> Scaling:
    """Return the scaling verdict over numbers of virtual machines.

    Parameters
    ----------
    vm_counts : k >= 2 different ints >= 1, in any order; native (0) is no count of machines
    values : k throughputs > 0 in `unit`
    variances : k variances of ln(value); None or 0: not known, as equal repetitions do not prove a spread of zero
    scope : "per-vm", "aggregate", or "": the source does not say, then both are read

    Returns
    -------
    Scaling; where the counts are too close together its name says so, and it has no readings.

    Raises ValueError where lengths differ, a count is below 1, or a value or a variance is not above zero.
    """
    spreads = [None] * len(values) if variances is None else [v or None for v in variances]
    if min(vm_counts) < 1 or min([*values, *(v for v in spreads if v is not None)]) <= 0:
        raise ValueError("vm counts, values and variances must be above zero")
    rows = sorted(zip(vm_counts, values, spreads, strict=True), key=lambda row: row[0])
    counts, printed = tuple(int(row[0]) for row in rows), tuple(float(row[1]) for row in rows)
    spread = [row[2] for row in rows]
    scopes: tuple[str, ...] = (AGGREGATE, PER_VM) if scope == NOT_STATED else (scope,)
    if counts[-1] <= SIMILAR**2 * counts[0]:
        scopes = ()
    readings = tuple(_judge_reading(read_as, counts, printed, spread) for read_as in scopes)
    names = {reading.name for reading in readings} or {TOO_FEW}
    return Scaling(
        names.pop() if len(names) == 1 else DEPENDS,
        counts,
        printed,
        unit,
        scope,
        fall=_fall(counts, printed, spread),
        readings=readings,
    )


def sentence(scaling: Scaling) -> str:
    """Return the verdict in English: what was printed, and what it means under each reading."""
    first, last, unit = scaling.vm_counts[0], scaling.vm_counts[-1], scaling.unit
    fall = scaling.fall
    verb = "falls" if fall.value >= 0 else "rises"
    text = (
        f"From {first} to {_machines(last)} the printed throughput {verb} from {scaling.values[0]:,.10g} {unit}"
        f" to {scaling.values[-1]:,.10g} {unit}, by {_percent(abs(fall.value))}{_fall_interval(fall)}"
        " with each machine added."
    )
    if scaling.values[0] == scaling.values[-1]:
        text = f"At {first} and at {_machines(last)} the printed throughput is {scaling.values[0]:,.10g} {unit}."
    if scaling.scope == NOT_STATED:
        text += " The source does not say whether it is that of one machine or the sum."
    if not scaling.readings:
        text += " The counts are too close together to tell how throughput scales."
    for reading in scaling.readings:
        text += " " + _reading_sentence(reading, scaling)
    return text


def _judge_reading(
    scope: str, counts: tuple[int, ...], printed: tuple[float, ...], spread: list[float | None]
) -> ScopedReading:
    factors = counts if scope == PER_VM else (1,) * len(counts)
    aggregate = tuple(n * value for n, value in zip(factors, printed, strict=True))
    last = len(counts) - 1
    per_machine = [value / n for n, value in zip(counts, aggregate, strict=True)]
    is_uneven = _falls_and_rises(aggregate) or _falls_and_rises(per_machine)
    top = int(np.argmax(aggregate))
    start = top if aggregate[top] > SIMILAR * aggregate[last] and not is_uneven else 0
    machines = counts[last] / counts[start]
    growth = _growth(aggregate[last] / aggregate[start], spread[start], spread[last])
    ends = (growth.low, growth.high) if growth.low and growth.high else ()
    name = UNEVEN if is_uneven else _verdict(growth.value, machines)
    order = (RETROGRADE, LEVEL, CONTENDED, SCALES)
    reached = [order.index(_verdict(end, machines)) for end in ends] or [0, -1]
    return ScopedReading(
        scope,
        name,
        aggregate,
        counts[start],
        counts[last],
        growth,
        may_be=() if is_uneven else tuple(other for other in order[reached[0] : reached[1] + 1] if other != name),
    )


def _growth(ratio: float, *spreads: float | None) -> Estimate:
    """Return a ratio with its interval, from the variances of the logarithms of its two numbers."""
    known = [variance for variance in spreads if variance is not None]
    if len(known) < len(spreads):
        return Estimate(ratio)
    factor = math.exp(NORMAL_95 * math.sqrt(sum(known)))
    return Estimate(ratio, ratio / factor, ratio * factor)


def _verdict(growth: float, machines: float) -> str:
    if growth < 1 / SIMILAR:
        return RETROGRADE
    if growth <= SIMILAR:
        return LEVEL
    return CONTENDED if growth < machines / SIMILAR else SCALES


def _falls_and_rises(values: Sequence[float]) -> bool:
    return any(
        max(values[:j]) > SIMILAR * values[j] and max(values[j + 1 :]) > SIMILAR * values[j]
        for j in range(1, len(values) - 1)
    )


def _fall(counts: Sequence[int], values: Sequence[float], spread: Sequence[float | None]) -> Estimate:
    growth = _growth(values[-1] / values[0], spread[0], spread[-1])
    ends = (growth.value, growth.high, growth.low) if growth.low and growth.high else (growth.value,)
    return Estimate(*(1 - end ** (1 / (counts[-1] - counts[0])) for end in ends))


def _reading_sentence(reading: ScopedReading, scaling: Scaling) -> str:
    counts, unit = scaling.vm_counts, scaling.unit
    start, end = (reading.aggregate[counts.index(n)] for n in (reading.start, reading.end))
    span = f"from {start:,.1f} {unit} with {_machines(reading.start)} to {end:,.1f} {unit} with {reading.end}"
    more = f"{reading.growth.value:.2f} times with {reading.end / reading.start:.3g} times the machines"
    meaning = {
        SCALES: f"the aggregate grows {span}, {more}: they hardly disturb each other",
        CONTENDED: f"the aggregate grows {span}, only {more}: they contend for something they share",
        LEVEL: f"the aggregate stays level, {span}: the machines share what one of them has alone, as where their"
        " disk is fully used, and each gets 1/n of it",
        RETROGRADE: f"the aggregate falls {span}: more machines do less together",
        UNEVEN: f"the aggregate goes {span}, but it or the part of each machine falls and rises again on the way:"
        " there is no common trend",
    }
    text = meaning[reading.name]
    if scaling.scope == NOT_STATED:
        text = f"Read as {'the sum' if reading.scope == AGGREGATE else 'that of one machine'}, {text}"
    text = f"{text[0].upper()}{text[1:]} ({reading.name})."
    if reading.may_be:
        text += f" The spread also allows: {', '.join(reading.may_be)}."
    return text


def _machines(n: int) -> str:
    return f"{n} virtual machine{'' if n == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _fall_interval(fall: Estimate) -> str:
    if fall.low is None or fall.high is None:
        return ""
    ends = (fall.low, fall.high) if fall.value >= 0 else (-fall.high, -fall.low)
    return f" (95 % interval {_percent(ends[0])} to {_percent(ends[1])})"
