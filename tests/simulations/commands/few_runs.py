"""python -m tests.simulations few_runs: whether a few runs on a machine decide as well as many."""

from itertools import product
from typing import Any

import numpy as np
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from modelling.estimation.hierarchy import published_scales
from modelling.own_lab.content import NO_DIFFERENCE, NOT_YET
from tests.simulations.machines import TROUBLES, simulate

SMALLEST = 2  # of which no simulated study published anything


class Command(BaseCommand):
    help = "Simulates machines whose truth is known, and prints what deciding run by run takes and loses."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--machines", type=int, default=200, help="Of each row.")
        parser.add_argument("--seed", type=int, default=1)

    def handle(self, *args: Any, machines: int, seed: int, **options: Any) -> None:
        self.stdout.write(
            "| choices | known | machine | runs | loss | wrong | said | either is fine | not decided | factorial |\n"
            "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
        )
        for size, laboratories in product((2, 4, 9), (0, 1)):
            for trouble in TROUBLES:
                if laboratories and (size == SMALLEST or trouble.alike is not None):
                    continue
                tally = simulate(
                    np.random.default_rng(seed),
                    size,
                    trouble,
                    machines,
                    scales=published_scales(),
                    margin=settings.KDB_MARGIN,
                    laboratories=laboratories,
                )
                kinds = np.array(tally.kinds)
                cells = (
                    f"{size} | {'one study' if laboratories else 'nothing'} | {trouble.name}",
                    f"{np.mean(tally.runs):.1f} | {np.mean(tally.losses):.1%} | {np.mean(tally.wrong):.1%}",
                    f"{np.mean(tally.told):.1%} | {np.mean(kinds == NO_DIFFERENCE):.0%}",
                    f"{np.mean(kinds == NOT_YET):.0%}",
                    f"{np.mean(tally.factorial):.1%}",
                )
                self.stdout.write(f"| {' | '.join(cells)} |")
