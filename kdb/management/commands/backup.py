"""manage.py backup FILE: everything the database holds, as one archive."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from kdb.operations import backups


class Command(BaseCommand):
    help = "Write everything the database holds to one checksummed archive, while the server goes on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="The archive to be; it must not be there yet.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            written = backups.write(options["file"])
        except backups.BackupError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{options['file']}: {written.rows:,} rows of {len(written.tables)} tables.")
