"""Test whether a few runs on a reader's machine decide as well as many, on machines of known truth. No Django.

A world has entries with true effects and one laboratory or more that published them; a machine deviates from them
like another laboratory. What is published goes cells -> posterior -> what is known of the machine, as in an answer;
then blocks are chosen one by one, until the decision stands or the budget is spent. The machine drifts, and some runs
are disturbed.
Source: docs/models/here.md.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from modelling.estimation.hierarchy import Scales
from modelling.estimation.machine import SURE, Block, add_place_variance
from modelling.estimation.sequential import Trial, begin, is_settled, next_block, update
from modelling.estimation.value import Components
from modelling.own_lab.content import MOST_RUNS, NO_DIFFERENCE, NOT_YET, USE

from .laboratories import entries_of, known_by

EFFECTS, TAU = 0.2, 0.3  # standard deviation of the true effects; scale of the half-normal one between laboratories
DRIFT = 0.02  # standard deviation of a machine's change of speed from one run to the next, ln speed
VARIATION = 0.07  # standard deviation of a run's ln speed
APART = 0.25  # standard deviation of the speeds of places of which nothing is known
FACTORIAL = 3  # repetitions of each entry


@dataclass(frozen=True)
class Trouble:
    """The faults of runs on a machine.

    drift : as DRIFT; variation : standard deviation of a run's ln speed
    disturbed : share of runs that lose `slower`, ln speed, in the mean
    first : ln speed that the first run of all is off by; early : and the first two runs of half of the choices
    alike : standard deviation of the choices' speeds, in place of what the world has
    """

    name: str
    drift: float = DRIFT
    variation: float = VARIATION
    disturbed: float = 0.0
    slower: float = 0.3
    first: float = 0.0
    early: float = 0.0
    alike: float | None = None


TROUBLES = (
    Trouble("quiet", drift=0.0),
    Trouble("drift"),
    Trouble("drift, one run in ten disturbed", disturbed=0.1),
    Trouble("runs vary by 25 %", variation=0.25),
    Trouble("first run of all slow by 40 %", first=-0.51),
    Trouble("half of the choices twice as fast for two runs", early=0.69),
    Trouble("all alike", alike=0.01),
)


@dataclass
class Tally:
    """One number a machine, the last two where it was decided.

    runs : that were made; losses : of the decision, of the published choice and of the factorial, each a share of the
    best; kinds : what was said; wrong : whether the decision is worse than the margin; told : the probability of that
    """

    runs: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    published: list[float] = field(default_factory=list)
    factorial: list[float] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    wrong: list[bool] = field(default_factory=list)
    told: list[float] = field(default_factory=list)

    def add(self, measured: "TrueMachine", start: Trial, margin: float, whole: int, most: int = MOST_RUNS) -> None:
        """Decide on one more machine. start : before any run; whole : place of the factorial's choice"""
        trial, runs = decided(start, measured, margin, most)
        stands = trial.standing(margin)
        for losses, place in (
            (self.losses, stands.first),
            (self.published, start.standing(margin).first),
            (self.factorial, whole),
        ):
            losses.append(-float(np.expm1(measured.truth[place] - measured.truth.max())))
        self.runs.append(runs)
        alike = int((stands.within >= SURE).sum())
        self.kinds.append(NOT_YET if not is_settled(stands, trial.runs) else USE if alike == 1 else NO_DIFFERENCE)
        if self.kinds[-1] != NOT_YET:
            self.wrong.append(self.losses[-1] > margin)
            self.told.append(1 - float(stands.within[stands.first]))


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
    """Decide on so many machines among 4 file systems, or 9 pairs, of which as many laboratories published something.

    Without any, the machine has as many places of which nothing is known.
    """
    tally = Tally()
    for _ in range(machines):
        if laboratories:
            entries = entries_of(size)
            tau = abs(rng.normal(0, TAU)) / np.sqrt(2)
            effects = rng.normal(0, EFFECTS, size)
            speeds = effects + tau * rng.normal(size=(laboratories + 1, size))
            start, truth = begin(_published(rng, entries, speeds[:-1], scales)), speeds[-1]
        else:
            nothing = np.zeros((1, size, size))
            unknown = Components(np.ones(1), nothing[0, :1], nothing, nothing)
            start = begin(add_place_variance(unknown, [*map(str, range(size))], are_alike=False))
            truth = rng.normal(0, APART if trouble.alike is None else trouble.alike, size)
        whole = _whole_factorial(TrueMachine(rng, truth, trouble), size)
        tally.add(TrueMachine(rng, truth, trouble), start, margin, whole)
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
        self.runs, self.early = np.zeros(len(truth), dtype=int), rng.random(len(truth)) < 0.5

    def run(self, place: int) -> float:
        trouble = self.trouble
        self.level += trouble.drift * self.rng.normal()
        shown = self.truth[place] + self.level + trouble.variation * self.rng.normal()
        if self.rng.random() < trouble.disturbed:
            shown -= abs(self.rng.normal(trouble.slower, trouble.slower / 2))
        shown += 0.0 if self.runs.any() else trouble.first
        shown += trouble.early if self.early[place] and self.runs[place] < 2 else 0.0
        self.runs[place] += 1
        return float(shown)

    def block(self, places: tuple[int, ...]) -> Block:
        order = tuple(int(place) for place in self.rng.permutation(places))
        return Block(order, tuple(self.run(place) for place in order))


def decided(trial: Trial, measured: TrueMachine, margin: float, most: int) -> tuple[Trial, int]:
    """Return what is known when the decision stands or the runs are used up, and how many there were.

    The first run warms up and does not count, as in modelling.own_lab.sessions.
    """
    measured.run(0)
    runs, stands = 1, trial.standing(margin)
    while runs < most and not is_settled(stands, trial.runs):
        trial = update(trial, [measured.block(next_block(stands, trial.runs))])
        runs, stands = int(measured.runs.sum()), trial.standing(margin)
    return trial, runs


def _whole_factorial(measured: TrueMachine, size: int) -> int:
    order = [int(place) for _ in range(FACTORIAL) for place in measured.rng.permutation(size)]
    shown: dict[int, list[float]] = {}
    for place in order:
        shown.setdefault(place, []).append(measured.run(place))
    return max(shown, key=lambda place: float(np.mean(shown[place])))
