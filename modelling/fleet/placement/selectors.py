"""Placement for other apps: a plan for machines and pools, however they were found."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from modelling.estimation import ranking
from modelling.evidence import names

from .content import FleetError, Machine, Plan, Pool, Rules
from .gather import Measured, in_the_catalogue, knowledge, with_runs
from .planning import check, plan
from .solver_output import on_stderr
from .words import asked_for, explained, solved

__all__ = ["MODEL", "FleetError", "Machine", "Measured", "Plan", "Pool", "Rules", "document", "planned"]

MODEL = f"ranking {ranking.METHOD}"  # the version of what a plan rests on


def planned(
    machines: Sequence[Machine], pools: Sequence[Pool], rules: Rules, measured: Sequence[Measured] = ()
) -> Plan:
    """Return the plan from the answers as they stand, and from runs on the pools. Raises FleetError."""
    check(machines, pools, rules)
    machines, pools = in_the_catalogue(machines, pools)
    workloads = sorted({workload for machine in machines for workload in machine.shares})
    known = knowledge(workloads, sorted({machine.hypervisor for machine in machines}))
    known, sites = with_runs(known, machines, pools, measured)
    with on_stderr():
        return replace(plan(machines, pools, known, rules), measured=sites)


def document(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON, with each machine's explanation."""
    return {
        **{name: value for name, value in asdict(plan).items() if name not in ("advice", "to_measure")},
        "gap": plan.gap,
        "solved": solved(plan),
        "to_measure": [
            {**asdict(comparison), "text": asked_for(comparison, names.names())} for comparison in plan.to_measure
        ],
        "machines": [
            {**asdict(advice), "is_move": advice.is_move, "explanation": explained(advice)} for advice in plan.advice
        ],
    }
