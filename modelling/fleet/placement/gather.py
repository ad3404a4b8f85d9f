"""Gather what plans rest on from the answers as they stand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kdb.units import THROUGHPUT
from modelling.answers.estimate import ranking_of
from modelling.estimation.verdict import STRENGTHS
from modelling.evidence import names
from modelling.evidence.question import Question
from modelling.here.selectors import on_pools
from modelling.models import Laboratory

from .content import FleetError, Machine, Pool
from .prospects import Knowledge, Known, known_of


@dataclass(frozen=True)
class Measured:
    """A site whose pools a laboratory may have measured. places : place of a run to its pool, by name"""

    site: str
    laboratory: Laboratory
    places: Mapping[str, str]


def with_runs(
    known: Knowledge, machines: Sequence[Machine], pools: Sequence[Pool], measured: Iterable[Measured]
) -> tuple[Knowledge, tuple[str, ...]]:
    """Return the knowledge with what runs on the pools say of loads and guests of the machines there, and the sites of
    which they say something."""
    sites: dict[str, None] = {}
    everything = {asked: tuple(parts) for asked, parts in known.items()}
    for one in measured:
        host_fs = {pool.name: pool.host_fs for pool in pools if pool.site == one.site}
        places = {place: pool for place, pool in one.places.items() if pool in host_fs}
        there = [machine for machine in machines if machine.pool in host_fs]
        asked = {(load, each.hypervisor, each.guest_fs) for each in there for load in each.shares}
        for workload, hypervisor, guest_fs in sorted(asked):
            question = Question("fs-pair", workload, hypervisor=hypervisor, metric=THROUGHPUT)
            told = on_pools(question, one.laboratory, one.site, guest_fs, host_fs, places)
            if told is not None:
                names = frozenset(told.posterior.treatments)
                sites[one.site] = None
                own = Known(told.posterior, (names,), STRENGTHS[-1], 1, told.runs)
                everything[workload, hypervisor] = (own, *everything.get((workload, hypervisor), ()))
    return everything, tuple(sites)


def knowledge(workloads: Iterable[str], hypervisors: Iterable[str]) -> Knowledge:
    """Return what the answers know of pairs by throughput, for these workloads on these hypervisors."""
    asked = [(workload, hypervisor) for workload in workloads for hypervisor in hypervisors]
    return {
        (workload, hypervisor): known_of(
            ranking_of(Question("fs-pair", workload, hypervisor=hypervisor, metric=THROUGHPUT))
        )
        for workload, hypervisor in asked
    }


def in_the_catalogue(machines: Iterable[Machine], pools: Iterable[Pool]) -> tuple[list[Machine], list[Pool]]:
    """Return machines and pools with slugs in place of names and aliases. Raises FleetError for unknown ones."""
    return (
        [
            replace(
                machine,
                guest_fs=_slug("file_system", machine.guest_fs, f"machine {machine.name!r}, guest_fs"),
                hypervisor=_slug("hypervisor", machine.hypervisor, f"machine {machine.name!r}, hypervisor"),
                shares={
                    _slug("workload", name, f"machine {machine.name!r}, shares"): share
                    for name, share in machine.shares.items()
                },
            )
            for machine in machines
        ],
        [replace(pool, host_fs=_slug("file_system", pool.host_fs, f"pool {pool.name!r}, host_fs")) for pool in pools],
    )


def _slug(kind: str, name: str, field: str) -> str:
    slug = names.slug_for(kind, name)
    if slug is None:
        raise FleetError(f"{field}: {name!r} is not known here; there are {', '.join(names.names()[kind])}")
    return slug
