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

from .bayes import Posterior, forecast
from .machine import LOSS, SURE, Block, Standing
from .value import Components, merge_components

DRAWS = 400
# Standard deviation of a run's ln speed: its median; standard deviations of its logarithm, common and by choice.
USUAL, APART, BY_CHOICE = 0.12, 1.0, 0.3
_BOUNDS = 0.01, 0.8
EARLY, OFF, MOST_EARLY = 0.35, 0.6, 2  # chance that a choice has early runs; what they are off by, ln speed; how many
DISTURBED, SLOWER, WIDER = 0.05, 0.15, 0.4  # share of runs; ln speed that they lose: mean and standard deviation
LEAST = 2  # runs of each choice that may be the best
OUT, OPEN, LIKELY = 0.01, 0.05, 0.5  # probabilities of being within the margin: below, ruled out; run again; may tie
TIED = 14  # runs in all after which the leading choice is used, though another may be as good
LARGEST = 6  # choices of a block, which must be short enough that nothing drifts
_LEVEL = 100.0  # variance of a block's level: flat


class Trial(NamedTuple):
    """The knowledge of n choices: a mixture of T normals of ln speed and of the offsets of early runs.

    weights : (T,) of sum one; means : (T, 2n); covariances : (T, 2n, 2n)
    noise : (T, n) standard deviations of a run; early : (T, n) how many first runs are early
    runs : (n,) numbers of runs so far
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
        """Return the posterior of ln speed without deviations of laboratories, since the machine is the laboratory."""
        size = self.size
        known = self.covariances[:, :size, :size]
        return Posterior(tuple(names), self.weights, self.means[:, :size], known, np.zeros_like(known))


def begin(known: Components) -> Trial:
    """Return the knowledge of the choices before any run."""
    merged = merge_components(known)
    size = merged.means.shape[1]
    counts = np.maximum(1, np.round(DRAWS * merged.weights).astype(int))
    component = np.repeat(np.arange(len(counts)), counts)
    noise, early = (np.array(rows) for rows in draws(len(component), size))
    covariances = np.zeros((len(component), 2 * size, 2 * size))
    covariances[:, :size, :size] = (merged.covariances + merged.extras)[component]
    places = np.arange(size, 2 * size)
    covariances[:, places, places] = OFF**2 * (early > 0)
    weights = (merged.weights / counts)[component]
    return Trial(
        weights / weights.sum(),
        np.hstack([merged.means[component], np.zeros((len(component), size))]),
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
        trial = _update_with_block(trial, block)
    return trial


def decide(trial: Trial, margin: float) -> Standing:
    """Choose the choice with the least expected loss. margin : share by which one may be slower and as good"""
    size = trial.size
    expected = forecast(trial.weights, trial.means[:, :size], trial.covariances[:, :size, :size], margin)
    return Standing(int(np.argmin(expected.loss)), 1.0 - expected.slower, expected.loss)


def is_settled(trial: Trial, standing: Standing) -> bool:
    """Tell whether to stop: the choice is sure, rivals have LEAST runs, and no tie is open or TIED runs were made."""
    within = standing.within
    if within[standing.first] < SURE or standing.losses[standing.first] > LOSS:
        return False
    if (trial.runs[within >= OUT] < LEAST).any():
        return False
    may_tie = (within > LIKELY) & (within < SURE)
    return not may_tie.any() or bool(trial.runs.sum() >= TIED)


def next_block(trial: Trial, standing: Standing) -> tuple[int, ...]:
    """Return the places of the choices to run next: those that may still be the best, least often run first."""
    within, runs = standing.within, trial.runs
    order = sorted(range(trial.size), key=lambda place: (standing.losses[place].round(9), place))
    open_ = [place for place in order if within[place] >= OPEN or (within[place] >= OUT and runs[place] < LEAST)]
    chosen = sorted(open_, key=lambda place: min(int(runs[place]), LEAST))[:LARGEST]
    return tuple(chosen) if len(chosen) > 1 else tuple(dict.fromkeys([*chosen, *order]))[:2]


def _update_with_block(trial: Trial, block: Block) -> Trial:
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
