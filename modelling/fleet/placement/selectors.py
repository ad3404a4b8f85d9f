"""Placement for other apps: a plan for machines and pools, however they were found."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.conf import settings

from experiments.laboratory.benchmarks.engines import WORKLOADS
from modelling.estimation import ranking
from modelling.evidence import names

from .content import RUNS, FleetError, Machine, Plan, Pool, Rules
from .gather import EvidenceGatherer, Measured, knowledge, outcomes_with_slugs, with_slugs
from .host_evidence import Outcome
from .planning import check, plan
from .proposals import proposals
from .solver_output import on_stderr
from .words import explanation, proposal_words, solved, to_measure_words

__all__ = [
    "MODEL",
    "RUNS",
    "FleetError",
    "Machine",
    "Measured",
    "Outcome",
    "Plan",
    "Pool",
    "Rules",
    "document",
    "planned",
]

MODEL = f"ranking {ranking.METHOD}"  # the version of what a plan rests on


def planned(
    machines: Sequence[Machine],
    pools: Sequence[Pool],
    rules: Rules,
    measured: Sequence[Measured] = (),
    outcomes: Sequence[Outcome] = (),
    watched: Collection[tuple[str, str]] = (),
) -> Plan:
    """Return the plan from the answers as they stand, from runs on the pools and from what came of earlier moves.

    watched : pools between which a disk moved whose outcome is still to come. Raises FleetError.
    """
    check(machines, pools, rules)
    machines, pools = with_slugs(machines, pools)
    workloads = sorted({workload for machine in machines for workload in machine.shares})
    known = knowledge(workloads, sorted({machine.hypervisor for machine in machines}))
    gatherer = EvidenceGatherer(machines, pools, measured, outcomes_with_slugs(outcomes))
    known, runs = gatherer.with_runs(known)
    newest_of_hosts, moves = gatherer.with_moves()
    with on_stderr():
        best = plan(machines, pools, known, rules, newest_of_hosts)
    lacking = proposals(
        machines,
        pools,
        {advice.machine: advice for advice in best.advice},
        gatherer.of,
        rules,
        runnable=WORKLOADS,
        watched=watched,
        least=settings.KDB_LEAST_GAIN,
    )
    sites = tuple(dict.fromkeys(counted.site for counted in runs))
    return replace(best, measured=sites, counted=(*runs, *moves), proposals=lacking)


def document(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON, with each machine's explanation."""
    return {
        **{name: value for name, value in asdict(plan).items() if name not in ("advice", "to_measure", "proposals")},
        "gap": plan.gap,
        "solved": solved(plan),
        "to_measure": [
            {**asdict(comparison), "text": to_measure_words(comparison, names.names())}
            for comparison in plan.to_measure
        ],
        "proposals": [
            {**asdict(proposal), "text": proposal_words(proposal, names.names())} for proposal in plan.proposals
        ],
        "machines": [
            {**asdict(advice), "is_move": advice.is_move, "explanation": explanation(advice)} for advice in plan.advice
        ],
    }
