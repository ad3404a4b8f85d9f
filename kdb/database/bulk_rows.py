"""Insert thousands of rows into one table: by COPY into PostgreSQL, else by as few statements as possible."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection


def insert(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Add rows of the database's own values, inside a transaction. Constraints hold as always.

    The time limit of statements is lifted, as the time in which `rows` is generated would count.
    """
    quote = connection.ops.quote_name
    into = f"{quote(table)} ({', '.join(map(quote, columns))})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL statement_timeout = 0")
            # psycopg raises its own errors from a COPY, and callers expect Django's.
            with connection.wrap_database_errors, cursor.copy(f"COPY {into} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {into} VALUES ({marks})", list(rows))  # noqa: S608 - the names are no user input
