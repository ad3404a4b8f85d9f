"""Queries that are asked at each request, with their SQL written once.

Django writes the SQL of a query anew each time, which for a query with a small answer takes it up to ten times as long
as the database takes to answer.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.query import RawQuerySet

Row = TypeVar("Row", bound=Model)
_MARK = re.compile("\ue000(\\d+)\ue001")  # private characters of Unicode, which stand for a text in the parameters


class Written(Generic[Row]):
    """A query of so many texts.

    query : makes it, given the texts; what depends on more than the texts is another query. Related rows are read when
    they are looked at, whatever it says of them: it annotates what is needed of them.
    Inside a pattern, as of `icontains`, a text has to come as `in_pattern` gives it.
    """

    def __init__(self, query: Callable[..., QuerySet[Row]], texts: int) -> None:
        self._query = query
        self._texts = texts

    def rows(self, *texts: str) -> "RawQuerySet[Row]":
        """Return the rows of the query of these texts."""
        model, sql, params = self._parts
        filled = tuple(_filled(param, texts) if isinstance(param, str) else param for param in params)
        return model._default_manager.raw(sql, filled)

    @cached_property
    def _parts(self) -> tuple[type[Row], str, tuple[Any, ...]]:
        rows = self._query(*(f"\ue000{number}\ue001" for number in range(self._texts)))
        sql, params = rows.query.get_compiler(connection=connection).as_sql()
        return rows.model, sql, tuple(params)


def in_pattern(text: str) -> str:
    """Return the text as it stands in a pattern of SQL for itself."""
    return connection.ops.prep_for_like_query(text)


def _filled(param: str, texts: tuple[str, ...]) -> str:
    return _MARK.sub(lambda mark: texts[int(mark[1])], param)
