"""Gather the evidence for plans from current answers and from runs on the machines' own pools."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from modelling.own_lab.selectors import OnPools, Runs, load_of_machine, on_pools, sessions_on_pools

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
) -> tuple[Knowledge, tuple[Machine, ...], tuple[Counted, ...]]:
    """Add runs on the pools to what is known; return it with the machines, and the runs that were used.

    A machine whose own load was played on its pools does that load. measured : at most one of a site
    """
    everything = {question: tuple(parts) for question, parts in known.items()}
    planned = {machine.name: machine for machine in machines}
    counted: list[Counted] = []
    used: set[int] = set()
    for one in sorted(measured, key=lambda one: one.site):
        host_fs = {pool.name: pool.host_fs for pool in pools if pool.site == one.site}
        places = {place: pool for place, pool in one.places.items() if pool in host_fs}
        sessions = sessions_on_pools(Runs(one.laboratory, one.site, places))
        loads: dict[tuple[str, str], set[str]] = {}
        for machine in machines:
            if machine.pool in host_fs:
                if (own := load_of_machine(machine.name)) in sessions:
                    machine = planned[machine.name] = replace(machine, shares={own: 1.0}, others=())
                loads.setdefault((machine.guest_fs, machine.hypervisor), set()).update(machine.loads)
        for (guest_fs, hypervisor), asked in sorted(loads.items()):
            question = _question("", hypervisor)
            for load, part in on_pools(question, one.laboratory, guest_fs, sorted(asked), host_fs, sessions).items():
                here = _known_of_runs(part, guest_fs)
                everything[load, hypervisor] = (here, *everything.get((load, hypervisor), ()))
                used |= {*part.sittings}
        counted += [
            Counted(RUNS, number, one.site, runs_words(session.runs, load, names.names()))
            for load, session in sessions.items()
            if (number := session.session.pk) in used
        ]
    return everything, tuple(planned.values()), tuple(counted)


def _known_of_runs(part: OnPools, guest_fs: str) -> Known:
    """Return what runs say of pairs `pair_key(guest_fs, pool)`, as a mixture reduced to a few normals."""
    now = part.machine
    few = merge_components(Components(now.weights, now.means, now.covariances, np.zeros_like(now.covariances)))
    pairs = tuple(pair_key(guest_fs, pool) for pool in part.pools)
    compared = frozenset(pair_key(guest_fs, pool) for pool in part.measured)
    posterior = Posterior(pairs, few.weights, few.means, few.covariances, few.extras)
    strength = STRENGTHS[-1 if part.is_own else -2]
    return Known(posterior, (compared,), strength, 1, part.runs, is_borrowed=not part.is_own)


def _question(workload: str, hypervisor: str) -> Question:
    return Question("fs-pair", workload, hypervisor=hypervisor, metric=THROUGHPUT)


def _joint_posterior(hypervisor: str, keys: Sequence[str], shares: tuple[tuple[str, float], ...]) -> Posterior:
    """Return the published posterior of these pairs for a mix of workloads by shares."""
    where = {workload: where_of(_question(workload, hypervisor)) for workload, _ in shares}
    return joint_posterior(published_knowledge(with_native=False), AXES["fs-pair"], dict(shares), where)(keys)
