"""python -m tests.simulations few_runs: whether a few runs on a machine decide as well as many."""

from typing import Any

import numpy as np
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from modelling.estimation.hierarchy import published_scales
from modelling.estimation.machine import LOSS
from tests.simulations.machines import FACTORIAL, TROUBLES, simulate

SIZES = (4, 9)


class Command(BaseCommand):
    help = "Simulates machines whose truth is known, and prints what deciding run by run takes and loses."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--machines", type=int, default=200, help="Of each row.")
        parser.add_argument("--seed", type=int, default=1)

    def handle(self, *args: Any, machines: int, seed: int, **options: Any) -> None:
        self.stdout.write(
            "| choices | machine | runs | of | loss | at most 2 % | as good | published alone | factorial |\n"
            "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
        )
        for size in SIZES:
            for trouble in TROUBLES:
                rng = np.random.default_rng(seed)
                tally = simulate(rng, size, trouble, machines, scales=published_scales(), margin=settings.KDB_MARGIN)
                losses = np.array(tally.losses)
                cells = (
                    f"{size} | {trouble.name} | {np.mean(tally.runs):.1f} | {FACTORIAL * size}",
                    f"{100 * losses.mean():.1f} % | {100 * np.mean(losses <= LOSS):.0f} %",
                    f"{100 * np.mean(tally.same):.0f} % | {100 * np.mean(tally.published):.1f} %",
                    f"{100 * np.mean(tally.factorial):.1f} %",
                )
                self.stdout.write(f"| {' | '.join(cells)} |")
