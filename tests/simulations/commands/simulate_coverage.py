"""python -m tests.simulations simulate_coverage: whether intervals, probabilities and sentences hold what they say."""

import json
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandParser

from modelling.answers.knowledge import assumptions
from modelling.estimation.verdict import AVOID, USE
from tests.simulations.coverage import EFFECTS, KINDS, LABORATORIES, Tally, calibration, simulate, worlds


class Command(BaseCommand):
    help = (
        "Simulates laboratories whose truth is known, estimates as answers do, and prints coverage of both intervals, "
        "how often 'use' and 'avoid' come true, calibration of the probabilities, and what each way to choose loses."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--replications", type=int, default=12, help="Of each cell of the first table.")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--json", action="store_true", help="Print JSON in place of tables.")

    def handle(self, *args: Any, replications: int, seed: int, **options: Any) -> None:
        assumed = assumptions()
        rng = np.random.default_rng(seed)
        cells, everything = [], Tally()
        of_kind = {(kind, effects): Tally() for kind in KINDS for effects in EFFECTS}
        for world in worlds():
            tally = simulate(
                *(rng, world, replications),
                spread=assumed.spread,
                scales=assumed.scales,
                margin=assumed.margin,
                differ=assumed.differ,
            )
            mean, new = tally.coverage()
            cells.append({**world._asdict(), "mean": mean, "new": new})
            of_kind[world.kind, world.effects].add(tally)
            everything.add(tally)
        mean, new = everything.coverage()
        report = {
            "replications": replications,
            "seed": seed,
            "coverage": cells,
            "coverage_of_all": {"mean": mean, "new": new},
            "sentences": [_sentences(*key, tally) for key, tally in of_kind.items()],
            "best": calibration(everything.said_best, everything.was_best),
            "slower": calibration(everything.said_slower, everything.was_slower),
            "lost_percent": {way: 100 * float(np.mean(losses)) for way, losses in everything.lost.items()},
        }
        self.stdout.write(json.dumps(report, indent=1) if options["json"] else _tables(report))


def _sentences(kind: str, effects: float, tally: Tally) -> dict[str, Any]:
    """Return how often each sentence was said in a kind of world, and how often "use" and "avoid" came true."""
    row: dict[str, Any] = {"kind": kind, "effects": effects, "worlds": tally.kinds.total(), "kinds": dict(tally.kinds)}
    for word in (USE, AVOID):
        told, came_true = tally.told[word], tally.came_true[word]
        row[word] = {"count": len(told)}
        if told:
            row[word] |= {"said": float(np.mean(told)), "came_true": float(np.mean(came_true))}
    return row


def _tables(report: dict[str, Any]) -> str:
    lines = ["Coverage of the 95 % intervals, %: mean over laboratories / a new laboratory", ""]
    lines += ["kind of world  effects  tau " + "".join(f"{number:>4} laboratories" for number in LABORATORIES)]
    for place in range(0, len(report["coverage"]), len(LABORATORIES)):
        row = report["coverage"][place : place + len(LABORATORIES)]
        shares = "".join(f"{100 * cell['mean']:7.1f} /{100 * cell['new']:6.1f}  " for cell in row)
        lines.append(f"{row[0]['kind']:14} {row[0]['effects']:7} {row[0]['tau']:4} {shares}")
    overall = report["coverage_of_all"]
    lines += [f"{'all':27} {100 * overall['mean']:7.1f} /{100 * overall['new']:6.1f}"]
    lines += ["", "How often it was said, said with, came true, %", ""]
    lines += ["kind of world  effects  worlds    use                    avoid"]
    for row in report["sentences"]:
        words = "".join(_said(row[word]) for word in (USE, AVOID))
        lines.append(f"{row['kind']:14} {row['effects']:7} {row['worlds']:7} {words}")
    for name, title in (("best", "is the best"), ("slower", "is slower by the margin")):
        lines += ["", f"An entry {title}: said, came true, how often said"]
        lines += [f"{100 * foretold:6.1f} {100 * was:6.1f} {count:8}" for foretold, was, count in report[name]]
    lines += ["", "Lost on average against the best of the new laboratory, %"]
    lines += [f"{way:8} {lost:6.2f}" for way, lost in report["lost_percent"].items()]
    return "\n".join(lines)


def _said(told: dict[str, Any]) -> str:
    if not told["count"]:
        return f"{0:6}{'':17}"
    return f"{told['count']:6} {100 * told['said']:6.1f} {100 * told['came_true']:6.1f}   "
