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
from experiments.laboratory.transport import counters
from experiments.published_evidence.signatures import COLUMNS

_BLOCK = Path("/sys/class/block")
_LOOK_SECONDS = 0.2


class Command(BaseCommand):
    help = "Run a program and print what a disk did meanwhile, a row every ten seconds, as in fixtures/signatures.csv."

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
        sampler = Sampler(lambda: {1: counters.of_block_device(stat_file.read_text())})
        began = time.monotonic()
        sampler.take()
        # The operator who calls this command names the program.
        with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=sys.stderr) as running:  # noqa: S603
            while running.poll() is None:
                time.sleep(_LOOK_SECONDS)
                sampler.take()
        stretches = sampler.stretches(time.monotonic() - began)
        if running.returncode:
            raise CommandError(f"{program[0]} ended with {running.returncode}: its rows are not printed.")
        writer = csv.DictWriter(self.stdout, COLUMNS, lineterminator="\n")
        for stretch in stretches:
            writer.writerow(
                {
                    "workload": options["name"],
                    "source": options["source"],
                    "guest_fs": options["guest_fs"],
                    "machine": stretch.machine,
                    "starts_after": round(stretch.starts_after, 1),
                    "seconds": round(stretch.seconds, 2),
                    **{name: round(value, 3) for name, value in asdict(stretch.counts).items()},
                }
            )
