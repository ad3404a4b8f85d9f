"""manage.py load_evidence: the published evidence of fixtures/ into the database."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from experiments.published_evidence import load as evidence
from experiments.published_evidence.files import EvidenceError


class Command(BaseCommand):
    help = "Load the published evidence. Run again, it adds nothing and says so."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "directory",
            nargs="?",
            type=Path,
            default=evidence.DIRECTORY,
            help="Where its files are (default: fixtures/).",
        )

    def handle(self, *args, directory: Path, verbosity: int, **options) -> None:
        try:
            report = evidence.load(directory)
        except EvidenceError as error:
            raise CommandError(str(error)) from error
        if verbosity:
            for line in report.lines():
                self.stdout.write(line)
