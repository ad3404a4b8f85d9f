"""Lists come in pages, each with the address of the next one."""

import re
from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kdb.api_errors import FaultyRequest

_KEY = re.compile("[0-9]{1,18}")  # what fits a 64-bit column


class PageByKey(CursorPagination):
    """Pages in the order the rows came in: page 1000 costs what page 1 costs, and no row is met twice."""

    ordering = "pk"
    page_size = 100
    max_page_size = 1000
    page_size_query_param = "page_size"
    cursor_query_param = "cursor"
    parameters = (cursor_query_param, page_size_query_param)

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        self._check_page_size(request)
        return super().paginate_queryset(queryset, request, view)

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Every cursor given out here has a position; what decodes to anything else was made up."""
        if not request.query_params.get(self.cursor_query_param):
            return None
        try:
            cursor = super().decode_cursor(request)
        except NotFound:
            cursor = None
        if cursor is None or not _KEY.fullmatch(str(cursor.position)):
            message = "This is not a cursor of this list; take it from `next` or `previous`."
            raise FaultyRequest([{"field": self.cursor_query_param, "message": message}])
        return cursor

    def get_paginated_response(self, data: list[Any]) -> Response:
        """`next` and `previous` in the body, and in the Link header for those who read CSV."""
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
