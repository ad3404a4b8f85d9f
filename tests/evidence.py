"""The rows of our own models, read from a database once and written back as often as needed."""

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, models, transaction

Rows = list[tuple[type[models.Model], list[models.Model]]]


def own_models() -> list[type[models.Model]]:
    """Every model of experiments and modelling, the tables of many-to-many fields included."""
    return [
        model
        for label in ("experiments", "modelling")
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
    ]


def read() -> Rows:
    return [(model, rows) for model in own_models() if (rows := list(model._base_manager.all()))]


def write(rows: Rows) -> None:
    """Copy the rows, keys included, into empty tables."""
    with transaction.atomic():
        for model, instances in rows:
            model._base_manager.bulk_create(instances)
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), [model for model, _ in rows]):
                cursor.execute(statement)
