"""Writes many measurements fast: COPY on PostgreSQL, many-row statements on SQLite."""

from collections.abc import Iterable

from django.db import connection

from experiments.models import Measurement

COLUMNS = (
    *("configuration_id", "variant_id", "operation", "block_size_bytes", "vm_count", "metric", "unit", "value"),
    *("alternative_value", "quality", "repetition", "repetitions", "standard_deviation", "source", "note"),
    *("raw_file_id", "line"),
)


def write(rows: Iterable[tuple]) -> None:
    """Add measurements, given as tuples in the order of COLUMNS. The database's own rules hold as ever."""
    table, columns = connection.ops.quote_name(Measurement._meta.db_table), ", ".join(COLUMNS)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # psycopg raises its own errors from a COPY; the callers know Django's.
            with connection.wrap_database_errors, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            marks = ", ".join(["%s"] * len(COLUMNS))
            cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)  # noqa: S608 - names of ours
