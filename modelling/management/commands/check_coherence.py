"""manage.py check_coherence: whether the answers of the published evidence contradict each other."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from modelling.validation import gather, reasons
from modelling.validation.coherence import breaches


class Command(BaseCommand):
    help = (
        "Answers every question of the published evidence without a filter and with one, and holds the answers against "
        "each other and against the supported claims (docs/models/coherence.md). Exits with 1 where a rule is broken "
        "without a reason in the file, and where the file has a reason for what breaks none."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reasons", type=Path, default=reasons.FILE, help="JSON; without it that of the project.")
        parser.add_argument(
            "--write-reasons",
            action="store_true",
            help="Write the file anew: what breaks a rule now, with the reasons it has; a reason that is missing is "
            "empty, and is still missing.",
        )

    def handle(self, *args: Any, write_reasons: bool, **options: Any) -> None:
        file: Path = options["reasons"]
        try:
            known = reasons.read(file.read_text(encoding="utf-8")) if file.exists() or not write_reasons else {}
        except (OSError, reasons.ReasonsError) as error:
            raise CommandError(f"{file}: {error}") from error
        answers, claims = gather.answers(), gather.supported_claims()
        broken = breaches(answers, claims)
        judged = reasons.judge(broken, known)
        for breach in judged.without_reason:
            self.stdout.write(f"no reason  {breach.sentence}\n           {breach.name}")
        for name in judged.gone:
            self.stdout.write(f"gone       {name}")
        self.stdout.write(
            f"{len(answers)} answers, {len(claims)} statements of supported claims: {len(broken)} breaches, "
            f"{len(judged.with_reason)} with a reason."
        )
        if write_reasons:
            file.write_text(reasons.written(broken, known), encoding="utf-8")
            self.stdout.write(f"{file} is written.")
        elif judged.without_reason or judged.gone:
            raise CommandError(
                f"{len(judged.without_reason)} breaches have no reason, and {len(judged.gone)} reasons no breach; "
                "--write-reasons writes the file anew."
            )
