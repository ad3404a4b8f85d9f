"""Compute placement plans, for other rooms."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.conf import settings

from experiments.laboratory.benchmarks.engines import WORKLOADS
from modelling.estimation import ranking
from modelling.evidence import names

from .content import RUNS, FleetError, Machine, Plan, Pool, Rules
from .gather import EvidenceGatherer, Measured, load_knowledge, outcomes_with_slugs, with_slugs
from .host_evidence import Outcome
from .planning import check, plan
from .proposals import proposals
from .solver_output import on_stderr
from .words import describe_gap, explanation, proposal_words, to_measure_words

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
    "compute_plan",
    "plan_document",
]

MODEL = f"ranking {ranking.METHOD}"  # version of the model behind a plan


def compute_plan(
    machines: Sequence[Machine],
    pools: Sequence[Pool],
    rules: Rules,
    measured: Sequence[Measured] = (),
    outcomes: Sequence[Outcome] = (),
    watched: Collection[tuple[str, str]] = (),
) -> Plan:
    """Return the plan by current answers, runs on the pools and outcomes of earlier moves. Raises FleetError.

    watched : pools between which a move is still watched
    """
    check(machines, pools, rules)
    machines, pools = with_slugs(machines, pools)
    workloads = sorted({workload for machine in machines for workload in machine.shares})
    knowledge = load_knowledge(workloads, sorted({machine.hypervisor for machine in machines}))
    gatherer = EvidenceGatherer(machines, pools, measured, outcomes_with_slugs(outcomes))
    knowledge, runs = gatherer.with_runs(knowledge)
    newest_of_hosts, moves = gatherer.with_moves()
    with on_stderr():
        best = plan(machines, pools, knowledge, rules, newest_of_hosts)
    lacking = proposals(
        machines,
        pools,
        {advice.machine: advice for advice in best.advice},
        gatherer.evidence_of,
        rules,
        runnable=WORKLOADS,
        watched=watched,
        least=settings.KDB_LEAST_GAIN,
    )
    sites = tuple(dict.fromkeys(counted.site for counted in runs))
    return replace(best, measured=sites, counted=(*runs, *moves), proposals=lacking)


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON data, with each machine's explanation."""
    return {
        **{name: value for name, value in asdict(plan).items() if name not in ("advice", "to_measure", "proposals")},
        "gap": plan.gap,
        "solved": describe_gap(plan),
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
