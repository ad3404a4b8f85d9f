"""Decide among choices on one machine by runs, block by block, and say when they suffice. No Django.

The prior is a mixture of normals of the choices' ln speed there (`value.Components`). Runs of a block follow one right
after the other, so that drift between blocks cancels:

    y[run] = level[block] + ln speed[choice] + early[choice] + e[run]

The variation of runs is unknown: e ~ N(0, s²) with an s for each choice, and one run in twenty may be disturbed. The
first run or two of a choice may be off by a common amount (a write cache, an empty file system). Fixed draws of s
and of the number of early runs are weighted by the likelihood of the runs. Given a draw all is normal; after each block
the ways in which a run may be disturbed are merged into one normal with the same mean and covariance.
`kdb_client.decide` does the same in plain Python, for machines without a server; a test compares the two.
Sources: West 1993 (10.1111/j.2517-6161.1993.tb01911.x, mixtures by importance); docs/models/here.md.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

import numpy as np

from .machine import SURE, Block, Machine, Standing, decide, is_sure, observe, select_entries
from .value import Components

DRAWS = 400
# Standard deviation of a run's ln speed: its median; standard deviations of its logarithm, common and by choice.
USUAL, APART, BY_CHOICE = 0.12, 1.0, 0.3
_BOUNDS = 0.01, 0.8
EARLY, OFF, MOST_EARLY = 0.35, 0.6, 2  # chance that a choice has early runs; what they are off by, ln speed; how many
LEAST = 2  # runs of each choice that may be the best
OUT, OPEN, LIKELY = 0.01, 0.05, 0.5  # probabilities of being within the margin: below, ruled out; run again; may tie
TIED = 12  # runs in all after which the leading choice is used, though another may be as good
LARGEST = 6  # choices of a block, which must be short enough that nothing drifts


class Trial(NamedTuple):
    """The knowledge of n entries of a machine while k of them, the choices, are run.

    state : (T, n + k) ln speeds, then the offsets of the choices' early runs; choices : (k,) their places, ascending
    noise : (T, k) standard deviations of a run; early : (T, k) how many first runs are early
    runs : (k,) numbers of runs so far
    """

    state: Machine
    choices: np.ndarray
    noise: np.ndarray
    early: np.ndarray
    runs: np.ndarray

    @property
    def size(self) -> int:
        return self.state.means.shape[1] - len(self.choices)

    @property
    def machine(self) -> Machine:
        """Return what is known of ln speed."""
        return select_entries(self.state, range(self.size))

    def standing(self, margin: float) -> Standing:
        """Return the current decision. margin : share by which an entry may be slower and as good"""
        return decide(self.machine, margin)


def begin(known: Components, choices: Iterable[int] | None = None) -> Trial:
    """Return the knowledge before any run. choices : places of the entries to run; None: all"""
    weights, means, spread = Machine.from_components(known)
    size = means.shape[1]
    run = np.unique(list(range(size) if choices is None else choices))
    counts = np.maximum(1, np.round(DRAWS * weights).astype(int))
    component = np.repeat(np.arange(len(counts)), counts)
    noise, early = (np.array(rows) for rows in draws(len(component), len(run)))
    covariances = np.zeros((len(component), size + len(run), size + len(run)))
    covariances[:, :size, :size] = spread[component]
    offsets = np.arange(size, size + len(run))
    covariances[:, offsets, offsets] = OFF**2 * (early > 0)
    shares = (weights / counts)[component]
    means = np.hstack([means[component], np.zeros((len(component), len(run)))])
    return Trial(Machine(shares / shares.sum(), means, covariances), run, noise, early, np.zeros(len(run), dtype=int))


@lru_cache(maxsize=64)
def draws(count: int, size: int) -> tuple[list[list[float]], list[list[int]]]:
    """Return (count, size) standard deviations of a run, and how many first runs are early; always the same ones."""
    random = Random(1)  # noqa: S311 - no secret
    noise, early = [], []
    for _ in range(count):
        common = random.gauss(math.log(USUAL), APART)
        own = [math.exp(common + random.gauss(0.0, BY_CHOICE)) for _ in range(size)]
        noise.append([min(max(one, _BOUNDS[0]), _BOUNDS[1]) for one in own])
        early.append([random.randint(1, MOST_EARLY) if random.random() < EARLY else 0 for _ in range(size)])
    return noise, early


def update(trial: Trial, blocks: Iterable[Block]) -> Trial:
    """Return what is known after these blocks, in the order in which they were run."""
    for block in blocks:
        trial = _update_with_block(trial, block)
    return trial


def update_with_sessions(known: Components, sessions: Iterable[Sequence[Block]]) -> Machine:
    """Update what is known of a machine with the blocks of several sessions, the oldest first.

    In each session runs vary anew, and the first ones of a choice may be early.
    """
    now = Machine.from_components(known)
    for blocks in sessions:
        choices = {place for block in blocks for place in block.entries}
        now = update(begin(now.components(), choices), blocks).machine
    return now


def is_settled(standing: Standing, runs: np.ndarray) -> bool:
    """Tell whether to stop: the choice is sure, rivals have LEAST runs, and no tie is open or TIED runs were made.

    runs : (n,) of each choice so far
    """
    within = standing.within
    if not is_sure(standing) or (runs[within >= OUT] < LEAST).any():
        return False
    may_tie = (within > LIKELY) & (within < SURE)
    return not may_tie.any() or bool(runs.sum() >= TIED)


def next_block(standing: Standing, runs: np.ndarray) -> tuple[int, ...]:
    """Return the places of the choices to run next: those that may still be the best, least often run first.

    runs : (n,) of each choice so far
    """
    within = standing.within
    order = sorted(range(len(runs)), key=lambda place: (standing.losses[place].round(9), place))
    open_ = [place for place in order if within[place] >= OPEN or (within[place] >= OUT and runs[place] < LEAST)]
    chosen = sorted(open_, key=lambda place: min(int(runs[place]), LEAST))[:LARGEST]
    return tuple(chosen) if len(chosen) > 1 else tuple(dict.fromkeys([*chosen, *order]))[:2]


def _update_with_block(trial: Trial, block: Block) -> Trial:
    places = np.array(block.entries)
    numbers, rows = np.searchsorted(trial.choices, places), np.arange(len(places))
    design = np.zeros((len(trial.noise), len(places), trial.state.means.shape[1]))
    design[:, rows, places] = 1.0
    design[:, rows, trial.size + numbers] = trial.runs[numbers] < trial.early[:, numbers]
    state = observe(trial.state, design, block.outcomes, trial.noise[:, numbers] ** 2)
    runs = trial.runs + np.bincount(numbers, minlength=len(trial.runs))
    return trial._replace(state=state, runs=runs)
