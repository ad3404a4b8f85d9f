"""manage.py check_coherence: whether the answers of the published evidence contradict each other."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from modelling.validation import coherence
from modelling.validation.coherence_questions import answer_questions


class Command(BaseCommand):
    help = (
        "Answers every question of the published evidence without a filter and with one, and holds the answers against "
        "each other (docs/models/coherence.md). Exits with 1 where a rule is broken without a reason in the file, and "
        "where the file has a reason for what breaks none."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--reasons", type=Path, default=coherence.FILE, help="JSON; without it that of the project."
        )
        parser.add_argument(
            "--write-reasons",
            action="store_true",
            help="Write the file anew: what breaks a rule now, with the reasons it has; a reason that is missing is "
            "empty, and is still missing.",
        )

    def handle(self, *args: Any, write_reasons: bool, **options: Any) -> None:
        file: Path = options["reasons"]
        try:
            text = file.read_text(encoding="utf-8") if file.exists() or not write_reasons else "[]"
            reasons = coherence.read_reasons(text)
        except (OSError, coherence.ReasonsError) as error:
            raise CommandError(f"{file}: {error}") from error
        answers = answer_questions()
        breaches = coherence.find_breaches(answers)
        unexplained = [breach for breach in breaches if not reasons.get(breach.name, "").strip()]
        gone = [name for name in reasons if name not in {breach.name for breach in breaches}]
        for breach in unexplained:
            self.stdout.write(f"no reason  {breach.sentence}\n           {breach.name}")
        for name in gone:
            self.stdout.write(f"gone       {name}")
        self.stdout.write(
            f"{len(answers)} answers: {len(breaches)} breaches, {len(breaches) - len(unexplained)} with a reason."
        )
        if write_reasons:
            file.write_text(coherence.write_reasons(breaches, reasons), encoding="utf-8")
            self.stdout.write(f"{file} is written.")
        elif unexplained or gone:
            raise CommandError(
                f"{len(unexplained)} breaches have no reason, and {len(gone)} reasons no breach; "
                "--write-reasons writes the file anew."
            )
