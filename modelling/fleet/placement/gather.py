"""Gather the evidence for plans from current answers and from runs on the machines' own pools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from kdb.pairs import pair_key
from kdb.units import THROUGHPUT
from modelling.answers.estimate import ranking_of
from modelling.answers.knowledge import published_knowledge, where_of
from modelling.estimation.bayes import Posterior
from modelling.estimation.mixes import joint_posterior
from modelling.estimation.value import Components, merge_components
from modelling.estimation.verdict import STRENGTHS
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.models import Laboratory
from modelling.own_lab.selectors import OnPools, Runs, on_pools, published_on

from .content import RUNS, Counted, Machine, Pool
from .expected_gain import Knowledge, Known, known_of
from .words import runs_words


@dataclass(frozen=True)
class Measured:
    """A site whose pools a laboratory may have measured. places : place of runs to the name of a pool"""

    site: str
    laboratory: Laboratory
    places: Mapping[str, str]


def load_knowledge(workloads: Iterable[str], hypervisors: Iterable[str]) -> Knowledge:
    """Return the answers' knowledge of pairs by throughput, for these workloads and hypervisors."""
    of_hypervisor = {hypervisor: cache(partial(_joint_posterior, hypervisor)) for hypervisor in hypervisors}
    return {
        (workload, hypervisor): known_of(ranking_of(_question(workload, hypervisor)), jointly)
        for workload in workloads
        for hypervisor, jointly in of_hypervisor.items()
    }


def add_runs(
    known: Knowledge, machines: Sequence[Machine], pools: Sequence[Pool], measured: Iterable[Measured]
) -> tuple[Knowledge, tuple[Counted, ...]]:
    """Return the knowledge extended by runs on the pools under loads of the machines, and these runs.

    measured : at most one of a site
    """
    everything = {question: tuple(parts) for question, parts in known.items()}
    counted: dict[int, Counted] = {}
    guests = sorted({machine.guest_fs for machine in machines})
    pairs = [pair_key(guest, host_fs) for guest in guests for host_fs in {pool.host_fs for pool in pools}]
    published = cache(lambda question: published_on(question, pairs))
    for one in sorted(measured, key=lambda one: one.site):
        host_fs = {pool.name: pool.host_fs for pool in pools if pool.site == one.site}
        runs = Runs(one.laboratory, one.site, {place: pool for place, pool in one.places.items() if pool in host_fs})
        there = [machine for machine in machines if machine.pool in host_fs]
        loads = {(workload, machine.hypervisor) for machine in there for workload in machine.shares}
        for workload, hypervisor in sorted(loads):
            question = _question(workload, hypervisor)
            for guest_fs, part in zip(
                guests, on_pools(question, published(question), guests, host_fs, runs), strict=True
            ):
                is_asked = any(
                    (machine.guest_fs, machine.hypervisor) == (guest_fs, hypervisor) and workload in machine.shares
                    for machine in there
                )
                if is_asked and part.sitting is not None:
                    text = runs_words(part.runs, workload, names.names())
                    counted[part.sitting] = Counted(RUNS, part.sitting, one.site, text)
                    own = _known_of_runs(part, guest_fs, tuple(host_fs))
                    everything[workload, hypervisor] = (own, *everything.get((workload, hypervisor), ()))
    return everything, tuple(counted.values())


def _known_of_runs(part: OnPools, guest_fs: str, pools: Sequence[str]) -> Known:
    """Return what runs say of pairs `pair_key(guest_fs, pool)`, as a mixture reduced to a few normals."""
    now = part.machine
    few = merge_components(Components(now.weights, now.means, now.covariances, np.zeros_like(now.covariances)))
    pairs = tuple(pair_key(guest_fs, pool) for pool in pools)
    compared = frozenset(pair_key(guest_fs, pool) for pool in part.measured)
    posterior = Posterior(pairs, few.weights, few.means, few.covariances, few.extras)
    return Known(posterior, (compared,) if len(compared) > 1 else (), STRENGTHS[-1], 1, part.runs)


def _question(workload: str, hypervisor: str) -> Question:
    return Question("fs-pair", workload, hypervisor=hypervisor, metric=THROUGHPUT)


def _joint_posterior(hypervisor: str, keys: Sequence[str], shares: tuple[tuple[str, float], ...]) -> Posterior:
    """Return the published posterior of these pairs for a mix of workloads by shares."""
    where = {workload: where_of(_question(workload, hypervisor)) for workload, _ in shares}
    return joint_posterior(published_knowledge(with_native=False), AXES["fs-pair"], dict(shares), where)(keys)
