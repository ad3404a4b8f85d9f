"""python -m tests.simulations steady_part: how often the steady part of a run, and its cache, are told wrong."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from tests.simulations.curves import KINDS, simulate


class Command(BaseCommand):
    help = "Simulates runs whose caches are known, and prints how often what is told of them is wrong."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--runs", type=int, default=500, help="Of each row.")
        parser.add_argument("--intervals", type=int, default=30)

    def handle(self, *args: Any, runs: int, intervals: int, **options: Any) -> None:
        self.stdout.write(
            "| the run | cache told, none there | cache not told | its GiB off | rate off | mean of all off |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: |"
        )
        for kind in KINDS:
            tally = simulate(kind, runs, intervals)
            columns = (tally.told, tally.missed, tally.amount_off, tally.rate_off, tally.mean_off)
            cells = [f"{sum(column) / len(column):.1%}" if column else "" for column in columns]
            self.stdout.write(f"| {kind} | {' | '.join(cells)} |")
