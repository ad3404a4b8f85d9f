"""Writes many measurements fast: COPY on PostgreSQL, many-row statements on SQLite."""

from collections.abc import Iterable
from typing import NamedTuple

from django.db import connection

from experiments.models import Measurement


class MeasurementRow(NamedTuple):
    """A measurement to be written; the fields are the columns of its table (experiments.models.Measurement)."""

    configuration_id: int
    variant_id: int
    operation: str
    block_size_bytes: int | None
    vm_count: int
    machine: int | None
    metric: str
    unit: str
    value: float
    alternative_value: float | None
    quality: str
    repetition: int
    repetitions: int | None
    standard_deviation: float | None
    minimum: float | None
    maximum: float | None
    reference: str
    excluded_because: str
    excluded_by: str
    source: str
    note: str
    raw_file_id: int | None
    line: int | None


COLUMNS = MeasurementRow._fields


def write(rows: Iterable[MeasurementRow]) -> None:
    """Add measurements. The database's own rules hold as ever."""
    table, columns = connection.ops.quote_name(Measurement._meta.db_table), ", ".join(COLUMNS)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # psycopg raises its own errors from a COPY; the callers know Django's.
            with connection.wrap_database_errors, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            marks = ", ".join(["%s"] * len(COLUMNS))
            statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - names of ours
            cursor.executemany(statement, list(rows))
