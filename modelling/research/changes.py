"""Test how soon changes are found, and how many of those found are none, on series whose truth is known. No Django.

A world has series that get one point a night each; some change once. What is measured is told night by night, as the
job does it: one test a point, the level of LORD++, numbered anew each month.
Source: docs/models/change.md.
"""

import time
from dataclasses import dataclass, field, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from modelling.changes.statistics.discoveries import level
from modelling.changes.statistics.newest import located, newest_p
from modelling.changes.statistics.release import Step, effect, levels_around

MONTH = 30  # nights
NEAR = 3  # points by which the place of a change may be wrong
HEAVY = 5  # degrees of freedom of the heavy-tailed noise
AROUND = 30  # points before a change, and after it, at least


@dataclass(frozen=True)
class World:
    """Series as they are made.

    noise : standard deviation of ln speed from night to night; change : of speed, 0.1 for 10 % faster
    or as much slower; changing : share of series that change once; heavy : noise of t with HEAVY degrees, else normal
    """

    name: str
    series: int = 1000
    nights: int = 200
    noise: float = 0.03
    change: float = 0.1
    changing: float = 0.25
    heavy: bool = False


WORLDS = (
    World("10 % at a noise of 3 %"),
    World("5 % at a noise of 3 %", change=0.05),
    World("10 % at a noise of 7 %", noise=0.07),
    World("10 % at a noise of 3 %, heavy tails", heavy=True),
    World("10 % at a noise of 3 %, few change", changing=0.02),
    World("none changes", series=200, changing=0.0),
    World("none changes, heavy tails", series=200, changing=0.0, heavy=True),
)


@dataclass
class Tally:
    """The outcome of a world.

    delays : points after the first changed one until it was told; misplaced : points by which its place was wrong, both
    a number each change found; false : told without any; seconds : of the processor
    """

    changes: int = 0
    false: int = 0
    delays: list[int] = field(default_factory=list)
    misplaced: list[int] = field(default_factory=list)
    seconds: float = 0.0
    tests: int = 0


def simulate(rng: np.random.Generator, world: World) -> Tally:
    """Tell a world night by night."""
    values, places = made(rng, world)
    known: list[list[int]] = [[] for _ in range(world.series)]
    told: set[int] = set()
    tally = Tally(changes=int((places > 0).sum()))
    number, discoveries = 0, list[int]()
    began = time.process_time()
    for night in range(world.nights):
        if night % MONTH == 0:
            number, discoveries = 0, []
        for series in range(world.series):
            so_far = values[series, : night + 1]
            p = newest_p(so_far, known[series])
            if p is None:
                continue
            number += 1
            tally.tests += 1
            if p > level(number, discoveries):
                continue
            discoveries.append(number)
            place, _ = located(so_far, known[series])
            known[series].append(place)
            truth = int(places[series])
            if truth and series not in told and night >= truth:
                told.add(series)
                tally.delays.append(night - truth)
                tally.misplaced.append(abs(place - truth))
            else:
                tally.false += 1
    tally.seconds = time.process_time() - began
    return tally


def scaled(world: World, share: float) -> World:
    """Return the world with a share of its series."""
    return replace(world, series=max(round(share * world.series), 1))


def made(rng: np.random.Generator, world: World) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return ln speed, series by nights, and the night of each series' change; 0: it has none."""
    shape = (world.series, world.nights)
    noise = rng.standard_t(HEAVY, shape) * np.sqrt((HEAVY - 2) / HEAVY) if world.heavy else rng.standard_normal(shape)
    places = rng.integers(AROUND, world.nights - AROUND, world.series)
    places = np.where(rng.random(world.series) < world.changing, places, 0)
    steps = rng.choice([-1, 1], world.series) * log(1 + world.change)
    after = (np.arange(world.nights) >= places[:, None]) & (places[:, None] > 0)
    return world.noise * noise + steps[:, None] * after, places


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
