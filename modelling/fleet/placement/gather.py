"""Gather what plans rest on from the answers as they stand."""

from collections.abc import Iterable
from dataclasses import replace

from kdb.units import THROUGHPUT
from modelling.answers.estimate import ranking_of
from modelling.evidence import names
from modelling.evidence.question import Question

from .content import FleetError, Machine, Pool
from .prospects import Knowledge, known_of


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
