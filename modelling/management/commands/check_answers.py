"""manage.py check_answers: compare the current answers with ones computed from scratch."""

from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from modelling.answer_store import snapshots


class Command(BaseCommand):
    help = (
        "Computes every current answer anew and lists those that differ from what is kept, and the questions that "
        "wait to be answered again. Exits with 1 where an answer differs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--mend", action="store_true", help="forget the answers that differ; they are made anew")

    def handle(self, *args: Any, **options: Any) -> None:
        check = snapshots.check_answers()
        for question, what in check.waiting.items():
            self.stdout.write(f"waiting    {question}: {what}")
        for question, what in check.differing.items():
            self.stdout.write(f"differing  {question}: {what}")
        if check.differing and options["mend"]:
            snapshots.delete_answers(list(check.differing))
            self.stdout.write(f"{len(check.differing)} answers were forgotten.")
        elif check.differing:
            raise CommandError(f"{len(check.differing)} of {check.standing} standing answers differ.")
        self.stdout.write(f"{check.standing} standing answers were computed again; {len(check.waiting)} wait.")
