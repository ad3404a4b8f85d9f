"""manage.py plan_placement: plan moves of the machines of a file between its storage pools."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from modelling.evidence import counts, names
from modelling.fleet.placement.content import FleetError, Plan
from modelling.fleet.placement.fleet_file import MOST_BYTES, read_fleet
from modelling.fleet.placement.gather import load_knowledge, with_slugs
from modelling.fleet.placement.planning import check, plan
from modelling.fleet.placement.solver_output import on_stderr
from modelling.fleet.placement.words import describe_gap, explanation, to_measure_words


class Command(BaseCommand):
    help = (
        "Plans for the machines and pools of a JSON file (docs/placement.md) which to move, from the answers as they "
        "stand. Nothing is moved. Another file with other pools, pins or rules is another plan."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FLEET.json")
        parser.add_argument("--json", action="store_true", help="Print JSON in place of sentences.")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        try:
            with Path(file).open("rb") as opened:
                machines, pools, rules = read_fleet(opened.read(MOST_BYTES + 1))
            check(machines, pools, rules)
            machines, pools = with_slugs(machines, pools)
        except (OSError, FleetError) as error:
            raise CommandError(f"{file}: {error}") from error
        workloads = sorted({workload for machine in machines for workload in machine.shares})
        known = load_knowledge(workloads, sorted({machine.hypervisor for machine in machines}))
        with on_stderr():
            planned = plan(machines, pools, known, rules)
        self.stdout.write(json.dumps(_document(planned), indent=1) if options["json"] else _sentences(planned))


def _document(plan: Plan) -> dict[str, Any]:
    return {
        "revision": counts.revision(),
        **{name: value for name, value in asdict(plan).items() if name != "advice"},
        "gap": plan.gap,
        "machines": [{**asdict(advice), "explanation": explanation(advice)} for advice in plan.advice],
    }


def _sentences(plan: Plan) -> str:
    moves = [
        line
        for advice in plan.moves
        for line in (advice.machine, *(f"  {sentence}" for sentence in explanation(advice)))
    ]
    stays = [f"{advice.machine}: {' '.join(explanation(advice))}" for advice in plan.advice if not advice.is_move]
    measure = [to_measure_words(comparison, names.names()) for comparison in plan.to_measure]
    lines = [f"{len(plan.moves)} of {len(plan.advice)} machines move. {describe_gap(plan)}"]
    for title, rows in (("Move:", moves), ("Stay:", stays), ("To measure:", measure)):
        lines += ["", title, *(f"  {row}" for row in rows)] if rows else []
    return "\n".join(lines)
