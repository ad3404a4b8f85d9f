"""Compute what runs on the reader's machine are worth before anybody makes them. No Django.

The machine is one more laboratory: each entry's ln speed there is its mean over laboratories plus what laboratories
deviate, so a run measures the machine itself, with the run's error alone. What is known before is a mixture of normals
(`Components`). Runs of a set of entries at one unknown level of speed turn it into another mixture by Bayes' rule: each
component by conditioning on the differences seen, the weights by how well each component foretold them. Then the
entry with the largest mean is chosen, so the set is worth

    E[max over entries of E[ln speed | runs]] - max over entries of E[ln speed] >= 0,   ln ratio

the expected reduction of the expected loss. The outer expectation is taken over one fixed set of points
for all sets of runs. Source: Raiffa and Schlaifer 1961, chapter 4 (preposterior analysis); docs/models/verdict.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from .bayes import Posterior, sobol_points

PAIR, LEADING, FACTORIAL, ALL = KINDS = ("pair", "leading", "factorial", "all")
MOST = 20  # leading entries that sets of runs are made of
_IN_PAIRS = 6  # leading entries of which every pair is a set
_POINTS = 2**9
_COMPONENTS = 12


class Components(NamedTuple):
    """The knowledge of n entries in a laboratory that nobody has seen: a mixture of T normals of ln speed.

    weights : (T,) of sum one; means : (T, n); covariances : (T, n, n) of the means over laboratories
    extras : (T, n, n) of what one laboratory deviates from them
    Each up to a constant common to all entries.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    extras: np.ndarray

    @classmethod
    def from_posterior(cls, posterior: Posterior) -> "Components":
        return cls(posterior.weights, posterior.means, posterior.covariances, posterior.extras)

    def select(self, places: Sequence[int] | np.ndarray) -> "Components":
        """Return the components of only the entries at these places."""
        places = np.asarray(places)
        inside = (part[:, places][:, :, places] for part in (self.covariances, self.extras))
        return Components(self.weights, self.means[:, places], *inside)


@dataclass(frozen=True)
class RunSet:
    """Entries to measure, each equally often, and the expected gain.

    kind : of KINDS; entries : first the one chosen now, if it is among them; gain : ln speed
    """

    kind: str
    entries: tuple[str, ...]
    repetitions: int
    gain: float

    @property
    def runs(self) -> int:
        return len(self.entries) * self.repetitions


@dataclass(frozen=True)
class Candidate:
    """A set of runs without its gain: its kind, and the places of its entries."""

    kind: str
    places: tuple[int, ...]


def run_sets(
    names: Sequence[str],
    components: Components,
    noise: float,
    repetitions: int,
    grid: Mapping[str, Sequence[str]] | None = None,
) -> list[RunSet]:
    """Return sets of runs with what each is worth: pairs, the leading ones, factorials and all.

    names : (n,) entries; noise : variance of ln speed of one run, > 0; repetitions : of each entry, >= 1
    grid : entry to its row and column, for factorials
    Of more than `MOST` entries only the leading ones are considered, and no set is of kind ALL.
    """
    order = order_by_lead(components, names)
    is_cut = len(order) > MOST
    order = order[:MOST]
    names, components = [names[place] for place in order], merge_components(components.select(order))
    cells = [grid[name] for name in names] if grid else []
    design = candidate_sets(len(names), cells, is_cut=is_cut)
    gains = expected_gains(components, [candidate.places for candidate in design], noise / repetitions)
    return [
        RunSet(candidate.kind, tuple(names[place] for place in candidate.places), repetitions, gain)
        for candidate, gain in zip(design, gains, strict=True)
    ]


def propose_run_sets(sets: Sequence[RunSet], least: float) -> list[RunSet]:
    """Return the sets to propose: the one with the largest gain per run, then the best factorial and the largest set.

    least : smallest gain that is worth runs, ln speed
    A further set is proposed only where it gains more than the one before. Empty where no set gains the least.
    """
    worth = [runs for runs in sets if runs.gain >= least]
    if not worth:
        return []
    chosen = [max(worth, key=lambda runs: (runs.gain / runs.runs, -runs.runs))]
    factorials = [runs for runs in worth if runs.kind == FACTORIAL]
    further = [max(factorials, key=lambda runs: runs.gain / runs.runs)] if factorials else []
    for runs in (*further, max(worth, key=lambda runs: runs.runs)):
        if runs.runs > chosen[-1].runs and runs.gain > chosen[-1].gain:
            chosen.append(runs)
    return chosen


def order_by_lead(components: Components, names: Sequence[str]) -> list[int]:
    """Return the places of all entries: the one chosen now, then those that may be faster, by E[their lead where > 0].

    An entry that nobody measured stands before one that is known to be a little slower. Ties go by name.
    """
    expected = components.weights @ components.means
    now = min(range(len(names)), key=lambda place: (-expected[place].round(9), names[place]))
    spread = components.covariances + components.extras
    own = np.einsum("tii->ti", spread)
    deviation = np.sqrt(np.maximum(own + own[:, now, None] - 2 * spread[:, :, now], 1e-12))
    lead = components.means - components.means[:, now, None]
    z = lead / deviation
    excess = components.weights @ (lead * ndtr(z) + deviation * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
    return sorted(range(len(names)), key=lambda place: (place != now, -excess[place].round(9), names[place]))


def candidate_sets(size: int, cells: Sequence[Sequence[str]] = (), *, is_cut: bool = False) -> list[Candidate]:
    """Return the sets of runs to consider, of entries in the order of `order_by_lead`; none twice.

    cells : (size,) row and column of each entry; is_cut : whether there are more entries than these
    Each pair of the first six, the first k for each k, all, and the products of the first rows and columns of which
    every cell is an entry.
    """
    sets: dict[tuple[int, ...], str] = {}
    if size > 1 and not is_cut:
        sets[tuple(range(size))] = ALL
    rows, columns = (list(dict.fromkeys(cell[side] for cell in cells)) for side in (0, 1))
    place_of = {tuple(cell): place for place, cell in enumerate(cells)}
    for height in range(2, len(rows) + 1):
        for width in range(2, len(columns) + 1):
            product = [(row, column) for row in rows[:height] for column in columns[:width]]
            if all(cell in place_of for cell in product):
                sets.setdefault(tuple(sorted(place_of[cell] for cell in product)), FACTORIAL)
    for pair in combinations(range(min(size, _IN_PAIRS)), 2):
        sets.setdefault(pair, PAIR)
    for count in range(3, size + 1):
        sets.setdefault(tuple(range(count)), LEADING)
    return [Candidate(kind, places) for places, kind in sets.items()]


def expected_gains(components: Components, sets: Sequence[Sequence[int]], noise: float) -> list[float]:
    """Return the expected gain of each set of runs, ln speed.

    sets : places of the entries measured, two or more each; noise : variance of the mean of an entry's runs, > 0
    """
    now = int(np.argmax(components.weights @ components.means))
    outcomes = _predicted_values(components, noise)
    gains = []
    for places in sets:
        means = expected_after_runs(components, places, noise, outcomes[:, places])
        gains.append(float(np.mean(means.max(axis=1) - means[:, now])))
    return gains


def expected_after_runs(
    components: Components, places: Sequence[int], noise: float, outcomes: np.ndarray
) -> np.ndarray:
    """Return (N, n) expectations of all entries' ln speed, each row up to a constant, after runs of some.

    places : (s,) the entries measured; noise : variance of the mean of an entry's runs; outcomes : (N, s) means of runs
    """
    measured = np.asarray(places)
    spread = components.covariances + components.extras
    across = spread[:, measured, :]
    differences, log_scale = _contrast_precision(across[:, :, measured], noise)
    moves = differences @ across  # (T, s, n)
    apart = outcomes.T - components.means[:, measured, None]  # (T, s, N)
    misfit = ((differences @ apart) * apart).sum(axis=1)
    with np.errstate(divide="ignore"):
        logs = (np.log(components.weights) + log_scale)[:, None] - misfit / 2
    weights = np.exp(logs - logs.max(axis=0))
    weights /= weights.sum(axis=0)
    apart *= weights[:, None, :]
    moved = apart.reshape(-1, len(outcomes)).T @ moves.reshape(-1, moves.shape[2])
    return moved + weights.T @ components.means


def _contrast_precision(covariances: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the precision and scale of the density of s outcomes at an unknown common level.

    Values of covariance A = covariances + noise I, (T, s, s), and a flat level have ln density
    -1/2 y P y + log_scale + constant with P = A⁻¹ - A⁻¹ 1 1' A⁻¹ / 1' A⁻¹ 1. Returns P and log_scale, (T,).
    """
    size = covariances.shape[1]
    scale = np.einsum("tii->t", covariances) / size + noise
    total = covariances + noise * np.eye(size) + scale[:, None, None]  # a common shift changes neither
    inverse = np.linalg.inv(total)
    rows = inverse.sum(axis=2)
    every = rows.sum(axis=1)
    differences = inverse - rows[:, :, None] * rows[:, None, :] / every[:, None, None]
    return differences, -(np.linalg.slogdet(total)[1] + np.log(every)) / 2


def _predicted_values(components: Components, noise: float) -> np.ndarray:
    """Return (points, n) outcomes of runs of all entries, a fixed sample of their predictive distribution."""
    size = components.means.shape[1]
    uniform, normal = sobol_points(size, _POINTS)
    of = np.minimum(np.searchsorted(np.cumsum(components.weights), uniform), len(components.weights) - 1)
    spread = components.covariances + components.extras
    scale = np.einsum("tii->t", spread) / size + noise
    roots = np.linalg.cholesky(spread + noise * np.eye(size) + scale[:, None, None])
    values = np.empty_like(normal)
    for place in np.unique(of):
        mine = of == place
        values[mine] = components.means[place] + normal[mine] @ roots[place].T
    return values


def merge_components(components: Components, most: int = _COMPONENTS) -> Components:
    """Merge components of similar spread, keeping the mixture's mean and covariance, until at most `most` are left.

    Grouped by weight times width, so that the wide components, which make the heavy tails, stay apart longest.
    """
    if len(components.weights) <= most:
        return components
    spread = components.covariances + components.extras
    size = spread.shape[1]
    widths = np.sqrt(np.maximum(np.einsum("tii->t", spread) - spread.sum(axis=(1, 2)) / size, 0.0))
    order = np.argsort(widths, kind="stable")
    share = np.cumsum((components.weights * widths)[order])
    share -= (components.weights * widths)[order] / 2
    group = np.empty(len(order), int)
    group[order] = np.minimum((most * share / max(share[-1], 1e-300)).astype(int), most - 1)
    members = (group == np.arange(most)[:, None]) * components.weights
    members = members[members.sum(axis=1) > 0]
    weights = members.sum(axis=1)
    members /= weights[:, None]
    centred = components.means - components.means.mean(axis=1, keepdims=True)
    means = members @ centred
    apart = centred - means[:, None, :]  # (groups, T, n)
    between = np.einsum("gt,gti,gtj->gij", members, apart, apart, optimize=True)
    covariances, extras = (np.tensordot(members, part, 1) for part in (components.covariances, components.extras))
    return Components(weights / weights.sum(), means, covariances + between, extras)
