"""manage.py changes_found: how soon changes are found, and how many of those found are none."""

from itertools import product
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandParser

from modelling.research.changes import MONTH, NEAR, WORLDS, ReleaseWorld, scaled, simulate, told_of_release

RELEASES = (1, 2, 4), (0, 4), (0.0, 0.05, 0.1)  # laboratories that took it, others, how far they differ
TRIALS = 1000


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
            true_alarms, alarms = len(tally.delays), len(tally.delays) + tally.false
            months = made.nights / MONTH * made.series / 200
            told = (
                f"{np.sum(np.array(tally.delays) <= 3) / tally.changes:.2f} | {np.median(tally.delays):.0f} | "
                f"{np.mean(np.array(tally.misplaced) <= NEAR):.2f}"
                if true_alarms
                else " | | "
            )
            cells = (
                f"{made.series} of {made.nights}: {made.name} | {tally.changes}",
                f"{true_alarms / tally.changes:.2f}" if tally.changes else "",
                told,
                f"{tally.false} | {100 * tally.false / max(alarms, 1):.1f} %",
                f"{tally.false / months:.2f} | {1000 * tally.seconds / tally.tests:.2f}",
            )
            self.stdout.write(f"| {' | '.join(cells)} |")
            self.stdout.flush()  # a row takes a minute
        self._tell_of_releases(seed, max(round(share * TRIALS), 1))

    def _tell_of_releases(self, seed: int, trials: int) -> None:
        self.stdout.write(
            "\n| took it | without it | laboratories differ by | told on average | within the interval | high / low |"
            "\n| ---: | ---: | ---: | ---: | ---: | ---: |"
        )
        for took, without, differ in product(*RELEASES):
            rng, world = np.random.default_rng(seed), ReleaseWorld(took, without, differ)
            middles, lows, highs = np.array([told_of_release(rng, world) for _ in range(trials)]).T
            within = np.mean((lows <= np.exp(world.effect)) & (np.exp(world.effect) <= highs))
            middle, width = np.exp(np.log(middles).mean()), np.median(highs / lows)
            cells = f"{took} | {without} | {100 * differ:.0f} % | {middle:.2f} | {within:.3f} | {width:.2f}"
            self.stdout.write(f"| {cells} |")
