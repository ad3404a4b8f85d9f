"""Restore the database from an archive, whichever kind of database wrote it."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser, call_command

from kdb.operations import backups


class Command(BaseCommand):
    help = "Migrate the database and fill it from an archive of `backup`; all of it, or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="An archive made by `backup`.")
        parser.add_argument("--check", action="store_true", help="Only check that the archive is whole.")
        parser.add_argument("--replace", action="store_true", help="Forget what the database holds.")

    def handle(self, *args: Any, **options: Any) -> None:
        file = options["file"]
        try:
            manifest = backups.check(file)  # before anything is changed
            rows = sum(table["rows"] for table in manifest["tables"].values())
            if options["check"]:
                self.stdout.write(f"{file} is whole: {rows:,} rows, made by release {manifest['release']}.")
                return
            if not options["replace"]:
                backups.check_empty()
            call_command("migrate", interactive=False, verbosity=0)
            backups.restore(file, replace=options["replace"])
        except backups.BackupError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Restored {rows:,} rows of {len(manifest['tables'])} tables.")
        for name, value in backups.differing_settings(manifest).items():
            self.stdout.write(
                f"Where it was made, {name} was {value!r}; with another value the same rows answer otherwise."
            )
