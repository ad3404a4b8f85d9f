"""manage.py foretell: what another laboratory will measure of pairs of configurations."""

import csv
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from modelling.estimation.network import EvidenceError
from modelling.foretelling import selectors
from modelling.foretelling.content import foretell
from modelling.foretelling.contrasts import ANSWER, ContrastsError, UnknownNameError, answer, contrast_of, rows


class Command(BaseCommand):
    help = (
        "Foretells, from everything published, the ratio of two configurations' speeds in another laboratory, with its "
        "95 % interval, for each pair in a CSV file (docs/models/hierarchy.md lists the columns)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="CONTRASTS.csv")
        parser.add_argument("--out", metavar="FILE", required=True, help="The CSV file to write.")

    def handle(self, *args: Any, file: str, out: str, **options: Any) -> None:
        try:
            asked = list(rows(Path(file).read_text(encoding="utf-8-sig")))
            model, containers = selectors.model(), selectors.containers()
        except (OSError, UnicodeError, ContrastsError, EvidenceError) as error:
            raise CommandError(f"{file}: {error}") from error
        answers = []
        for row in asked:
            try:
                contrast = contrast_of(row, containers)
            except UnknownNameError as error:
                answers.append(answer(row, str(error)))
            else:
                foretold = foretell(model, contrast.a, contrast.b, contrast.where, selectors.margin())
                answers.append(answer(row, foretold))
        try:
            with Path(out).open("w", encoding="utf-8", newline="") as opened:
                csv.writer(opened, lineterminator="\n").writerows([ANSWER, *answers])
        except OSError as error:
            raise CommandError(f"{out}: {error.strerror}") from error
        told = sum(cells[1] == "yes" for cells in answers)
        self.stdout.write(f"{told} of {len(answers)} rows are answered, in {out}.")
