"""manage.py changes_found: how soon changes are found, and how many of those found are none."""

from functools import partial
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandParser

from modelling.research.changes import MONTH, NEAR, WORLDS, duet_power, scaled, simulate

BLOCKS = (2, 4, 8)
TRIALS = 2000
DUET = partial(duet_power, shared=0.05, own=0.01, most_p=0.01)


class Command(BaseCommand):
    help = "Simulates series whose truth is known, and prints what is found, how soon, and what is found falsely."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--share", type=float, default=1.0, help="Of the series of each row: less is quicker.")
        parser.add_argument("--seed", type=int, default=1)

    def handle(self, *args: Any, share: float, seed: int, **options: Any) -> None:
        self.stdout.write(
            f"| series | changes | found | by the third further point | median delay | placed within {NEAR} | false | "
            "of all found | false a month for 200 series | ms a point |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
        )
        for world in WORLDS:
            made = scaled(world, share)
            tally = simulate(np.random.default_rng(seed), made)
            found, alarms = len(tally.delays), len(tally.delays) + tally.false
            months = made.nights / MONTH * made.series / 200
            told = (
                f"{np.sum(np.array(tally.delays) <= 3) / tally.changes:.2f} | {np.median(tally.delays):.0f} | "
                f"{np.mean(np.array(tally.misplaced) <= NEAR):.2f}"
                if found
                else " | | "
            )
            cells = (
                f"{made.series} of {made.nights}: {made.name} | {tally.changes}",
                f"{found / tally.changes:.2f}" if tally.changes else "",
                told,
                f"{tally.false} | {100 * tally.false / max(alarms, 1):.1f} %",
                f"{tally.false / months:.2f} | {1000 * tally.seconds / tally.tests:.2f}",
            )
            self.stdout.write(f"| {' | '.join(cells)} |")
            self.stdout.flush()  # a row takes a minute
        self.stdout.write(
            "\n| change | blocks | seen by pairs | by nights of their own |\n| ---: | ---: | ---: | ---: |"
        )
        for change in (0.02, 0.05, 0.1):
            for blocks in BLOCKS:
                rng = np.random.default_rng(seed)
                pairs, alone = DUET(rng, change, blocks=blocks, trials=TRIALS)
                self.stdout.write(f"| {100 * change:.0f} % | {blocks} | {pairs:.2f} | {alone:.2f} |")
