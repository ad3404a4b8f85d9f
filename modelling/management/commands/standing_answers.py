"""manage.py standing_answers: compute the standing answers that a release ships."""

from typing import Any

from django.core.management import BaseCommand

from modelling.answer_store import standing


class Command(BaseCommand):
    help = (
        "Works out the standing answers to what this database holds, and writes them to fixtures/, for a new database "
        "to begin with. script/standing-answers calls it on a database with the evidence of the release alone."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        content = standing.build_file()
        standing.FILE.write_bytes(content)
        self.stdout.write(f"{standing.FILE.name}: {len(content)} bytes.")
