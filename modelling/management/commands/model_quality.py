"""manage.py model_quality: leave out each research group, and print how well the model predicts it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from modelling.evidence import names
from modelling.prediction.validation import reports, tables


class Command(BaseCommand):
    help = (
        "Leave every research group out in turn, predict what it measured from all others, and print how well that "
        "went. Computed anew and kept for the page /model-quality/."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--markdown", action="store_true", help="As docs/models/quality.md has it.")

    def handle(self, *args: Any, markdown: bool, **options: Any) -> None:
        result = reports.compute().result
        spelled = tables.markdown if markdown else tables.plain
        sentences = [*tables.describe_forecasts(result), *tables.describe_success(result, names.names())]
        self.stdout.write("\n".join(sentences) + "\n\n")
        for table in tables.tables(result, names.names()):
            self.stdout.write(f"{'### ' if markdown else ''}{table.title}\n\n{spelled(table)}\n\n")
        self.stdout.write("\n".join(f"- {note}" for note in result["notes"]))
