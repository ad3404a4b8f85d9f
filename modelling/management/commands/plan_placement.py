"""manage.py plan_placement: which machines of a file to move to which storage pool, and why."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from modelling.evidence import counts, names
from modelling.placement.content import FleetError, Plan
from modelling.placement.fleet_file import MOST_BYTES, read_fleet
from modelling.placement.gather import in_the_catalogue, knowledge
from modelling.placement.planning import check, plan
from modelling.placement.solver_output import on_stderr
from modelling.placement.words import asked_for, explained, solved


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
            machines, pools = in_the_catalogue(machines, pools)
        except (OSError, FleetError) as error:
            raise CommandError(f"{file}: {error}") from error
        workloads = sorted({workload for machine in machines for workload in machine.shares})
        known = knowledge(workloads, sorted({machine.hypervisor for machine in machines}))
        with on_stderr():
            found = plan(machines, pools, known, rules)
        self.stdout.write(json.dumps(_document(found), indent=1) if options["json"] else _sentences(found))


def _document(found: Plan) -> dict[str, Any]:
    return {
        "revision": counts.revision(),
        **{name: value for name, value in asdict(found).items() if name != "advice"},
        "gap": found.gap,
        "machines": [{**asdict(each), "explanation": explained(each)} for each in found.advice],
    }


def _sentences(found: Plan) -> str:
    moves = [line for each in found.moves for line in (each.machine, *(f"  {said}" for said in explained(each)))]
    stays = [f"{each.machine}: {' '.join(explained(each))}" for each in found.advice if not each.is_move]
    measure = [asked_for(each, names.names()) for each in found.to_measure]
    lines = [f"{len(found.moves)} of {len(found.advice)} machines move. {solved(found)}"]
    for title, rows in (("Move:", moves), ("Stay:", stays), ("To measure:", measure)):
        lines += ["", title, *(f"  {row}" for row in rows)] if rows else []
    return "\n".join(lines)
