"""Describe how throughput changes with the number of virtual machines. No Django.

Everything is judged on the aggregate X(n), what n machines move together. Where a source does not say
whether its numbers are per machine or aggregate, both readings are worked out and neither is chosen.
Source: N. J. Gunther, Guerrilla Capacity Planning, Springer 2007 (Universal Scalability Law);
docs/models/cache-and-scaling.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.special import chdtrc, stdtrit

from modelling.evidence.normal import NORMAL_95

# Verdicts on a reading, by the aggregate X. "The same" and "in proportion" are meant within SIMILAR.
SCALES = "scales"  # X grows in proportion to the machines
CONTENDED = "contended"  # X grows, by less than the machines
LEVEL = "level"  # X is the same at the last count as at the first, so a machine gets 1/n of it
RETROGRADE = "retrograde"  # X is less at the last count than at the one where it is greatest
UNEVEN = "uneven"  # X, or X per machine, falls and then rises again: no law of contention does that
TOO_FEW = "too few counts"  # so close together that level and in proportion are the same
DEPENDS = "depends on the reading"

SIMILAR = 1.1  # a factor within which two throughputs count as the same, as "similar" in the claims

PER_VM, AGGREGATE, NOT_STATED = "per-vm", "aggregate", ""
NOTHING = 1e-6
MOST_ALIKE = 1e6  # condition of the slopes, each of length one: beyond it one parameter does another's work
WIDEST = math.log(100)  # a fit that tells λ no better than within this factor tells nothing


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval; None: the data give none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Usl:
    """X(n) = n λ / (1 + σ (n - 1) + κ n (n - 1)), fitted to the aggregate.

    throughput_of_one : λ, in the unit of the values
    contention, coherency : σ, κ >= 0, without unit
    at_bound : "contention", "coherency": parameters for which the data leave no room; zero, without interval
    degrees_of_freedom : counts - free parameters; 0: the curve passes through every point and nothing checks it
    misfit : sum of squared weighted residuals of ln X; None where the variances are not known
    misses : whether a misfit as large has a probability below 5 % if the law holds; None where not known
    peak : vm count of the greatest X, sqrt((1 - σ) / κ), at least 1; None where κ = 0: the curve has none
    """

    throughput_of_one: Estimate
    contention: Estimate
    coherency: Estimate
    at_bound: tuple[str, ...]
    degrees_of_freedom: int
    misfit: float | None
    misses: bool | None
    peak: float | None

    @property
    def is_exact(self) -> bool:
        """Tell whether there are as many free parameters as counts."""
        return self.degrees_of_freedom == 0


@dataclass(frozen=True)
class ScopedReading:
    """One reading of the printed numbers: they are of this scope.

    scope : "per-vm" or "aggregate"
    aggregate : X(n) at each count, in the unit of the values
    start, end : the vm counts that were compared: first and last, or greatest aggregate and last
    growth : X(end) / X(start)
    may_be : verdicts that the interval of the growth reaches as well
    usl : None with fewer than three counts, where the aggregate is uneven, or where fit_usl tells nothing
    """

    scope: str
    name: str
    aggregate: tuple[float, ...]
    start: int
    end: int
    growth: Estimate
    may_be: tuple[str, ...]
    usl: Usl | None


@dataclass(frozen=True)
class Scaling:
    """The change of the printed numbers, and what it means under each reading that is possible.

    name : the verdict; "depends on the reading" where the readings differ
    fall : from first to last count, the share of the printed number lost with each machine added; below zero: gained
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
    variances : k variances of ln(value); None or 0: not known (a repeated number is no spread of zero).
        One that is not known makes the fit unweighted.
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
    readings = tuple(_read(read_as, counts, printed, spread) for read_as in scopes)
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


def fit_usl(
    vm_counts: Sequence[int], aggregate: Sequence[float], variances: Sequence[float] | None = None
) -> Usl | None:
    """Fit the Universal Scalability Law by weighted nonlinear least squares on ln X, with σ, κ >= 0.

    Parameters
    ----------
    vm_counts : k >= 3 different ints >= 1
    aggregate : k throughputs > 0 of all machines together
    variances : k variances > 0 of ln X; None: not known, all points count alike

    Returns None where the points do not tell the parameters apart: far from one machine, for example,
    only λ / σ shows.

    Intervals come from the inverse of JᵀJ over the parameters that are not at their bound. Known
    variances are multiplied by misfit / degrees of freedom where that is above one, as in the ranking;
    where none are known the residuals' variance and Student's t are used. There are none without a degree
    of freedom, or where nothing is known of the variances and the curve meets every point.

    """
    n, x = np.asarray(vm_counts, dtype=float), np.asarray(aggregate, dtype=float)
    weights = np.ones(len(n)) if variances is None else 1 / np.sqrt(np.asarray(variances, dtype=float))
    level = np.log(x).mean()  # keeps the search the same in every unit

    def residuals(parameters: np.ndarray) -> np.ndarray:
        log_one, contention, coherency = parameters
        cost = 1 + contention * (n - 1) + coherency * n * (n - 1)
        return weights * (log_one + np.log(n / cost) - (np.log(x) - level))

    def jacobian(parameters: np.ndarray) -> np.ndarray:
        _, contention, coherency = parameters
        cost = 1 + contention * (n - 1) + coherency * n * (n - 1)
        return weights[:, None] * np.column_stack([np.ones(len(n)), -(n - 1) / cost, -n * (n - 1) / cost])

    optimum = least_squares(
        residuals,
        _linear_start(n, x / np.exp(level), weights),
        jac=jacobian,
        bounds=([-np.inf, 0, 0], np.inf),
        method="trf",  # dogbox reaches the bounds exactly, but may stop there before the minimum
        x_scale="jac",
        ftol=1e-15,
        xtol=1e-15,
        gtol=1e-15,
        max_nfev=1000,
    )
    # What adds less than a millionth to the cost at the greatest count is zero to the search.
    adds = optimum.x[1:] * [n.max() - 1, n.max() * (n.max() - 1)]
    free = np.array([True, *(adds > NOTHING)])
    log_one, contention, coherency = np.where(free, optimum.x, 0.0)
    slopes = optimum.jac[:, free]
    if np.linalg.cond(slopes / np.linalg.norm(slopes, axis=0)) > MOST_ALIKE:
        return None
    freedom = len(n) - int(free.sum())
    misfit = float(2 * optimum.cost)
    margins = np.full(3, np.nan)
    if freedom and (variances is not None or misfit > NOTHING**2):
        covariance = np.linalg.inv(slopes.T @ slopes)
        scale = misfit / freedom if variances is None else max(1.0, misfit / freedom)
        quantile = stdtrit(freedom, 0.975) if variances is None else NORMAL_95
        margins[free] = quantile * np.sqrt(np.diag(covariance) * scale)
        if margins[0] > WIDEST:
            return None
    ends = () if np.isnan(margins[0]) else np.exp(log_one + level + margins[0] * np.array([-1.0, 1.0])).tolist()
    names = ("contention", "coherency")
    return Usl(
        Estimate(float(np.exp(log_one + level)), *ends),
        _at_least_zero(contention, margins[1]),
        _at_least_zero(coherency, margins[2]),
        at_bound=tuple(name for name, is_free in zip(names, free[1:], strict=True) if not is_free),
        degrees_of_freedom=freedom,
        misfit=None if variances is None else misfit,
        misses=None if variances is None or not freedom else bool(chdtrc(freedom, misfit) < 0.05),
        peak=math.sqrt(max(1.0, (1 - contention) / coherency)) if coherency > 0 else None,
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


def _read(scope: str, counts: tuple[int, ...], printed: tuple[float, ...], spread: list[float | None]) -> ScopedReading:
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
    variances = [variance for variance in spread if variance is not None]
    return ScopedReading(
        scope,
        name,
        aggregate,
        counts[start],
        counts[last],
        growth,
        may_be=() if is_uneven else tuple(other for other in order[reached[0] : reached[1] + 1] if other != name),
        usl=fit_usl(counts, aggregate, variances if len(variances) == len(spread) else None)
        if len(counts) >= 3 and not is_uneven
        else None,
    )


def _growth(ratio: float, *spreads: float | None) -> Estimate:
    """Return a ratio of two numbers with the variances of their logarithms."""
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


def _linear_start(n: np.ndarray, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Solve n / X = 1/λ + (σ/λ)(n - 1) + (κ/λ) n (n - 1), which is linear; bring the solution inside σ, κ > 0."""
    rows = np.column_stack([np.ones(len(n)), n - 1, n * (n - 1)])
    scale = weights * x / n  # the error of n / X is that of ln X times n / X
    inverse, sigma, kappa = np.linalg.lstsq(rows * scale[:, None], weights, rcond=None)[0]
    inside = 1e-3 / rows[:, 1:].max(axis=0)  # of the cost at the greatest count
    if inverse <= 0:
        return np.array([math.log(x[0] / n[0]), *inside])
    return np.array([-math.log(inverse), *np.maximum([sigma / inverse, kappa / inverse], inside)])


def _at_least_zero(value: float, margin: float) -> Estimate:
    if np.isnan(margin):
        return Estimate(float(value))
    return Estimate(float(value), float(max(0.0, value - margin)), float(value + margin))


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
    return text + (_usl_sentence(reading.usl, scaling) if reading.usl else "")


def _usl_sentence(usl: Usl, scaling: Scaling) -> str:
    contention, coherency = (
        f"{name} = {_with_interval(estimate)}"
        for name, estimate in (("contention σ", usl.contention), ("coherency κ", usl.coherency))
    )
    text = f" The Universal Scalability Law gives {contention} and {coherency}"
    if usl.is_exact:
        text += f"; its three parameters meet the {len(scaling.vm_counts)} points exactly, so nothing checks it"
    elif usl.misses:
        text += ", but misses the points by more than their spread"
    elif usl.at_bound:
        verb = "is" if len(usl.at_bound) == 1 else "are"
        text += f"; the points leave no room for {' and '.join(usl.at_bound)}, which {verb} set to zero"
    first, last = scaling.vm_counts[0], scaling.vm_counts[-1]
    if usl.peak is not None and first < usl.peak <= last:
        text += f"; its greatest aggregate lies at {usl.peak:.1f} machines"
    return text + "."


def _machines(n: int) -> str:
    return f"{n} virtual machine{'' if n == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _fall_interval(fall: Estimate) -> str:
    if fall.low is None or fall.high is None:
        return ""
    ends = (fall.low, fall.high) if fall.value >= 0 else (-fall.high, -fall.low)
    return f" (95 % interval {_percent(ends[0])} to {_percent(ends[1])})"


def _with_interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3g}"
    return f"{estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"
