"""Load the evidence of another installation from its release."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError

from experiments.published_evidence.releases import ReleaseError, loading


class Command(BaseCommand):
    help = (
        "Load a release of another installation (release_data), all or nothing: new case studies are published, "
        "changed ones superseded, what ended there ends here. Your own stay. Run again, it changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The ZIP.")
        parser.add_argument("--check", action="store_true", help="Say what would happen, and change nothing.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = loading.load(options["file"], is_rehearsal=options["check"])
        except ReleaseError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        for line in report.lines():
            self.stdout.write(line)
        if options["check"]:
            self.stdout.write("Nothing was changed.")
