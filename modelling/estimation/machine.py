"""What is known of the entries of a question on one machine, and how observations of them change it. No Django.

A machine's knowledge is a mixture of normals of the entries' ln speed there, at first a prior (`value.Components`).
Observations come in blocks, one right after the other, so that drift between blocks cancels. One of a block may be
disturbed, and then mostly slower:

    y[i] = level[block] + ln speed[entry i] + e[i],      e ~ N(0, s²), or N(-0.15, s² + 0.4²) where disturbed

Bayes' rule turns each normal into one for each way in which that may be, which are merged into one normal with the same
mean and covariance. `sequential` learns by how much runs vary. The entry to use is the one with the least expected
loss. Source: docs/models/here.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .bayes import Posterior, forecast
from .value import Components, merge_components

SURE, LOSS = 0.9, 0.02  # the decision stands at this probability of being within the margin, and this expected loss
DISTURBED, SLOWER, WIDER = 0.05, 0.15, 0.4  # share of runs; ln speed that they lose: mean and standard deviation
# Standard deviations of ln speed: between two disks or folders, and of choices that differ in more than their published
# entries. Wide, because published evidence says nothing about one's own disks.
PLACES, ALIKE = 0.7, 0.2
ACROSS = 0.5  # share of the variance of PLACES that is common to all workloads
_LEVEL = 100.0  # variance of a block's level: flat


@dataclass(frozen=True)
class Block:
    """Runs one right after the other. entries : their places; outcomes : ln speed of each, finite"""

    entries: tuple[int, ...]
    outcomes: tuple[float, ...]


class Machine(NamedTuple):
    """The knowledge of n entries on one machine: a mixture of T normals of ln speed, up to a constant common to all.

    weights : (T,) of sum one; means : (T, n); covariances : (T, n, n)
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    @classmethod
    def from_components(cls, known: Components) -> "Machine":
        """Return the prior of a machine: one more laboratory."""
        few = merge_components(known)
        return cls(few.weights, few.means, few.covariances + few.extras)

    def components(self) -> Components:
        """Return it as few components without deviations of laboratories, since the machine is the laboratory."""
        return merge_components(Components(*self, np.zeros_like(self.covariances)))

    def posterior(self, names: Sequence[str]) -> Posterior:
        """Return it as a posterior without deviations of laboratories."""
        return Posterior(tuple(names), *self, np.zeros_like(self.covariances))


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
    known: Components,
    places: Sequence[str],
    workloads: Sequence[str] | None = None,
    *,
    are_alike: bool | np.ndarray,
    across: float = ACROSS,
) -> Components:
    """Add the variance between places, and between choices that differ in more than their entries.

    places, workloads : (n,), workloads None: the same; are_alike : whether choices differ in entries only, one or (n,)
    across : share of the variance between places that is common to all workloads
    """
    names, under = np.array(places), np.array(workloads or [""] * len(places))
    same = (names[:, None] == names) * np.where(under[:, None] == under, 1.0, across)
    own = np.where(are_alike, 0.0, ALIKE**2) * np.ones(len(places))
    return known._replace(extras=known.extras + PLACES**2 * same + np.diag(own))


def select_entries(machine: Machine, places: Sequence[int]) -> Machine:
    """Return what is known of the entries at these places alone."""
    at = np.asarray(places)
    return Machine(machine.weights, machine.means[:, at], machine.covariances[:, at][:, :, at])


def sum_entries(machine: Machine, sums: np.ndarray) -> Machine:
    """Return what is known of sums of entries. sums : (m, n), the share of each entry in each sum"""
    return Machine(machine.weights, machine.means @ sums.T, sums @ machine.covariances @ sums.T)


def observe(machine: Machine, design: np.ndarray, outcomes: Sequence[float], errors: np.ndarray) -> Machine:
    """Return what is known after a block of k observations, one of which may be disturbed.

    design : (k, n) or (T, k, n), what each observation is the sum of; outcomes : (k,) ln speed
    errors : (k,) or (T, k) variances
    """
    weights, means, covariances = machine
    count = len(outcomes)
    across = design @ covariances  # (T, k, n)
    disturbed = np.vstack([np.zeros(count), np.eye(count)])  # none, or one of the block
    chance = np.array([1.0, *[DISTURBED] * count]) / (1 + DISTURBED * count)
    error = errors[..., None, :] + WIDER**2 * disturbed  # (ways, k) or (T, ways, k)
    total = (across @ design.swapaxes(-1, -2) + _LEVEL)[:, None] + error[..., None] * np.eye(count)
    apart = np.array(outcomes) - np.mean(outcomes) - (design @ means[..., None])[..., 0]
    apart = apart[:, None] + SLOWER * disturbed  # (T, ways, k)
    inverse = np.linalg.inv(total)
    weighed = (inverse @ apart[..., None])[..., 0]
    logs = np.log(chance) - ((apart * weighed).sum(axis=2) + np.linalg.slogdet(total)[1]) / 2
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    likely = shares.sum(axis=1, keepdims=True)
    shares = (shares / likely)[..., None]
    mean = (shares * weighed).sum(axis=1)  # (T, k)
    ways = weighed - mean[:, None]
    change = (shares * ways).swapaxes(1, 2) @ ways - (shares[..., None] * inverse).sum(axis=1)  # (T, k, k)
    ahead = np.log(np.maximum(weights, 1e-300)) + (top + np.log(likely))[:, 0]
    weights = np.exp(ahead - ahead.max())
    return Machine(
        weights / weights.sum(),
        means + (mean[:, None] @ across)[:, 0],
        covariances + across.swapaxes(1, 2) @ change @ across,
    )


def decide(machine: Machine, margin: float) -> Standing:
    """Choose the entry with the least expected loss. margin : share by which an entry may be slower and as good"""
    expected = forecast(*machine, margin)
    return Standing(int(np.argmin(expected.loss)), 1.0 - expected.slower, expected.loss)


def is_sure(standing: Standing) -> bool:
    """Tell whether the choice is within the margin of the best, surely enough, and costs little if it is not."""
    return bool(standing.within[standing.first] >= SURE and standing.losses[standing.first] <= LOSS)
