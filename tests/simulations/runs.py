"""Test whether runs gain what is promised, in worlds whose truth is known, on machines nobody saw. No Django.

A world has entries with true effects and laboratories that differ from them and measured some entries each. It goes
cells -> posterior -> components -> sets of runs, as in an answer. Then machines are drawn: on each the runs are made,
the entry is chosen anew, and what it is faster than the one chosen before is what was gained.
Source: docs/models/verdict.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd

from modelling.estimation.hierarchy import Scales
from modelling.estimation.value import (
    ALL,
    FACTORIAL,
    LEADING,
    PAIR,
    Components,
    RunSet,
    expected_after_runs,
    propose_run_sets,
    run_sets,
)

from .laboratories import GRID, GUESTS, entries_of, known_by

FIRST = "proposed first"  # whatever its kind
KINDS = (FIRST, PAIR, LEADING, FACTORIAL, ALL)
LABORATORIES = (1, 2, 3, 5)
MACHINES = 256  # of each world


@dataclass(frozen=True)
class World:
    """The distribution that worlds are drawn from. None: as the model has it before any evidence.

    effects : standard deviation of what choices do; tau : of a contrast between laboratories; freedom : of Student's t,
    by which laboratories (each as a whole) deviate; None: normal
    """

    name: str
    effects: float | None = None
    tau: float | None = None
    freedom: float | None = None


MODEL = World("drawn from the model")
WORLDS = (
    MODEL,
    *(World(f"effects {effects}, tau {tau}", effects, tau) for effects, tau in product((0.2, 0.5), (0.1, 0.3, 0.5))),
    World("effects 0.2, tau 0.3, heavy tails", 0.2, 0.3, freedom=3.0),
)


@dataclass
class Promise:
    """The promised and the realised gains of the sets of one kind, ln speed; one number of each for each world."""

    promised: list[float] = field(default_factory=list)
    gained: list[float] = field(default_factory=list)

    def add(self, other: "Promise") -> None:
        """Count the other's worlds as well."""
        self.promised += other.promised
        self.gained += other.gained

    def ratio(self) -> float:
        """Return what was promised as a multiple of what was gained."""
        return float(np.mean(self.promised) / np.mean(self.gained))

    def error(self) -> float:
        """Return the standard error of the ratio, over worlds."""
        apart = np.array(self.promised) - self.ratio() * np.array(self.gained)
        return float(np.std(apart) / np.sqrt(len(apart)) / abs(np.mean(self.gained)))


def simulate(
    rng: np.random.Generator, world: World, replications: int, variation: float, repetitions: int, scales: Scales
) -> dict[str, Promise]:
    """Return kind of set to what it promised and gained, over worlds for each number of laboratories.

    variation : coefficient of variation of a run; repetitions : of each entry, everywhere; scales : as of an answer
    One half of the worlds asks for one of four entries, the other for one of nine pairs.
    """
    promises = {kind: Promise() for kind in KINDS}
    both, alone = entries_of(len(GRID)), entries_of(len(GUESTS))
    for laboratories, number in product(LABORATORIES, range(replications)):
        entries = alone if number % 2 else both
        truth = _Truth(rng, world, entries, scales)
        known = _known(rng, truth, entries, laboratories, variation**2 / repetitions, scales)
        sets = run_sets(list(entries.index), known, variation**2, repetitions, None if number % 2 else GRID)
        _hold(promises, truth, list(entries.index), known, sets, variation**2, rng)
    return promises


class _Truth:
    """The true effects of a world, and how its laboratories deviate."""

    def __init__(self, rng: np.random.Generator, world: World, entries: pd.DataFrame, scales: Scales) -> None:
        self.rng, self.world, self.size = rng, world, len(entries)
        self.prior = known_by(entries, (), 0.0, scales)
        # Components come in runs that differ by the factor of a new laboratory alone.
        of_factors = int(np.sum(np.all(self.prior.covariances == self.prior.covariances[0], axis=(1, 2))))
        self.node = rng.choice(len(self.prior.weights), p=self.prior.weights) // of_factors * of_factors
        self.nodes = np.arange(self.node, self.node + of_factors)
        if world.effects is None:
            self.effects = rng.multivariate_normal(self.prior.means[self.node], self.prior.covariances[self.node])
        else:
            kinds = [kind for kind in ("guest_fs", "host_fs", "pair") if entries[kind].nunique() > 1]
            drawn = [entries[kind].map({value: rng.normal() for value in entries[kind].unique()}) for kind in kinds]
            self.effects = world.effects * np.sum(drawn, axis=0) / np.sqrt(len(kinds))

    def laboratories(self, count: int) -> np.ndarray:
        """Draw (count, n) effects in new laboratories."""
        if self.world.tau is None:
            shares = self.prior.weights[self.nodes] / self.prior.weights[self.nodes].sum()
            nodes = self.rng.choice(self.nodes, size=count, p=shares)
            roots = np.linalg.cholesky(self.prior.extras[self.nodes] + 1e-12 * np.eye(self.size))
            normal = self.rng.normal(size=(count, self.size, 1))
            return self.effects + (roots[nodes - self.node] @ normal)[:, :, 0]
        factor = np.ones(count)
        if self.world.freedom is not None:
            factor = np.sqrt(self.world.freedom / self.rng.chisquare(self.world.freedom, count))
        apart = self.world.tau / np.sqrt(2) * factor[:, None]
        return self.effects + apart * self.rng.normal(size=(count, self.size))


def _known(
    rng: np.random.Generator, truth: _Truth, entries: pd.DataFrame, laboratories: int, noise: float, scales: Scales
) -> Components:
    """Return what is known once so many laboratories measured some entries each; noise : variance of an entry's mean"""
    cells = []
    for number, own in enumerate(truth.laboratories(laboratories)):
        for place in rng.permutation(len(own))[: rng.integers(2, len(own) + 1)]:
            cells.append((number, int(place), own[place] + np.sqrt(noise) * rng.normal()))
    return Components.from_posterior(known_by(entries, cells, noise, scales))


def _hold(
    promises: dict[str, Promise],
    truth: _Truth,
    names: Sequence[str],
    known: Components,
    sets: Sequence[RunSet],
    noise: float,
    rng: np.random.Generator,
) -> None:
    """Make the best set of each kind on machines that nobody saw, and compare its gain with its promise."""
    speed = truth.laboratories(MACHINES)
    shown = speed + rng.normal(size=(MACHINES, 1))  # the machine's own level, which no run tells apart
    errors = rng.normal(size=speed.shape)
    now = int(np.argmax(known.weights @ known.means))
    best = {kind: [runs for runs in sets if runs.kind == kind] for kind in KINDS}
    best[FIRST] = propose_run_sets(sets, 0.0)[:1]
    for kind, of_kind in best.items():
        if not of_kind:
            continue
        runs = max(of_kind, key=lambda runs: runs.gain / runs.runs)
        places = [names.index(entry) for entry in runs.entries]
        error = noise / runs.repetitions
        seen = (shown + np.sqrt(error) * errors)[:, places]
        chosen = np.argmax(expected_after_runs(known, places, error, seen), axis=1)
        promises[kind].promised.append(runs.gain)
        promises[kind].gained.append(float(np.mean(speed[np.arange(MACHINES), chosen] - speed[:, now])))
