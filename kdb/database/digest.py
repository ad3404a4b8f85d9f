"""Digest several values of a row, so that a unique index over them takes eight bytes a row."""

from typing import Any

from django.db.models import Func, TextField


class Digest(Func):
    """The digest of several values that are not null: 64 bits on PostgreSQL, their joined text on SQLite.

    Only the last value may contain a space. Among a thousand rows with the same other indexed columns, such as the
    configuration of measurements, two different rows collide once in 10^13 cases. PostgreSQL will not change the
    function, as tables partitioned by hash depend on it.
    """

    arg_joiner = " || ' ' || "
    template = "(%(expressions)s)"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="hashtextextended(%(expressions)s, 0)", **context)
