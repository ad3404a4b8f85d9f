"""Decide among choices on one machine by runs, block by block, and say when they suffice. No Django.

What is known before any run is a mixture of normals of the choices' ln speed there (`value.Components`). Runs of a
block follow one right after the other, so what drifts from block to block is common to a block and cancels:

    y[run] = level[block] + ln speed[choice] + early[choice] + e[run]

Nobody knows beforehand how much runs vary: e ~ N(0, s²) with an s for each choice, and one run in twenty may be
disturbed. The first run or two of a choice may be off by an amount of their own (a write cache, an empty file system).
Draws of s and of how many runs are early, fixed ones, are weighted by how well they foretell the runs; given a draw all
is normal, and what may be disturbed is put together to one normal with the same mean and covariance after each block.
`kdb_client.decide` is the same in plain Python, for machines without a server; a test compares.
Sources: West 1993 (10.1111/j.2517-6161.1993.tb01911.x, mixtures by importance); docs/models/here.md.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

import numpy as np

from .bayes import Posterior, forecast
from .machine import LOSS, SURE, Block, Standing
from .value import Components, merge_components

DRAWS = 400
# Standard deviation of a run's ln speed: median; how far its logarithm varies, for all choices alike and by choice.
USUAL, APART, BY_CHOICE = 0.12, 1.0, 0.3
_BOUNDS = 0.01, 0.8
EARLY, OFF, MOST_EARLY = 0.35, 0.6, 2  # chance that a choice has early runs; what they are off by, ln speed; how many
DISTURBED, SLOWER, WIDER = 0.05, 0.15, 0.4  # share of runs; ln speed that they lose: mean and standard deviation
LEAST = 2  # runs of each choice that is in question
OUT, OPEN, LIKELY = 0.01, 0.05, 0.5  # probabilities of being within the margin: out of question; run again; not beaten
TIED = 14  # runs in all after which the one that leads is used, though another may be as good
LARGEST = 6  # choices of a block: what runs within a time in which nothing drifts
_LEVEL = 100.0  # variance of a block's level: flat


class Trial(NamedTuple):
    """What is known of n choices: a mixture of T normals of ln speed, and of what early runs are off by.

    weights : (T,) of sum one; means : (T, 2n); covariances : (T, 2n, 2n)
    noise : (T, n) standard deviations of a run; early : (T, n) how many first runs are early
    runs : (n,) that were made
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    noise: np.ndarray
    early: np.ndarray
    runs: np.ndarray

    @property
    def size(self) -> int:
        return len(self.runs)

    def posterior(self, names: Sequence[str]) -> Posterior:
        """Return what is known of ln speed, from which no laboratory deviates any more."""
        size = self.size
        known = self.covariances[:, :size, :size]
        return Posterior(tuple(names), self.weights, self.means[:, :size], known, np.zeros_like(known))


def begin(known: Components) -> Trial:
    """Return what is known of the choices before any run."""
    few = merge_components(known)
    size = few.means.shape[1]
    counts = np.maximum(1, np.round(DRAWS * few.weights).astype(int))
    of = np.repeat(np.arange(len(counts)), counts)
    noise, early = (np.array(rows) for rows in draws(len(of), size))
    covariances = np.zeros((len(of), 2 * size, 2 * size))
    covariances[:, :size, :size] = (few.covariances + few.extras)[of]
    places = np.arange(size, 2 * size)
    covariances[:, places, places] = OFF**2 * (early > 0)
    weights = (few.weights / counts)[of]
    return Trial(
        weights / weights.sum(),
        np.hstack([few.means[of], np.zeros((len(of), size))]),
        covariances,
        noise,
        early,
        np.zeros(size, dtype=int),
    )


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
        trial = _after(trial, block)
    return trial


def decide(trial: Trial, margin: float) -> Standing:
    """Return which choice to use, and how sure that is. margin : a choice slower by less than this share is as good"""
    size = trial.size
    told = forecast(trial.weights, trial.means[:, :size], trial.covariances[:, :size, :size], margin)
    return Standing(int(np.argmin(told.loss)), 1.0 - told.slower, told.loss)


def is_settled(trial: Trial, standing: Standing) -> bool:
    """Tell whether the decision stands: sure, on enough runs, and either it leads or what is as good is known."""
    within = standing.within
    if within[standing.first] < SURE or standing.losses[standing.first] > LOSS:
        return False
    if (trial.runs[within >= OUT] < LEAST).any():
        return False
    may_tie = (within > LIKELY) & (within < SURE)
    return not may_tie.any() or bool(trial.runs.sum() >= TIED)


def next_block(trial: Trial, standing: Standing) -> tuple[int, ...]:
    """Return the places of the choices to run next: what may still be the best, the seldom run first."""
    within, runs = standing.within, trial.runs
    order = sorted(range(trial.size), key=lambda place: (standing.losses[place].round(9), place))
    open_ = [place for place in order if within[place] >= OPEN or (within[place] >= OUT and runs[place] < LEAST)]
    chosen = sorted(open_, key=lambda place: min(int(runs[place]), LEAST))[:LARGEST]
    return tuple(chosen) if len(chosen) > 1 else tuple(dict.fromkeys([*chosen, *order]))[:2]


def _after(trial: Trial, block: Block) -> Trial:
    places, outcome = np.array(block.entries), np.array(block.outcomes)
    outcome = outcome - outcome.mean()
    count, size = len(places), trial.size
    design = np.zeros((len(trial.weights), count, 2 * size))
    design[:, np.arange(count), places] = 1.0
    design[:, np.arange(count), size + places] = trial.runs[places] < trial.early[:, places]
    across = design @ trial.covariances  # (T, k, 2n)
    disturbed = np.vstack([np.zeros(count), np.eye(count)])  # none, or one run of the block
    chance = np.array([1.0, *[DISTURBED] * count]) / (1 + DISTURBED * count)
    error = trial.noise[:, None, places] ** 2 + WIDER**2 * disturbed  # (T, ways, k)
    total = (across @ design.swapaxes(1, 2) + _LEVEL)[:, None] + error[..., None] * np.eye(count)
    apart = outcome - (design @ trial.means[..., None])[:, None, :, 0] + SLOWER * disturbed
    inverse = np.linalg.inv(total)
    weighed = np.einsum("twij,twj->twi", inverse, apart)
    logs = np.log(chance) - (np.einsum("twi,twi->tw", apart, weighed) + np.linalg.slogdet(total)[1]) / 2
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    likely = shares.sum(axis=1, keepdims=True)
    shares /= likely
    moves = np.einsum("twi,tim->twm", weighed, across)
    mean = np.einsum("tw,twm->tm", shares, moves)
    apart_of_ways = moves - mean[:, None]
    gain = np.einsum("tw,twij->tij", shares, inverse)
    covariances = trial.covariances - across.swapaxes(1, 2) @ gain @ across
    covariances += np.einsum("tw,twm,twn->tmn", shares, apart_of_ways, apart_of_ways, optimize=True)
    ahead = np.log(np.maximum(trial.weights, 1e-300)) + (top + np.log(likely))[:, 0]
    weights = np.exp(ahead - ahead.max())
    runs = trial.runs.copy()
    runs[places] += 1
    return trial._replace(weights=weights / weights.sum(), means=trial.means + mean, covariances=covariances, runs=runs)
