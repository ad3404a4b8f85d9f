"""Compute placement plans, for other rooms."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from modelling.estimation import ranking
from modelling.evidence import names

from .content import ANY_LOAD, FleetError, Machine, Plan, Pool, Possible, Rules
from .gather import Measured, add_runs, load_knowledge
from .planning import plan
from .words import describe_gap, explanation, to_measure_words

__all__ = [
    "ANY_LOAD",
    "MODEL",
    "FleetError",
    "Machine",
    "Measured",
    "Plan",
    "Pool",
    "Possible",
    "Rules",
    "compute_plan",
    "plan_document",
]

MODEL = f"ranking {ranking.METHOD}"  # version of the model behind a plan


def compute_plan(
    machines: Sequence[Machine], pools: Sequence[Pool], rules: Rules, measured: Sequence[Measured] = ()
) -> Plan:
    """Return the plan by current answers and by runs on the pools. Raises FleetError."""
    workloads = sorted({load for machine in machines for load in machine.loads} - {ANY_LOAD})
    published = load_knowledge(workloads, sorted({machine.hypervisor for machine in machines}))
    knowledge, planned, runs = add_runs(published, machines, pools, measured)
    best = plan(planned, pools, knowledge, rules)
    return replace(best, measured=tuple(dict.fromkeys(counted.site for counted in runs)), counted=runs)


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON data, with each machine's explanation."""
    return {
        **{name: value for name, value in asdict(plan).items() if name not in ("advice", "to_measure")},
        "gap": plan.gap,
        "solved": describe_gap(plan),
        "to_measure": [
            {**asdict(comparison), "text": to_measure_words(comparison, names.names())}
            for comparison in plan.to_measure
        ],
        "machines": [
            {**asdict(advice), "is_move": advice.is_move, "explanation": explanation(advice)} for advice in plan.advice
        ],
    }
