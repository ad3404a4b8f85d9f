"""manage.py foretell: predict the ratios that another laboratory will measure for pairs of configurations."""

import csv
import io
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kdb.operations.atomic_files import atomic_file
from modelling.answers.knowledge import published_knowledge
from modelling.prediction.content import forecast_pair, predict
from modelling.prediction.contrasts import ANSWER, ContrastsError, UnknownNameError, answer, contrast_of, rows
from modelling.prediction.selectors import margin


class Command(BaseCommand):
    help = (
        "Foretells, from everything published, the ratio of two configurations' speeds in another laboratory, with its "
        "95 % interval, for each pair in a CSV file (docs/models/hierarchy.md lists the columns); with a column "
        "actual_ln_ratio also how dense the forecast was there."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="CONTRASTS.csv")
        parser.add_argument("--out", metavar="FILE", required=True, help="The CSV file to write.")

    def handle(self, *args: Any, file: str, out: str, **options: Any) -> None:
        try:
            contrasts = list(rows(Path(file).read_text(encoding="utf-8-sig")))
        except (OSError, UnicodeError, ContrastsError) as error:
            raise CommandError(f"{file}: {error}") from error
        known, answers = published_knowledge(), []
        if known.cells.empty:
            raise CommandError("nothing is published that could be compared")
        for row in contrasts:
            try:
                contrast = contrast_of(row, known)
            except UnknownNameError as error:
                answers.append(answer(row, str(error)))
            else:
                sides = (contrast.a, contrast.b, contrast.where)
                answers.append(answer(row, (forecast_pair(known, *sides, margin()), predict(known, *sides))))
        try:
            lines = io.StringIO()
            csv.writer(lines, lineterminator="\n").writerows([ANSWER, *answers])
            with atomic_file(Path(out)) as opened:
                opened.write(lines.getvalue().encode())
        except OSError as error:
            raise CommandError(f"{out}: {error.strerror}") from error
        answered = sum(cells[1] == "yes" for cells in answers)
        self.stdout.write(f"{answered} of {len(answers)} rows are answered, in {out}.")
