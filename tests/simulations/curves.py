"""Curves of runs whose truth is known; none has the two levels and the normal noise that the rule looks for."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from statistics import fmean

from kdb_client.curve import steady_part, steady_rate

LEVEL = 100.0  # MiB/s of the steady part
OFF = 0.1  # of a rate: more is wrong


@dataclass(frozen=True)
class Run:
    """A curve; what a cache took before it was full, in MiB, or 0; and what the steady rate is."""

    curve: list[float]
    cached: float
    rate: float


def noisy(chance: Random, levels: list[float], spread: float) -> list[float]:
    """Return levels times lognormal noise with mean 1."""
    return [level * math.exp(chance.gauss(0, spread) - spread**2 / 2) for level in levels]


def _even(spread: float) -> Callable[[Random, int], Run]:
    return lambda chance, count: Run(noisy(chance, [LEVEL] * count, spread), 0, LEVEL)


def _wander(chance: Random, count: int) -> Run:
    logs = [0.0]
    for _ in range(count + 20):
        logs.append(0.7 * logs[-1] + chance.gauss(0, 0.1))
    curve = [LEVEL * math.exp(value) for value in logs[-count:]]
    return Run(curve, 0, fmean(curve))


def _rise(chance: Random, count: int) -> Run:
    slow = chance.uniform(1, 5)
    return Run(noisy(chance, [LEVEL * (1 - 0.7 * math.exp(-at / slow)) for at in range(count)], 0.07), 0, LEVEL)


def _fall(chance: Random, count: int) -> Run:
    curve = noisy(chance, [LEVEL * (1.15 - 0.3 * at / count) for at in range(count)], 0.08)
    return Run(curve, 0, fmean(curve))


def _cache(ratio: float, *, emptied: bool = False) -> Callable[[Random, int], Run]:
    """Return how a cache fills at some moment within an interval. emptied : and frees a little time and again after"""

    def run(chance: Random, count: int) -> Run:
        full = chance.uniform(3, count - 8)
        shares = [min(1.0, max(0.0, full - at)) for at in range(count)]
        after = [0.6 * ((at % 5) == 0) if emptied and at > full + 1 else 0.0 for at in range(count)]
        levels = [LEVEL * (1 + (ratio - 1) * share + more) for share, more in zip(shares, after, strict=True)]
        curve = noisy(chance, levels, 0.1)
        part = [value for value, share in zip(curve, shares, strict=True) if share == 1.0]
        return Run(curve, sum(part) + curve[len(part)] * shares[len(part)], LEVEL * (1.12 if emptied else 1))

    return run


def _two_caches(chance: Random, count: int) -> Run:
    first = chance.uniform(3, count / 2 - 4)
    second = chance.uniform(first + 4, count - 8)
    levels = [LEVEL * (1 + 1.5 * min(1, max(0, first - at)) + 0.8 * min(1, max(0, second - at))) for at in range(count)]
    curve = noisy(chance, levels, 0.1)
    whole = int(second)
    return Run(curve, sum(curve[:whole]) + curve[whole] * (second - whole), LEVEL)


def _collects(chance: Random, count: int) -> Run:
    every, begins = chance.uniform(4, 9), chance.uniform(0, 9)
    levels = [LEVEL * (0.4 if (at + begins) % every < 2 else 1.0) for at in range(count)]
    return Run(noisy(chance, levels, 0.08), 0, LEVEL * (1 - 1.2 / every))


def _saw(chance: Random, count: int) -> Run:
    every, begins = chance.uniform(4, 9), chance.uniform(0, 9)
    return Run(
        noisy(chance, [LEVEL * (1.4 - 0.8 * ((at + begins) % every) / every) for at in range(count)], 0.08), 0, LEVEL
    )


def _stalls(chance: Random, count: int) -> Run:
    curve = noisy(chance, [LEVEL * (0.15 if chance.random() < 0.1 else 1.0) for _ in range(count)], 0.08)
    return Run(curve, 0, fmean(curve))


KINDS: dict[str, Callable[[Random, int], Run]] = {
    "seconds vary by 10 %": _even(0.1),
    "by 25 %": _even(0.25),
    "slowly, by 14 %": _wander,
    "rises at first": _rise,
    "falls by 30 % all the time": _fall,
    "periodic garbage collection": _collects,
    "a saw": _saw,
    "stalls": _stalls,
    "a cache, 1.3 times": _cache(1.3),
    "a cache, 1.8 times": _cache(1.8),
    "a cache, 4 times": _cache(4.0),
    "a cache that empties a little": _cache(2.5, emptied=True),
    "two caches": _two_caches,
}


@dataclass
class Tally:
    """How often, of all runs: a cache was told that is none, or not told; what it took, the rate, and the mean of the
    whole curve were off."""

    told: list[bool] = field(default_factory=list)
    missed: list[bool] = field(default_factory=list)
    amount_off: list[bool] = field(default_factory=list)
    rate_off: list[bool] = field(default_factory=list)
    mean_off: list[bool] = field(default_factory=list)


def simulate(kind: str, runs: int, count: int, seed: int = 1) -> Tally:
    """Return how often the rule is wrong on so many curves of so many intervals."""
    chance, tally = Random(f"{kind} {seed}"), Tally()
    for _ in range(runs):
        run = KINDS[kind](chance, count)
        mean = fmean(run.curve)
        rate, note = steady_rate(mean, run.curve, sum(run.curve) * 2**20, 0)
        tally.told.append(bool(note) and not run.cached)
        tally.missed.append(not note and run.cached > 0)
        if note and run.cached:
            amount = sum(run.curve[: steady_part(run.curve)[1]])
            tally.amount_off.append(abs(amount / run.cached - 1) > OFF)
        tally.rate_off.append(abs(rate / run.rate - 1) > OFF)
        tally.mean_off.append(abs(mean / run.rate - 1) > OFF)
    return tally
