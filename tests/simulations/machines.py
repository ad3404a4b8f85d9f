"""Test whether a few runs on a reader's machine decide as well as many, on machines of known truth. No Django.

A world has entries with true effects and one laboratory or more that published them; a machine deviates from them
like another laboratory. What is published goes cells -> posterior -> what is known of the machine, as in an answer;
then blocks are chosen one by one, until the decision stands or the budget is spent. The machine drifts, and some runs
are disturbed.
Source: docs/models/here.md.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from modelling.estimation.hierarchy import Scales
from modelling.estimation.machine import (
    VARIATION,
    Block,
    Machine,
    decide,
    initial_machine,
    is_settled,
    next_block,
    update,
)
from modelling.estimation.value import Components

from .laboratories import entries_of, known_by

EFFECTS, TAU = 0.2, 0.3  # standard deviation of the true effects; scale of the half-normal one between laboratories
DRIFT = 0.02  # standard deviation of a machine's change of speed from one run to the next, ln speed
FACTORIAL = 3  # repetitions of each entry


@dataclass(frozen=True)
class Trouble:
    """The faults of runs on a machine. drift : as DRIFT; disturbed : share of runs; slower : mean ln speed they lose"""

    name: str
    drift: float = 0.0
    disturbed: float = 0.0
    slower: float = 0.3


TROUBLES = (
    Trouble("quiet"),
    Trouble("drift", drift=DRIFT),
    Trouble("drift, one run in ten disturbed", drift=DRIFT, disturbed=0.1),
)


@dataclass
class Tally:
    """One number a machine. runs : that were made; losses : of the decision, of the published choice and of the
    factorial, each a share of the best; same : whether the decision is as good as the
    factorial's, within the margin"""

    runs: list[int]
    losses: list[float]
    published: list[float]
    factorial: list[float]
    same: list[bool]


def simulate(
    rng: np.random.Generator,
    size: int,
    trouble: Trouble,
    machines: int,
    *,
    scales: Scales,
    margin: float,
    laboratories: int = 1,
) -> Tally:
    """Decide on so many machines among 4 file systems, or 9 pairs."""
    entries = entries_of(size)
    tally = Tally([], [], [], [], [])
    for _ in range(machines):
        effects = rng.normal(0, EFFECTS, len(entries))
        tau = abs(rng.normal(0, TAU)) / np.sqrt(2)
        speeds = effects + tau * rng.normal(size=(laboratories + 1, len(entries)))
        truth = speeds[-1]
        known = initial_machine(_published(rng, entries, speeds[:-1], scales), VARIATION**2)
        measure = TrueMachine(rng, truth, trouble)
        machine, runs = _decided(known, measure, list(entries.index), margin)
        chosen = decide(machine, margin).first
        whole = _whole_factorial(TrueMachine(rng, truth, trouble), len(entries))
        tally.runs.append(runs)
        for losses, place in (
            (tally.losses, chosen),
            (tally.published, decide(known, margin).first),
            (tally.factorial, whole),
        ):
            losses.append(-float(np.expm1(truth[place] - truth.max())))
        tally.same.append(bool(truth[whole] - truth[chosen] <= -np.log1p(-margin)))
    return tally


def _published(rng: np.random.Generator, entries: pd.DataFrame, speeds: np.ndarray, scales: Scales) -> Components:
    noise = VARIATION**2 / FACTORIAL
    shown = speeds + np.sqrt(noise) * rng.normal(size=speeds.shape)
    cells = [(number, place, value) for (number, place), value in np.ndenumerate(shown)]
    return Components.from_posterior(known_by(entries, cells, noise, scales))


class TrueMachine:
    """A machine of a simulation: what its runs show. truth : ln speed of each entry"""

    def __init__(self, rng: np.random.Generator, truth: np.ndarray, trouble: Trouble) -> None:
        self.rng, self.truth, self.trouble, self.level = rng, truth, trouble, 0.0

    def run(self, place: int) -> float:
        self.level += self.trouble.drift * self.rng.normal()
        shown = self.truth[place] + self.level + VARIATION * self.rng.normal()
        if self.rng.random() < self.trouble.disturbed:
            shown -= abs(self.rng.normal(self.trouble.slower, self.trouble.slower / 2))
        return float(shown)

    def block(self, places: tuple[int, ...]) -> Block:
        order = tuple(int(place) for place in self.rng.permutation(places))
        return Block(order, tuple(self.run(place) for place in order))


def _decided(machine: Machine, measured: TrueMachine, names: list[str], margin: float) -> tuple[Machine, int]:
    runs, budget = 0, FACTORIAL * len(names)
    while runs < budget:
        if runs and is_settled(decide(machine, margin)):
            break
        places = next_block(machine, names)
        machine = update(machine, [measured.block(places)])
        runs += len(places)
    return machine, runs


def _whole_factorial(measured: TrueMachine, size: int) -> int:
    order = [int(place) for _ in range(FACTORIAL) for place in measured.rng.permutation(size)]
    shown: dict[int, list[float]] = {}
    for place in order:
        shown.setdefault(place, []).append(measured.run(place))
    return max(shown, key=lambda place: float(np.mean(shown[place])))
