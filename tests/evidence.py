"""The rows of our own models: read from a database, kept in tables beside them, and copied back as often as needed."""

from collections.abc import Iterable

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, models, transaction

Rows = list[tuple[type[models.Model], list[models.Model]]]


def own_models() -> list[type[models.Model]]:
    """Return every model of ours, including the tables of many-to-many fields."""
    return [
        model
        for label in ("kdb", "notifications", "experiments", "modelling")
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
    ]


def read() -> Rows:
    return [(model, rows) for model in own_models() if (rows := list(model._base_manager.all()))]


def keep(rows: Rows) -> list[str]:
    """Keep the rows in tables of their own, which no test empties; the statements that copy them into the models' empty
    tables, keys included.

    The database copies a table in a hundredth of the time that Python needs to insert its rows.
    """
    copy = [_keep(model, instances) for model, instances in rows]
    return copy + connection.ops.sequence_reset_sql(no_style(), [model for model, _ in rows])


def _keep(model: type[models.Model], instances: list[models.Model]) -> str:
    quote = connection.ops.quote_name
    table, kept = quote(model._meta.db_table), quote(f"kept_{model._meta.db_table}")
    columns = ", ".join(quote(field.column) for field in model._meta.local_concrete_fields)
    with connection.cursor() as cursor:
        model._base_manager.bulk_create(instances)
        cursor.execute(f"DROP TABLE IF EXISTS {kept}")  # of an earlier run, where the database is reused
        cursor.execute(f"CREATE TABLE {kept} AS SELECT {columns} FROM {table}")
        cursor.execute(f"DELETE FROM {table}")
    return f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {kept}"


def execute(statements: Iterable[str]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
