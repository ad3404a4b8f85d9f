"""Join what runs and earlier moves on one host say of its pools, for machines of one load. No Django.

What runs say under each workload is one mixture of normals of the pools' ln speed (`machine.Machine`); that of a load
is their sum by its shares (`machine.mix_machines`). What came of moves between two pools is one block of two, the
disks there and the disks here, with an error of its own. Of one move

    ln speed[moved] = theta[there] - theta[here] + e + f,    variances v + 2 s² of e and 2 (a² months + d²) of f

v that of the comparison; s as of a run, for what a whole week has in common; a for what pools drift apart meanwhile;
d = 0 for the disk that was moved, under the load it had then, else as for choices that are not alike. Several moves
share f, so it does not grow less with their number. One side in ten was disturbed, as of runs.
Source: docs/models/placement.md, "What came of moves here".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kdb.pairs import pair_key
from modelling.estimation import machine
from modelling.estimation.bayes import Posterior
from modelling.estimation.machine import ALIKE, VARIATION, Block, Machine
from modelling.estimation.value import Components, merge_components
from modelling.estimation.verdict import STRENGTHS

from .expected_gain import Known

DRIFT = 0.05  # standard deviation by which ln speed of a pool changes in a month, as in the simulations
MONTH = 30.0  # days
LIKE = 0.3  # loads are alike whose shares differ by no more: 70 and 30 % of two are like the first alone


@dataclass(frozen=True)
class Outcome:
    """An outcome says what came of one move, on the same load.

    number : of the move; machine : whose disk, by its name in the fleet; guest_fs, shares : its load then
    here, there : pools it lay on before and after; speed : ln of the speed after over that before
    variance : of that, of the comparison alone; days : since it moved
    """

    number: int
    machine: str
    guest_fs: str
    shares: Mapping[str, float]
    here: str
    there: str
    speed: float
    variance: float
    days: float = 0.0


class Load(NamedTuple):
    """A load says what a machine does: its guest file system, and its workloads by shares."""

    guest_fs: str
    shares: Mapping[str, float]


class HostEvidence(NamedTuple):
    """The knowledge of n pools for one load: a mixture of normals of their ln speed.

    measured : of them, those that were run on under every workload of the load
    runs : that count; numbers : of the moves that count
    """

    pools: tuple[str, ...]
    machine: Machine
    measured: frozenset[str]
    runs: int
    numbers: tuple[int, ...] = ()
    joined: tuple[frozenset[str], ...] = ()  # pools that runs or moves lead from one to another


def evidence_of_runs(
    parts: Sequence[tuple[float, Machine]], pools: Sequence[str], measured: Iterable[str], runs: int
) -> HostEvidence:
    """Return what is known of a load before any move. parts : share of each workload, and the pools under it"""
    total = sum(share for share, _ in parts)
    known = machine.mix_machines([one for _, one in parts], [share / total for share, _ in parts])
    of = frozenset(measured)
    return HostEvidence(tuple(pools), known, of, runs, (), (of,) if len(of) > 1 else ())


def add_moves(evidence: HostEvidence, outcomes: Iterable[Outcome], load: Load, name: str = "") -> HostEvidence:
    """Return the same after these moves, of which those of like loads count. name : of the machine it is asked for"""
    joined, numbers = list(evidence.joined), []
    between: dict[tuple[int, int, bool], list[Outcome]] = {}
    places = {pool: place for place, pool in enumerate(evidence.pools)}
    for outcome in outcomes:
        if {outcome.here, outcome.there} <= places.keys() and outcome.here != outcome.there:
            apart = distance(outcome.shares, load.shares)
            if apart > LIKE:
                continue
            is_itself = outcome.machine == name and apart == 0 and outcome.guest_fs == load.guest_fs
            low, high = sorted((places[outcome.here], places[outcome.there]))
            between.setdefault((low, high, is_itself), []).append(outcome)
            numbers.append(outcome.number)
            touched = [pools for pools in joined if pools & {outcome.here, outcome.there}]
            together = frozenset({outcome.here, outcome.there}).union(*touched)
            joined = [pools for pools in joined if pools not in touched] + [together]
    blocks = [block(evidence.pools, *key, pair_outcomes) for key, pair_outcomes in between.items()]
    known = machine.update(evidence.machine, blocks)
    return evidence._replace(machine=known, numbers=tuple(numbers), joined=tuple(joined))


def distance(some: Mapping[str, float], others: Mapping[str, float]) -> float:
    """Return half of the sum of the differences between the shares of two loads: 0 where they are the same, 1 at most.

    Shares in any unit, above 0 in sum.
    """
    one, two = sum(some.values()), sum(others.values())
    shares = ((some.get(name, 0.0) / one, others.get(name, 0.0) / two) for name in {*some, *others})
    return round(sum(abs(a - b) for a, b in shares) / 2, 9)


def error(variance: float, days: float, *, is_itself: bool) -> tuple[float, float]:
    """Return the variances of either side of what came of a move: its own, and what it shares with like moves.

    variance : of the comparison; days : since then
    """
    return variance / 2 + VARIATION**2, DRIFT**2 * days / MONTH + (0.0 if is_itself else ALIKE**2)


def block(pools: Sequence[str], low: int, high: int, is_itself: bool, outcomes: Sequence[Outcome]) -> Block:
    """Return what came of moves between two pools, either way, as a block of two. low, high : places of the pools"""
    speeds = np.array([outcome.speed if outcome.there == pools[high] else -outcome.speed for outcome in outcomes])
    errors = [error(outcome.variance, outcome.days, is_itself=is_itself) for outcome in outcomes]
    own, shared = np.array(errors).T
    total = (1 / own).sum()
    weights = 1 / own / total
    return Block((high, low), (float(weights @ speeds), 0.0), float(1 / total + weights @ shared))


def components(evidence: HostEvidence) -> Components:
    """Return the evidence's mixture, of a few normals."""
    now = evidence.machine
    return merge_components(Components(now.weights, now.means, now.covariances, np.zeros_like(now.covariances)))


def as_known(evidence: HostEvidence, guest_fs: str) -> Known:
    """Return it as a part of what plans know: of `pair_key(guest file system, pool)`.

    Runs under the whole load are strong evidence; where moves join pools it is moderate: nobody drew lots.
    """
    few = components(evidence)
    names = {pool: pair_key(guest_fs, pool) for pool in evidence.pools}
    posterior = Posterior(tuple(names.values()), few.weights, few.means, few.covariances, few.extras)
    numbers = tuple(frozenset(names[pool] for pool in pools) for pools in evidence.joined)
    strength = STRENGTHS[-1] if set(evidence.joined) == {evidence.measured} else STRENGTHS[-2]
    return Known(posterior, numbers, strength, 1, evidence.runs, len(evidence.numbers))
