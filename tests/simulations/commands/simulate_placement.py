"""What moving machines between pools gains and harms, by eight policies."""

import json
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser

from modelling.answers.estimate import assumptions
from modelling.evidence import names
from modelling.fleet.placement.content import FleetError, Rules
from modelling.fleet.placement.gather import load_knowledge
from tests.simulations.placement import HYPERVISOR, OF_ALL_LOADS, ORACLE, PERIODS, Outcome, in_common, simulate

REPETITIONS = 3  # of a further laboratory, of each pair
LEAST, MOST = 10, 10_000  # machines


class Command(BaseCommand):
    help = (
        "Simulates fleets of virtual machines whose true throughput is drawn from what the answers foretell for pairs "
        "of file systems under KVM, and prints what each policy of moving them gains and harms."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--machines", type=int, default=1000, help=f"Of a fleet, {LEAST} to {MOST}; 1000.")
        parser.add_argument(
            "--worlds", type=int, help="Fleets, each with effects of its own; 10, or fewer where machines are many."
        )
        parser.add_argument(
            "--laboratories",
            type=int,
            default=0,
            help="That measure every pair before anything is decided, beside the evidence there is; 0.",
        )
        parser.add_argument(
            "--disks",
            type=float,
            default=0.0,
            help="Standard deviation of ln throughput by which pools of one host file system differ; 0, at most 3.",
        )
        parser.add_argument(
            "--runs",
            type=int,
            default=3,
            help="That `measured` makes at most on each pool under each workload, on average over the pools; 3.",
        )
        parser.add_argument(
            "--unknown", type=float, default=0.0, help="Share of machines whose load is none of the workloads; 0."
        )
        parser.add_argument(
            "--common",
            type=float,
            default=OF_ALL_LOADS,
            help=f"Share of the variance between disks that is the same under every load; {OF_ALL_LOADS:g}.",
        )
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--json", action="store_true", help="Print JSON in place of a table.")

    def handle(
        self,
        *args: Any,
        machines: int,
        worlds: int | None,
        laboratories: int,
        disks: float,
        runs: int,
        unknown: float,
        common: float,
        seed: int,
        **options: Any,
    ) -> None:
        if worlds is None:
            worlds = min(10, max(1, 10_000 // max(machines, 1)))
        for name, value, low, high in (
            ("machines", machines, LEAST, MOST),
            ("worlds", worlds, 1, 1000),
            ("laboratories", laboratories, 0, 100),
            ("disks", disks, 0, 3),
            ("runs", runs, 1, 100),
            ("unknown", unknown, 0, 1),
            ("common", common, 0, 1),
            ("seed", seed, 0, 2**63),
        ):
            if not low <= value <= high:
                raise CommandError(f"--{name} {value}: between {low} and {high}.")
        assumed = assumptions()
        rules = Rules(margin=assumed.margin)
        answered = load_knowledge(names.names()["workload"], [HYPERVISOR])
        try:
            known = in_common(answered)
        except FleetError as error:
            raise CommandError(f"Under KVM {error}: manage.py load_evidence loads what is published.") from error
        noise = assumed.spread.variation**2 / REPETITIONS
        outcomes = simulate(known, machines, worlds, laboratories, noise, rules, seed, disks, runs, unknown, common)
        decided = (f"{policy} {outcome.seconds:.1f} s" for policy, outcome in outcomes.items())
        self.stderr.write(f"time to decide: {', '.join(decided)}")  # beside the report, which the seed alone decides
        report = {
            "machines": machines,
            "worlds": worlds,
            "laboratories": laboratories,
            "disks": disks,
            "unknown": unknown,
            "seed": seed,
            "periods": PERIODS,
            "workloads": sorted(known),
            "pairs": sorted(next(iter(known.values())).posterior.treatments),
            "left_out": sorted(load for (load, _), parts in answered.items() if parts and load not in known),
            "policies": [
                {"policy": policy, **_told(outcome, outcomes[ORACLE])} for policy, outcome in outcomes.items()
            ],
        }
        self.stdout.write(json.dumps(report, indent=1) if options["json"] else _table(report))


def _told(outcome: Outcome, oracle: Outcome) -> dict[str, Any]:
    """Return a policy's figures, with standard errors over worlds (None: of one world).

    gain_percent : of throughput against never moving, geometric mean over all
    """
    gains, best = np.array(outcome.gains), np.array(oracle.gains)
    mean, most = float(gains.mean()), float(best.mean())
    share = mean / most if most > 0 else None
    return {
        "gain_percent": 100 * float(np.expm1(mean)),
        "standard_error": _error(gains),
        "of_oracle_percent": None if share is None else 100 * share,
        "of_oracle_error": None if share is None else _error((gains - share * best) / most),  # of a ratio of means
        "machines": outcome.lives,
        "moved_again": outcome.again,
        "moves": outcome.moves,
        "harmed": outcome.harmed,
        "harmed_percent": 100 * outcome.harmed / outcome.lives,
        "harmed_error": _error(np.array(outcome.harms)),
        "runs": outcome.runs,
        "bytes_copied": round(outcome.bytes_copied),
        "gap_percent": None if outcome.gap is None else 100 * outcome.gap,
    }


def _error(of_worlds: np.ndarray) -> float | None:
    """Return the standard error of the mean over worlds in hundredths; None of one world."""
    size = len(of_worlds)
    return 100 * float(np.std(of_worlds, ddof=1) / np.sqrt(size)) if size > 1 else None


def _table(report: dict[str, Any]) -> str:
    lines = [
        f"{report['worlds']} fleets of {report['machines']} machines over {report['periods']} periods; workloads: "
        f"{', '.join(report['workloads'])}; further laboratories: {report['laboratories']}; disks differ by "
        f"{report['disks']:g}",
        f"pairs: {', '.join(report['pairs'])}",
        *([f"left out, as they know other pairs: {', '.join(report['left_out'])}"] if report["left_out"] else []),
        "",
        "policy     gain %   +-  of oracle %   +-  machines  moves again  harmed      %    +-   runs  TiB copied gap %",
    ]
    for row in report["policies"]:
        error, share, share_error, harm_error, gap = (
            "" if row[name] is None else f"{row[name]:.{digits}f}"
            for name, digits in (
                *(("standard_error", 1), ("of_oracle_percent", 0), ("of_oracle_error", 0)),
                *(("harmed_error", 2), ("gap_percent", 1)),
            )
        )
        lines.append(
            f"{row['policy']:9} {row['gain_percent']:7.1f} {error:>4} {share:>12} {share_error:>4} "
            f"{row['machines']:>9} {row['moves']:>6} {row['moved_again']:>5} {row['harmed']:>7} "
            f"{row['harmed_percent']:6.2f} {harm_error:>5} "
            f"{row['runs']:>6} {row['bytes_copied'] / 2**40:11.1f} {gap:>6}"
        )
    return "\n".join(line.rstrip() for line in lines)
