"""manage.py migrate: Django's own, by one process at a time, and never by code that is older than the database."""

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate

from kdb.operating import upgrades


class Command(migrate.Command):
    def execute(self, *args: Any, **options: Any) -> Any:
        with upgrades.migrating():  # the checks before the migration ask the database, too
            return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["app_label"]:  # else back to an earlier migration, by the code that knows the later ones
            try:
                upgrades.refuse_newer()
            except upgrades.DatabaseIsNewer as error:
                raise CommandError(str(error)) from None
        super().handle(*args, **options)
