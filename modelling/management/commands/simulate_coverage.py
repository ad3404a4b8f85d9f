"""manage.py simulate_coverage: whether intervals, probabilities and verdicts hold what they say."""

import json
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandParser

from modelling.answers.estimate import assumptions
from modelling.research.coverage import LABORATORIES, RUNS, TAUS, Tally, calibration, simulate


class Command(BaseCommand):
    help = (
        "Simulates laboratories whose truth is known, estimates as answers do, and prints coverage of both intervals, "
        "calibration of the probabilities, and what is lost by each way to choose."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--replications", type=int, default=500, help="Of each cell of the tables.")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--json", action="store_true", help="Print JSON in place of tables.")

    def handle(self, *args: Any, replications: int, seed: int, **options: Any) -> None:
        assumed = assumptions()
        scale = assumed.tau_scale("")
        rng = np.random.default_rng(seed)
        cells, everything = [], Tally()
        for tau in (None, *TAUS):
            for laboratories in LABORATORIES:
                for runs in RUNS:
                    taus = np.abs(rng.normal(0, scale, replications)) if tau is None else np.full(replications, tau)
                    tally = simulate(
                        *(rng, replications, laboratories, runs, taus),
                        spread=assumed.spread,
                        tau_scale=scale,
                        margin=assumed.margin,
                    )
                    mean, new = tally.coverage()
                    cells.append({"tau": tau, "laboratories": laboratories, "runs": runs, "mean": mean, "new": new})
                    if tau is None:
                        everything.add(tally)
        report = {
            "replications": replications,
            "seed": seed,
            "tau_scale": scale,
            "coverage": cells,
            "best": calibration(everything.said_best, everything.was_best),
            "slower": calibration(everything.said_slower, everything.was_slower),
            "lost_percent": {way: 100 * float(np.mean(losses)) for way, losses in everything.lost.items()},
        }
        self.stdout.write(json.dumps(report, indent=1) if options["json"] else _tables(report))


def _tables(report: dict[str, Any]) -> str:
    lines = ["Coverage of the 95 % intervals, %: mean over laboratories / a new laboratory", ""]
    for tau in (None, *TAUS):
        name = "tau from its prior" if tau is None else f"tau = {tau}"
        lines.append(f"{name:20}" + "".join(f"{runs:>4} runs     " for runs in RUNS))
        for laboratories in LABORATORIES:
            cells = [c for c in report["coverage"] if (c["tau"], c["laboratories"]) == (tau, laboratories)]
            shares = "".join(f"{100 * c['mean']:6.1f} /{100 * c['new']:6.1f} " for c in cells)
            lines.append(f"{laboratories:>3} laboratories    {shares}")
    for name, title in (("best", "is the best"), ("slower", "is slower by the margin")):
        lines += ["", f"An entry {title}: said, came true, how often said"]
        lines += [f"{100 * foretold:6.1f} {100 * was:6.1f} {count:8}" for foretold, was, count in report[name]]
    lines += ["", "Lost on average against the best of the new laboratory, %"]
    lines += [f"{way:8} {lost:6.2f}" for way, lost in report["lost_percent"].items()]
    return "\n".join(lines)
