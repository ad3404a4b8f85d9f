"""Insert thousands of rows into one table: by COPY into PostgreSQL, else by as few statements as possible."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection


def insert(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Add rows, inside a transaction, as the database's own values. Its rules hold as ever; a limit on the time of a
    statement does not, for whatever `rows` does to come by them is part of it."""
    quote = connection.ops.quote_name
    into = f"{quote(table)} ({', '.join(map(quote, columns))})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL statement_timeout = 0")
            # psycopg raises its own errors from a COPY; the callers know Django's.
            with connection.wrap_database_errors, cursor.copy(f"COPY {into} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {into} VALUES ({marks})", list(rows))  # noqa: S608 - names of ours
