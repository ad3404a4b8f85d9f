"""Test how soon changes are suspected and confirmed, and how often falsely, on series whose truth is known. No Django.

A world has series that get one point a night each, and a neighbour choice each that is measured in the same blocks. The
worlds are not the model's own: nights hang together, troubles come and pass, speed drifts, tails are heavy.
Source: docs/models/change.md.
"""

from dataclasses import dataclass, field, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from modelling.own_lab.changes.statistics.newest import LAGS, LEAST_BEFORE, classify_ends
from modelling.own_lab.changes.statistics.release import Step, effect, levels_around
from modelling.own_lab.changes.statistics.student import difference

MONTH = 30  # nights
HEAVY = 5  # degrees of freedom of the heavy-tailed noise
BURN_IN = 60  # nights before the first
NONE, STEP, TROUBLES, DRIFT = "nothing changes", "a step of 10 %", "troubles that pass", "a drift"


@dataclass(frozen=True)
class World:
    """Series as they are made.

    kind : what becomes of them; autocorrelation : of a night with the next, of series and neighbour, each by itself
    noise : standard deviation of ln speed over nights; heavy : innovations of t with HEAVY degrees, else normal
    rate : of a drift, ln speed a night; begins : night of the step or of the drift; longest : nights of a trouble
    """

    kind: str = NONE
    autocorrelation: float = 0.0
    series: int = 400
    nights: int = 100
    noise: float = 0.03
    change: float = 0.1
    rate: float = 0.003
    heavy: bool = False
    begins: int = 50
    longest: int = 3


AUTOCORRELATIONS = 0.0, 0.3, 0.5, 0.7
WORLDS = (
    *(World(NONE, autocorrelation) for autocorrelation in AUTOCORRELATIONS),
    *(World(NONE, autocorrelation, heavy=True) for autocorrelation in (0.0, 0.5, 0.7)),
    World(TROUBLES),
    World(TROUBLES, 0.3),
    *(World(STEP, autocorrelation, series=200) for autocorrelation in AUTOCORRELATIONS),
    *(World(DRIFT, series=200, rate=rate, begins=begins) for rate in (0.001, 0.003, 0.005) for begins in (0, 50)),
)


@dataclass
class Tally:
    """The outcome of a world. suspected, told : nights since the step, of each series that had one then

    false_suspicions, falsely_told : before the step, or without one; drifting : series said to drift at the end
    looked_at : nights of all series without a step until they were suspected
    """

    suspected: list[int] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    false_suspicions: int = 0
    falsely_told: int = 0
    drifting: int = 0
    looked_at: int = 0

    def a_month(self, count: int) -> float:
        """Return how many these are in a month of 200 series."""
        return 200 * MONTH * count / max(self.looked_at, 1)


def simulate(rng: np.random.Generator, world: World) -> Tally:
    """Judge a world night by night, each series until it is suspected; its later nights confirm that or do not."""
    nights, neighbours = made(rng, world), made(rng, replace(world, kind=NONE))
    begins = world.begins if world.kind == STEP else world.nights
    tally, open_ones = Tally(), np.arange(world.series)
    for night in range(LAGS[0] + LEAST_BEFORE - 1, world.nights):
        ends = classify_ends(nights[open_ones, : night + 1])
        assert ends is not None
        tally.looked_at += len(open_ones) * (night < begins)
        for place in np.flatnonzero(ends.is_step):
            series, first = open_ones[place], night + 1 - ends.lag[place]
            told = _told(nights[series] - neighbours[series], nights[series], first, night)
            if night < begins:
                tally.false_suspicions += 1
                tally.falsely_told += told is not None
            else:
                tally.suspected.append(night + 1 - begins)
                tally.told += [told + 1 - begins] if told is not None else []
        if night == world.nights - 1:
            tally.drifting = int(ends.is_drift.sum())
        open_ones = open_ones[~ends.is_step]
    return tally


def _told(apart: NDArray[np.float64], own: NDArray[np.float64], first: int, night: int) -> int | None:
    """Return the night with which a suspicion is confirmed beside the neighbour; None: none does."""
    ratio = float(np.exp(own[first : night + 1].mean() - own[:first].mean()))
    before = apart[max(0, first - 60) : first]
    for last in range(night + 1, min(len(apart), night + 21)):
        if difference(before, apart[night + 1 : last + 1]).confirms(ratio):
            return last
    return None


def scaled(world: World, share: float) -> World:
    """Return the world with a share of its series."""
    return replace(world, series=max(round(share * world.series), 1))


def made(rng: np.random.Generator, world: World) -> NDArray[np.float64]:
    """Return ln speed, series by nights."""
    shape = (world.series, BURN_IN + world.nights)
    new = rng.standard_t(HEAVY, shape) * np.sqrt((HEAVY - 2) / HEAVY) if world.heavy else rng.standard_normal(shape)
    values = new.copy()
    for night in range(1, shape[1]):
        values[:, night] = (
            world.autocorrelation * values[:, night - 1] + np.sqrt(1 - world.autocorrelation**2) * new[:, night]
        )
    values = world.noise * values[:, BURN_IN:]
    signs, night = rng.choice([-1, 1], (world.series, 1)), np.arange(world.nights)
    if world.kind == STEP:
        values += signs * log(1 + world.change) * (night >= world.begins)
    if world.kind == DRIFT:
        values += signs * world.rate * np.maximum(night - world.begins, 0)
    if world.kind == TROUBLES:
        for series, first in np.argwhere(rng.random(values.shape) < 1 / MONTH):
            values[series, first : first + rng.integers(1, world.longest + 1)] -= rng.uniform(0.1, 0.4)
    return values


@dataclass(frozen=True)
class ReleaseWorld:
    """Laboratories with two series each, of which some took a release. differ : standard deviation of what it, or time
    alone, does from laboratory to laboratory; effect : of the release, ln speed"""

    took: int
    without: int
    differ: float
    effect: float = log(0.85)
    points: int = 10
    noise: float = 0.03


def told_of_release(rng: np.random.Generator, world: ReleaseWorld) -> tuple[float, float, float]:
    """Return the ratio that is told of a release, and its interval; in truth it is exp(effect)."""
    steps = []
    for laboratory in range(world.took + world.without):
        took = laboratory < world.took
        step = rng.normal(world.effect if took else 0, world.differ)
        for _ in range(2):
            values = rng.normal(0, world.noise, 2 * world.points)
            values[world.points :] += step
            levels = levels_around(values.tolist(), world.points)
            assert levels is not None
            steps.append(Step(laboratory, took, levels))
    told = effect(steps)
    assert told is not None
    return told
