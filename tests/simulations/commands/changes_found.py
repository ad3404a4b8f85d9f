"""python -m tests.simulations changes_found: how soon changes are suspected and told, and how often falsely."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandParser

from tests.simulations.changes import (
    DRIFT,
    STEP,
    TROUBLES,
    WORLDS,
    ReleaseWorld,
    World,
    scaled,
    simulate,
    told_of_release,
)

RELEASES = (1, 2, 4), (0, 4), (0.0, 0.05, 0.1)  # laboratories that took it, others, how far they differ
TRIALS = 1000
POWER = 0.85


class Command(BaseCommand):
    help = "Simulates series whose truth is known, and prints what is found, how soon, and what is found falsely."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--share", type=float, default=1.0, help="Of the series of each row: less is quicker.")
        parser.add_argument("--seed", type=int, default=1)

    def handle(self, *args: Any, share: float, seed: int, **options: Any) -> None:
        self.stdout.write(
            "| series | autocorrelation | suspected | told | nights until 0.85 are suspected | until told | "
            "false suspicions a month for 200 series | falsely told | drifts |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
        )
        for world in WORLDS:
            made = scaled(world, share)
            tally = simulate(np.random.default_rng(seed), made)
            has_step = made.kind == STEP
            cells = (
                f"{made.series} of {made.nights}: {_name(made)} | {made.autocorrelation}",
                *(f"{len(nights) / made.series:.2f}" * has_step for nights in (tally.suspected, tally.told)),
                *(_nights(nights, made.series) * has_step for nights in (tally.suspected, tally.told)),
                *(f"{tally.a_month(count):.2f}" for count in (tally.false_suspicions, tally.falsely_told)),
                f"{tally.drifting / made.series:.2f}" * (made.kind == DRIFT),
            )
            self.stdout.write(f"| {' | '.join(cells)} |")
            self.stdout.flush()  # a row takes seconds
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


def _name(world: World) -> str:
    """Return what becomes of a world's series."""
    more = {DRIFT: f" of {100 * world.rate:.1f} % a night from night {world.begins} on"}
    more |= {TROUBLES: f" within {world.longest} nights, of 10 to 33 %"}
    return f"{world.kind}{more.get(world.kind, '')}{', heavy tails' * world.heavy}"


def _nights(nights: Sequence[int], series: int) -> str:
    """Return the nights after which POWER of all series had it; never: where too few had."""
    needed = int(np.ceil(POWER * series))
    return str(sorted(nights)[needed - 1]) if len(nights) >= needed else "never"
