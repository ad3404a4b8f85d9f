"""manage.py import_guidance: load makers' advice from its files into the database."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from experiments.published_evidence.files import EvidenceError
from modelling.guidance import loading


class Command(BaseCommand):
    help = "Load makers' advice, the defaults of products and the contradictions between them. What is gone is deleted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            nargs="?",
            type=Path,
            default=loading.PATH,
            help="The statements; X_defaults.csv and X_contradictions.csv lie beside X.csv (fixtures/guidance.csv).",
        )

    def handle(self, *args: Any, file: Path, verbosity: int, **options: Any) -> None:
        try:
            rows = loading.load(file)
        except EvidenceError as error:
            raise CommandError(str(error)) from error
        if verbosity:
            for name, number in rows.items():
                self.stdout.write(f"{name}: {number} rows")
