"""Combine the evidence of runs and earlier moves on the pools of one host, for one load. No Django.

Runs under a workload give a mixture of normals of the pools' ln speed (`machine.Machine`); that of a load is their sum
by its shares (`machine.mix_machines`). The outcomes of moves between two pools are one block of two, the disks there
and the disks here, with an error of its own. For one move

    ln speed[moved] = theta[there] - theta[here] + e + f,    variances v + 2 s² of e and 2 (a² months + d²) of f

where v is that of the comparison; s that of a week, for what all of it has in common; a the drift of pools; d = 0 for
the moved disk under the load that it had then, else as for different choices. Several moves share f, so that it does
not shrink with their number. One side in twenty is taken to be disturbed, as for runs.
Source: docs/models/placement.md, "What came of moves here".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kdb.pairs import pair_key
from modelling.estimation import machine
from modelling.estimation.bayes import Posterior
from modelling.estimation.machine import ALIKE, Comparison, Machine
from modelling.estimation.verdict import STRENGTHS

from .expected_gain import Known

WEEK = 0.07  # standard deviation of ln speed that a whole week has in common
DRIFT = 0.05  # standard deviation by which ln speed of a pool changes in a month, as in the simulations
MONTH = 30.0  # days
LIKE = 0.3  # largest distance of similar loads: 70 and 30 % of two workloads are like the first alone


@dataclass(frozen=True)
class Outcome:
    """The outcome of one move, on the same load before and after.

    number : of the move; machine : its name in the fleet; guest_fs, shares : its load then
    here, there : pools before and after; speed : ln(speed after / before)
    variance : of speed, from the comparison alone; days : since the move
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
    """The guest file system of a machine, and its workloads by shares."""

    guest_fs: str
    shares: Mapping[str, float]


class HostEvidence(NamedTuple):
    """The evidence on n pools for one load: a mixture of normals of their ln speed.

    measured : pools with runs under every workload of the load
    runs : number of runs used; numbers : of the moves used
    """

    pools: tuple[str, ...]
    machine: Machine
    measured: frozenset[str]
    runs: int
    numbers: tuple[int, ...] = ()
    joined: tuple[frozenset[str], ...] = ()  # sets of pools connected by runs or moves


def evidence_of_runs(
    parts: Sequence[tuple[float, Machine]], pools: Sequence[str], measured: Iterable[str], runs: int
) -> HostEvidence:
    """Return the evidence on a load before any move. parts : share of each workload, and the pools under it"""
    total = sum(share for share, _ in parts)
    known = machine.mix_machines([one for _, one in parts], [share / total for share, _ in parts])
    of = frozenset(measured)
    return HostEvidence(tuple(pools), known, of, runs, (), (of,) if len(of) > 1 else ())


def add_moves(evidence: HostEvidence, outcomes: Iterable[Outcome], load: Load, name: str = "") -> HostEvidence:
    """Return the evidence updated with those of the moves that had a similar load. name : of the machine"""
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
    compared = [comparison(evidence.pools, *key, pair_outcomes) for key, pair_outcomes in between.items()]
    known = machine.update(evidence.machine, compared)
    return evidence._replace(machine=known, numbers=tuple(numbers), joined=tuple(joined))


def distance(some: Mapping[str, float], others: Mapping[str, float]) -> float:
    """Return the total variation distance of two loads, 0 to 1.

    Shares in any unit, with sums above 0.
    """
    one, two = sum(some.values()), sum(others.values())
    shares = ((some.get(name, 0.0) / one, others.get(name, 0.0) / two) for name in {*some, *others})
    return round(sum(abs(a - b) for a, b in shares) / 2, 9)


def error(variance: float, days: float, *, is_itself: bool) -> tuple[float, float]:
    """Return the variances of either side of an outcome: its own, and the one shared with moves between the same pools.

    variance : of the comparison; days : since the move
    """
    return variance / 2 + WEEK**2, DRIFT**2 * days / MONTH + (0.0 if is_itself else ALIKE**2)


def comparison(pools: Sequence[str], low: int, high: int, is_itself: bool, outcomes: Sequence[Outcome]) -> Comparison:
    """Return the outcomes of moves between two pools, either way, as one comparison. low, high : places of the pools"""
    speeds = np.array([outcome.speed if outcome.there == pools[high] else -outcome.speed for outcome in outcomes])
    errors = [error(outcome.variance, outcome.days, is_itself=is_itself) for outcome in outcomes]
    own, shared = np.array(errors).T
    total = (1 / own).sum()
    weights = 1 / own / total
    return Comparison((high, low), (float(weights @ speeds), 0.0), float(1 / total + weights @ shared))


def as_known(evidence: HostEvidence, guest_fs: str) -> Known:
    """Return the evidence as knowledge of pairs `pair_key(guest_fs, pool)`.

    Runs under the whole load are strong evidence; moves are moderate, because machines were not chosen at random.
    """
    few = evidence.machine.components()
    names = {pool: pair_key(guest_fs, pool) for pool in evidence.pools}
    posterior = Posterior(tuple(names.values()), few.weights, few.means, few.covariances, few.extras)
    numbers = tuple(frozenset(names[pool] for pool in pools) for pools in evidence.joined)
    strength = STRENGTHS[-1] if set(evidence.joined) == {evidence.measured} else STRENGTHS[-2]
    return Known(posterior, numbers, strength, 1, evidence.runs, len(evidence.numbers))
