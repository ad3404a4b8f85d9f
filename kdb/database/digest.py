"""Digest several values of a row, so that an index that tells rows apart by them holds eight bytes in their place."""

from typing import Any

from django.db.models import Func, TextField


class Digest(Func):
    """One value of several that are never missing: on PostgreSQL a digest of 64 bits, on SQLite the text they make.

    Only the last may contain a blank. Beside a column that rows have in common by the thousand, as the configuration of
    measurements, two rows that differ have the same digest once in 10^13 such thousands. PostgreSQL keeps the function
    as it is, for tables partitioned by hash rest on it.
    """

    arg_joiner = " || ' ' || "
    template = "(%(expressions)s)"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="hashtextextended(%(expressions)s, 0)", **context)
