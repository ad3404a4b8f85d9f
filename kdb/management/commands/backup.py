"""Write the whole database to one archive."""

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
            tables = backups.write(options["file"])["tables"]
        except backups.BackupError as error:
            raise CommandError(str(error)) from None
        rows = sum(table["rows"] for table in tables.values())
        self.stdout.write(f"{options['file']}: {rows:,} rows of {len(tables)} tables.")
