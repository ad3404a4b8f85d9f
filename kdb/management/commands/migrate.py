"""manage.py migrate: Django's own, by one process at a time, and never by code that is older than the database."""

from typing import Any

from django.apps import apps
from django.core.checks import Tags
from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from kdb.jobs.locks import exclusive_lock
from kdb.operations import upgrades


class Command(migrate.Command):
    def execute(self, *args: Any, **options: Any) -> Any:
        with exclusive_lock("migrate"):  # the checks before the migration ask the database, too
            return super().execute(*args, **options)

    def check(self, *args: Any, **options: Any) -> None:
        """Check tables and settings: for the other checks every page would be loaded, a second of a processor."""
        super().check(*args, **{"tags": [Tags.database, Tags.models, "kdb"], **options})

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["app_label"]:  # else back to an earlier migration, by the code that knows the later ones
            try:
                upgrades.refuse_newer()
            except upgrades.DatabaseIsNewer as error:
                raise CommandError(str(error)) from None
            if not any(options[name] for name in ("fake", "plan", "check_unapplied")):
                _make_at_once()
        super().handle(*args, **options)


def _make_at_once() -> None:
    """Give an empty SQLite database the tables of today's models, all or nothing, and note all migrations as done.

    It takes a tenth of the time of doing them, and a test holds both to the same tables. PostgreSQL gets from
    migrations what no model says.
    """
    if connection.vendor != "sqlite" or connection.introspection.table_names():
        return
    done = MigrationRecorder(connection).Migration
    models: list[type[Model]] = [done, *apps.get_models()]
    with connection.schema_editor() as editor:
        for model in models:
            if model._meta.can_migrate(connection):
                editor.create_model(model)
        done.objects.bulk_create(done(app=app, name=name) for app, name in MigrationLoader(None).disk_migrations)
