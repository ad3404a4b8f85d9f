"""What plans rest on, from the answers as they stand."""

from collections.abc import Iterable

from kdb.units import THROUGHPUT
from modelling.answers.selectors import ranking_of
from modelling.evidence.question import Question

from .prospects import Knowledge, known_of


def knowledge(workloads: Iterable[str], hypervisors: Iterable[str]) -> Knowledge:
    """What the answers know of pairs of file systems by throughput, for these workloads on these hypervisors."""
    asked = [(workload, hypervisor) for workload in workloads for hypervisor in hypervisors]
    return {
        (workload, hypervisor): known_of(
            ranking_of(Question("fs-pair", workload, hypervisor=hypervisor, metric=THROUGHPUT))
        )
        for workload, hypervisor in asked
    }
