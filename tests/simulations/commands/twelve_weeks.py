"""What twelve weeks of moving machines gain and harm, by fixed rules and plans that learn."""

import json
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser

from modelling.answers.estimate import assumptions
from modelling.evidence import names
from modelling.fleet.placement.content import FleetError, Rules
from modelling.fleet.placement.gather import load_knowledge
from modelling.fleet.placement.solver_output import on_stderr
from tests.simulations.placement import HYPERVISOR, in_common
from tests.simulations.weeks import Tally, simulate


class Command(BaseCommand):
    help = (
        "Simulates fleets of virtual machines over twelve weeks with drift, new machines and failures, and prints what "
        "each way to place them gains and harms: fixed rules, BASIL's, those of Storage DRS, and plans that learn."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--machines", type=int, default=200, help="Of a fleet, 25 to 1000; 200.")
        parser.add_argument("--worlds", type=int, default=10, help="Fleets, each with effects of its own; 10.")
        parser.add_argument(
            "--disks", type=float, default=0.7, help="Standard deviation of ln speed between two disks; 0.7, at most 3."
        )
        parser.add_argument(
            "--waiting",
            type=float,
            default=0.5,
            help="Share of a request's time on a pool of usual load that it waits for others; 0.5, at most 0.9.",
        )
        parser.add_argument("--runs", type=int, default=3, help="A pool and workload at most, on average; 3.")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--json", action="store_true", help="Print JSON in place of a table.")

    def handle(
        self, *args: Any, machines: int, worlds: int, disks: float, waiting: float, runs: int, seed: int, **options: Any
    ) -> None:
        for name, value, low, high in (
            ("machines", machines, 25, 1000),
            ("worlds", worlds, 1, 1000),
            ("disks", disks, 0, 3),
            ("waiting", waiting, 0, 0.9),
            ("runs", runs, 1, 100),
            ("seed", seed, 0, 2**63),
        ):
            if not low <= value <= high:
                raise CommandError(f"--{name} {value}: between {low} and {high}.")
        try:
            known = in_common(load_knowledge(names.names()["workload"], [HYPERVISOR]))
        except FleetError as error:
            raise CommandError(f"Under KVM {error}: manage.py load_evidence loads what is published.") from error
        rules = Rules(margin=assumptions().margin)
        with on_stderr():
            tallies = simulate(known, machines, worlds, rules, seed, disks=disks, waiting=waiting, runs=runs)
        report = {
            **{"machines": machines, "worlds": worlds, "disks": disks, "waiting": waiting, "runs": runs, "seed": seed},
            "workloads": sorted(known),
            "policies": [{"policy": policy, **_told(tally)} for policy, tally in tallies.items()],
        }
        self.stdout.write(json.dumps(report, indent=1) if options["json"] else _table(report))


def _told(tally: Tally) -> dict[str, Any]:
    """Return a policy's figures; the standard error is over worlds (None: of one world)."""
    gains, lives = np.array(tally.gains), tally.lives
    error = 100 * float(np.std(gains, ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else None
    return {
        "gain_percent": 100 * float(np.expm1(gains.mean())),
        "standard_error": error,
        "worst_percent": 100 * float(np.expm1(gains.min())),
        **{"machines": lives, "moves": tally.moves, "failed": tally.failed},
        **{"harmed": tally.harmed, "harmed_percent": 100 * tally.harmed / lives},
        **{"slowed": tally.slowed, "slowed_percent": 100 * tally.slowed / lives},
        **{"back": tally.back, "runs": tally.runs, "trials": tally.trials},
    }


def _table(report: dict[str, Any]) -> str:
    lines = [
        f"{report['worlds']} fleets of {report['machines']} machines over twelve weeks; disks differ by "
        f"{report['disks']:g}; of a request {100 * report['waiting']:g} % is waiting",
        f"workloads: {', '.join(report['workloads'])}",
        "",
        "policy          gain %   +-  worst  machines   moves failed  harmed     %  slowed     %  back  runs trials",
    ]
    for row in report["policies"]:
        error = "" if row["standard_error"] is None else f"{row['standard_error']:.1f}"
        lines.append(
            f"{row['policy']:14} {row['gain_percent']:7.1f} {error:>4} {row['worst_percent']:6.1f} "
            f"{row['machines']:>9} {row['moves']:>7} {row['failed']:>6} "
            f"{row['harmed']:>7} {row['harmed_percent']:5.2f} "
            f"{row['slowed']:>7} {row['slowed_percent']:5.2f} {row['back']:>5} {row['runs']:>5} {row['trials']:>6}"
        )
    return "\n".join(lines)
