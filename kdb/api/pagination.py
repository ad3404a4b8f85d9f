"""Cut lists into pages, each with links to the next and the previous one."""

import re
from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from .faults import FaultyRequest

_KEY = re.compile("[0-9]{1,18}")  # what fits a 64-bit column


class PageByKey(CursorPagination):
    """Pages by cursor in the order of a key: a late page costs as little as the first, and no row appears twice."""

    key: tuple[str, ...] = ("pk",)  # whole numbers, unique together
    page_size = 100
    max_page_size = 1000
    page_size_query_param = "page_size"
    cursor_query_param = "cursor"
    parameters = (cursor_query_param, page_size_query_param)

    def paginate_queryset(self, queryset: Any, request: Request, view: APIView | None = None) -> list[Any]:
        self._check_page_size(request)
        self.base_url = request.build_absolute_uri()
        size = self.get_page_size(request) or self.page_size
        cursor = self.decode_cursor(request)
        is_backwards = cursor is not None and cursor.reverse
        if cursor is not None:
            queryset = self.beyond(queryset, [*map(int, str(cursor.position).split("-"))], is_backwards)
        rows = list(queryset.order_by(*(f"-{name}" if is_backwards else name for name in self.key))[: size + 1])
        are_more, rows = len(rows) > size, rows[:size]
        if is_backwards:
            rows.reverse()
        self.page = rows
        self.has_next = are_more or is_backwards
        self.has_previous = are_more if is_backwards else cursor is not None
        return rows

    def beyond(self, queryset: QuerySet[Any], place: list[int], is_backwards: bool) -> QuerySet[Any]:
        """Return the rows after the key `place`, or before it where `is_backwards`."""
        return queryset.filter(**{f"{self.key[0]}__{'lt' if is_backwards else 'gt'}": place[0]})

    def get_next_link(self) -> str | None:
        return self._link(self.page[-1], is_backwards=False) if self.page and self.has_next else None

    def get_previous_link(self) -> str | None:
        return self._link(self.page[0], is_backwards=True) if self.page and self.has_previous else None

    def _link(self, row: Any, is_backwards: bool) -> str:
        position = "-".join(str(getattr(row, name)) for name in self.key)
        return self.encode_cursor(Cursor(offset=0, reverse=is_backwards, position=position))  # type: ignore[arg-type]

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Return the request's cursor. Raises FaultyRequest where it is none that this list gave out."""
        if not request.query_params.get(self.cursor_query_param):
            return None
        try:
            cursor = super().decode_cursor(request)
        except NotFound:
            cursor = None
        numbers = str(cursor.position).split("-") if cursor is not None else []
        if len(numbers) != len(self.key) or not all(map(_KEY.fullmatch, numbers)):
            message = "This is not a cursor of this list; take it from `next` or `previous`."
            raise FaultyRequest([{"field": self.cursor_query_param, "message": message}])
        return cursor

    def get_paginated_response(self, data: list[Any]) -> Response:
        """Return a response with the links in the body, and in the Link header, as CSV has no place for them."""
        response = super().get_paginated_response(data)
        links = [(self.get_next_link(), "next"), (self.get_previous_link(), "prev")]
        if header := ", ".join(f'<{address}>; rel="{relation}"' for address, relation in links if address):
            response["Link"] = header
        return response

    def _check_page_size(self, request: Request) -> None:
        given = request.query_params.get(self.page_size_query_param, str(self.page_size))
        if _KEY.fullmatch(given) and 1 <= int(given) <= self.max_page_size:
            return
        message = f"Give a whole number from 1 to {self.max_page_size}."
        raise FaultyRequest([{"field": self.page_size_query_param, "message": message}])
