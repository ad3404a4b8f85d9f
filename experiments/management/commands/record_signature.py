"""Run a program and print what a disk did meanwhile, as rows of fixtures/signatures.csv."""

import csv
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from experiments.campaigns.runs.signatures import Sampler
from experiments.laboratory.transport import counters, offsets, remote
from experiments.published_evidence.signatures import COLUMNS

_BLOCK = Path("/sys/class/block")
_LOOK_SECONDS = 0.2


class Command(BaseCommand):
    help = (
        "Run a program and print what a disk did meanwhile, a row every ten seconds, as in fixtures/signatures.csv. "
        "As root it also samples where requests begin."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("device", help="The disk, by its name in /sys/class/block. Nothing else should use it.")
        parser.add_argument(
            "name", help="What runs: a class, or class:program for one that is held back from training."
        )
        parser.add_argument("source", help="What runs on what. Rows with the same source are one run.")
        parser.add_argument("program", nargs="+", help="After --: the program and its arguments.")
        parser.add_argument("--guest-fs", default="", help="The file system on the disk.")

    def handle(self, *args: Any, **options: Any) -> None:
        stat_file, program = _BLOCK / options["device"] / "stat", options["program"]
        if not stat_file.is_file():
            raise CommandError(f"There is no disk {options['device']} in {_BLOCK}.")
        if shutil.which(program[0]) is None:
            raise CommandError(f"There is no program {program[0]}.")
        samples: list[subprocess.Popen[str]] = []  # one is started at each look

        def look() -> dict[int, counters.Counts]:
            samples.append(_start_sampling(f"/dev/{options['device']}"))
            return {1: counters.of_block_device(stat_file.read_text())}

        sampler = Sampler(look)
        began = time.monotonic()
        sampler.take()
        # The operator who calls this command names the program.
        with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=sys.stderr) as running:  # noqa: S603
            while running.poll() is None:
                time.sleep(_LOOK_SECONDS)
                sampler.take()
        stretches = sampler.stretches(time.monotonic() - began)
        answers = [sample.communicate() for sample in samples]
        if running.returncode:
            raise CommandError(f"{program[0]} ended with {running.returncode}: its rows are not printed.")
        writer = csv.DictWriter(self.stdout, COLUMNS, lineterminator="\n")
        for stretch, (text, why_not) in zip(stretches, answers, strict=False):
            requests = offsets.read(text).get(f"/dev/{options['device']}")
            if requests is None:
                self.stderr.write(f"Where requests begin is not known. {why_not.strip()}")
            writer.writerow(
                {
                    "workload": options["name"],
                    "source": options["source"],
                    "guest_fs": options["guest_fs"],
                    "machine": stretch.machine,
                    "starts_after": round(stretch.starts_after, 1),
                    "seconds": round(stretch.seconds, 2),
                    **{name: round(value, 3) for name, value in asdict(stretch.counts).items()},
                    **(asdict(offsets.of_requests(requests)) if requests else {}),
                }
            )


def _start_sampling(device: str) -> "subprocess.Popen[str]":
    """Start the sampling of the offsets at which the requests of a disk begin."""
    return subprocess.Popen(  # noqa: S603
        ["sh", "-c", remote.SCRIPT, "kdb-remote", "requests", str(offsets.SECONDS), device],  # noqa: S607
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
