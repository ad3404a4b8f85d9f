"""Load the published evidence of fixtures/ and of other folders into the database."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from experiments.published_evidence import load as evidence
from experiments.published_evidence import signatures, studies
from experiments.published_evidence.corrections import apply_corrections
from experiments.published_evidence.files import EvidenceError


class Command(BaseCommand):
    help = "Load the published evidence. Run again, it adds nothing and says so."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "directory",
            nargs="?",
            type=Path,
            help="Where its files are (default: fixtures/, and then what others published, settings.KDB_OUTSIDE).",
        )
        parser.add_argument("--papers", action="store_true", help="Only the reviewed papers.")
        parser.add_argument(
            "--unused", action="store_true", help="Load nothing; list what of others' results cannot be said, and why."
        )

    def handle(
        self, *args: Any, directory: Path | None, papers: bool, unused: bool, verbosity: int, **options: Any
    ) -> None:
        others = None if papers or directory else settings.KDB_OUTSIDE
        try:
            if unused:
                folder = settings.KDB_OUTSIDE or evidence.DIRECTORY / "outside"
                self.list_unused(studies.read(folder, evidence.DIRECTORY))
                return
            reports = [evidence.load(directory or evidence.DIRECTORY)]
            if others:
                reports.append(evidence.load_outside(others))
            ended = apply_corrections(directory or evidence.DIRECTORY)
            if settings.KDB_SIGNATURES and not (papers or directory):
                signatures.load(settings.KDB_SIGNATURES)
        except EvidenceError as error:
            raise CommandError(str(error)) from error
        if verbosity:
            for line in dict.fromkeys(line for report in reports for line in report.lines()):
                self.stdout.write(line)
            for line in ended:
                self.stdout.write(line)

    def list_unused(self, results: studies.Studies) -> None:
        for reason, places in results.unused.items():
            self.stdout.write(f"{len(places)} of {results.rows} rows: {reason}")
            for place in places:
                self.stdout.write(f"  {place}")
