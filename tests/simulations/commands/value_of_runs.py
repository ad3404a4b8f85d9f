"""python -m tests.simulations value_of_runs: whether runs on a new machine gain what answers promise of them."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser

from modelling.answers.estimate import REPETITIONS
from modelling.answers.knowledge import assumptions
from tests.simulations.runs import KINDS, LABORATORIES, MODEL, WORLDS, Promise, simulate

AS_OFTEN = 5  # worlds drawn from the model, for one of each other kind
OTHERS = "all but the first together"


class Command(BaseCommand):
    help = (
        "Simulates laboratories and machines whose truth is known, and prints what sets of runs promise to gain beside "
        "what they gained."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--replications", type=int, default=40, help="Worlds of each number of laboratories.")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--json", action="store_true", help="Print JSON in place of a table.")

    def handle(self, *args: Any, replications: int, seed: int, **options: Any) -> None:
        if not 2 <= replications <= 100_000:
            raise CommandError(f"--replications {replications}: between 2 and 100,000.")
        assumed = assumptions()
        others = {kind: Promise() for kind in KINDS}
        rows = []
        for world in WORLDS:
            promises = simulate(
                np.random.default_rng(seed),
                world,
                replications * (AS_OFTEN if world is MODEL else 1),
                variation=assumed.spread.variation,
                repetitions=REPETITIONS,
                scales=assumed.scales,
            )
            rows += _rows(world.name, promises)
            if world is not MODEL:
                for kind, promise in promises.items():
                    others[kind].add(promise)
        rows += _rows(OTHERS, others)
        report = {"replications": replications, "laboratories": LABORATORIES, "seed": seed, "rows": rows}
        self.stdout.write(json.dumps(report, indent=1) if options["json"] else _table(rows))


def _rows(world: str, promises: Mapping[str, Promise]) -> list[dict[str, Any]]:
    return [
        {
            "world": world,
            "kind": kind,
            "promised_percent": 100 * float(np.expm1(np.mean(promise.promised))),
            "gained_percent": 100 * float(np.expm1(np.mean(promise.gained))),
            "ratio": promise.ratio(),
            "standard_error": promise.error(),
        }
        for kind, promise in promises.items()
    ]


def _table(rows: list[dict[str, Any]]) -> str:
    lines = ["Worlds                             sets of runs    promised %  gained %  ratio    +-"]
    lines += [
        f"{row['world']:34} {row['kind']:15} {row['promised_percent']:10.1f} {row['gained_percent']:9.1f} "
        f"{row['ratio']:6.2f} {row['standard_error']:5.2f}"
        for row in rows
    ]
    return "\n".join(lines)
