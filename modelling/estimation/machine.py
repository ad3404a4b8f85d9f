"""Update what is known of a machine by runs and moves on it. No Django.

The prior is a mixture of normals of the entries' ln speed there (`value.Components`). Runs come in blocks, one right
after the other, so that drift between blocks cancels. A run has the entry's speed with an error; one in ten is
disturbed, and then mostly slower:

    y[run] = level[block] + ln speed[entry] + e[run],      e ~ N(0, s²), or N(-0.3, s² + 0.3²) where disturbed

with s known within a factor of two. Bayes' rule turns the mixture into another one after each block, with a component
for each way in which at most one of its runs was disturbed. The entry to use is the one with the least expected loss.
Source: docs/models/here.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .bayes import Posterior, forecast
from .value import Components, merge_components

VARIATION = 0.07  # coefficient of variation expected of a short run on one machine
SURE, LOSS = 0.9, 0.02  # the decision stands at this probability of being within the margin, and this expected loss
DISTURBED = 0.1  # share of runs
SLOWER, APART = 0.3, 0.3  # ln speed that a disturbed run loses: mean and standard deviation
# Standard deviations of ln speed: between two disks or folders, and of choices that differ in more than their published
# entries. Wide, because published evidence says nothing about one's own disks.
PLACES, ALIKE = 0.7, 0.2
ACROSS = 0.5  # share of the variance of PLACES that is common to all workloads
_WIDTHS = ((0.5, 0.25), (1.0, 0.5), (2.0, 0.25))
_LEVEL = 100.0  # variance of a block's level: flat
_MOST = 96  # components that are kept


@dataclass(frozen=True)
class Block:
    """Runs one right after the other, or another side-by-side comparison of entries.

    entries : their places; outcomes : ln speed of each, finite
    error : variance of each outcome, > 0; None: that of a run, which is estimated from the runs
    """

    entries: tuple[int, ...]
    outcomes: tuple[float, ...]
    error: float | None = None


class Machine(NamedTuple):
    """The knowledge of n entries on one machine: a mixture of T normals of ln speed, up to a constant common to all.

    weights : (T,) of sum one; means : (T, n); covariances : (T, n, n); noise : (T,) variances of a run
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    noise: np.ndarray

    def posterior(self, names: Sequence[str]) -> Posterior:
        """Return it as a posterior without deviations of laboratories, since the machine is the laboratory."""
        known = self.covariances
        return Posterior(tuple(names), self.weights, self.means, known, np.zeros_like(known))


@dataclass(frozen=True)
class Standing:
    """The current decision. first : place of the entry with the least expected loss

    within : (n,) probabilities of being slower than the best by no more than the margin
    losses : (n,) expected losses against the best, shares
    """

    first: int
    within: np.ndarray
    losses: np.ndarray


def add_place_variance(
    known: Components, places: Sequence[str], workloads: Sequence[str] | None = None, *, are_alike: bool | np.ndarray
) -> Components:
    """Add the variance between places, and between choices that differ in more than their entries.

    places, workloads : (n,), workloads None: the same; are_alike : whether choices differ in entries only, one or (n,)
    """
    names, under = np.array(places), np.array(workloads or [""] * len(places))
    same = (names[:, None] == names) * np.where(under[:, None] == under, 1.0, ACROSS)
    own = np.where(are_alike, 0.0, ALIKE**2) * np.ones(len(places))
    return known._replace(extras=known.extras + PLACES**2 * same + np.diag(own))


def initial_machine(known: Components, noise: float) -> Machine:
    """Return the prior of a machine. noise : expected variance of a run's ln speed, > 0"""
    merged = merge_components(known)
    widths, shares = np.array(_WIDTHS).T
    spread = merged.covariances + merged.extras
    count = len(widths)
    return Machine(
        np.outer(shares, merged.weights).ravel(),
        np.tile(merged.means, (count, 1)),
        np.tile(spread, (count, 1, 1)),
        np.repeat(noise * widths**2, len(merged.weights)),
    )


def select_entries(machine: Machine, places: Sequence[int]) -> Machine:
    """Return what is known of the entries at these places alone."""
    at = np.asarray(places)
    return machine._replace(means=machine.means[:, at], covariances=machine.covariances[:, at][:, :, at])


def sum_entries(machine: Machine, sums: np.ndarray) -> Machine:
    """Return what is known of sums of entries. sums : (m, n), the share of each entry in each sum"""
    return machine._replace(means=machine.means @ sums.T, covariances=sums @ machine.covariances @ sums.T)


def update(machine: Machine, blocks: Iterable[Block]) -> Machine:
    """Return what is known of the machine after these blocks of runs."""
    for block in blocks:
        machine = _keep_largest(_update_with_block(machine, block))
    return machine


def mix_machines(machines: Sequence[Machine], shares: Sequence[float]) -> Machine:
    """Return what is known of the sum of n entries' ln speeds under several workloads, each times its share.

    machines : one machine under each workload, of the same entries; what is known under two of them is independent
    """
    if len(machines) == 1:
        return machines[0]
    size = machines[0].means.shape[1]
    nothing = np.zeros((1, size, size))
    whole = Components(np.ones(1), nothing[0, :1], nothing, nothing)
    for machine, share in zip(machines, shares, strict=True):
        merged = merge_components(Components(*machine[:3], np.zeros_like(machine.covariances)))
        whole = merge_components(whole)
        covariances = (whole.covariances[:, None] + share**2 * merged.covariances).reshape(-1, size, size)
        whole = Components(
            np.outer(whole.weights, merged.weights).ravel(),
            (whole.means[:, None] + share * merged.means).reshape(-1, size),
            covariances,
            np.zeros_like(covariances),
        )
    return Machine(*whole[:3], np.zeros_like(whole.weights))


def decide(machine: Machine, margin: float) -> Standing:
    """Choose the entry with the least expected loss. margin : share by which an entry may be slower and as good"""
    expected = forecast(machine.weights, machine.means, machine.covariances, margin)
    return Standing(int(np.argmin(expected.loss)), 1.0 - expected.slower, expected.loss)


def is_settled(standing: Standing) -> bool:
    """Tell whether the decision is sure enough to stop measuring."""
    return bool(standing.within[standing.first] >= SURE and standing.losses[standing.first] <= LOSS)


def _update_with_block(machine: Machine, block: Block) -> Machine:
    places, outcome = np.array(block.entries), np.array(block.outcomes)
    outcome = outcome - outcome.mean()
    size = len(places)
    disturbed = np.vstack([np.zeros(size), np.eye(size)])  # at most one run of a block
    chance = np.where(disturbed.any(axis=1), DISTURBED, 1.0 - DISTURBED * size / (1 + size))
    shift, more = -SLOWER * disturbed, APART**2 * disturbed
    across = machine.covariances[:, places, :]  # (T, k, n)
    noise = machine.noise if block.error is None else np.full_like(machine.noise, block.error)
    error = noise[:, None, None] + more  # (T, ways, k)
    total = across[:, :, places][:, None] + _LEVEL + error[..., None] * np.eye(size)  # (T, ways, k, k)
    inverse = np.linalg.inv(total)
    apart = outcome - machine.means[:, None, places] - shift  # (T, ways, k)
    weighed = np.einsum("twij,twj->twi", inverse, apart)
    misfit = np.einsum("twi,twi->tw", apart, weighed)
    logs = np.log(machine.weights)[:, None] + np.log(chance) - (misfit + np.linalg.slogdet(total)[1]) / 2
    weights = np.exp(logs - logs.max())
    gain = np.einsum("twij,tjn->twin", inverse, across)
    means = machine.means[:, None] + np.einsum("twi,tin->twn", weighed, across)
    covariances = machine.covariances[:, None] - np.einsum("tin,twim->twnm", across, gain)
    ways, n = len(disturbed), machine.means.shape[1]
    return Machine(
        (weights / weights.sum()).ravel(),
        means.reshape(-1, n),
        covariances.reshape(-1, n, n),
        np.repeat(machine.noise, ways),
    )


def _keep_largest(machine: Machine) -> Machine:
    order = np.argsort(-machine.weights, kind="stable")[:_MOST]
    order = order[machine.weights[order] > 1e-5]
    weights = machine.weights[order]
    return Machine(weights / weights.sum(), *(part[order] for part in machine[1:]))
