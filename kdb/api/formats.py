"""Parse JSON bodies, choose between JSON and CSV, and write rows as CSV.

`?format=csv` wins over the Accept header, so that a link can name its format.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from itertools import islice
from typing import Any

from rest_framework.exceptions import APIException, NotAcceptable, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from kdb.csv_cells import escaped
from kdb.json_values import refuse_half_characters, refuse_huge_integers

FORMAT_PARAMETER = "format"
MOST_JSON_BYTES = 2**20  # of a body, which takes half a second to parse at worst
MOST_ERRORS = 20  # that are reported of one body


def csv_text(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a header and one line for each row (RFC 4180); lists are joined by spaces, formulas escaped."""
    columns = list(columns)
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(columns)
    writer.writerows([escaped(_cell(row.get(column))) for column in columns] for row in rows)
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return " ".join(map(str, value))
        case dict():
            return json.dumps(value)
        case _:
            return value  # the csv module writes floats in full precision


class TooLarge(APIException):
    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class JsonParser(JSONParser):
    """Parse JSON; too long or too deeply nested bodies and huge integers are refused instead of failing with 500."""

    most_bytes = MOST_JSON_BYTES

    def parse(self, stream: Any, *args: Any, **kwargs: Any) -> Any:
        body = stream.read(self.most_bytes + 1)
        if len(body) > self.most_bytes:
            raise TooLarge(f"JSON has at most {self.most_bytes:,} bytes here; this is longer.")
        try:
            parsed = super().parse(io.BytesIO(body), *args, **kwargs)
            refuse_huge_integers(parsed)
            refuse_half_names(parsed)
        except RecursionError:
            raise ParseError("JSON parse error - nested too deep") from None
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from None
        return parsed


def refuse_half_names(parsed: Any) -> None:
    """Raise FaultyRequest for fields with an unpaired surrogate, or ParseError where the body has no fields."""
    from .faults import FaultyRequest, FieldError

    def faults() -> Iterator[FieldError]:
        for name, value in parsed.items() if isinstance(parsed, dict) else ((None, parsed),):
            try:
                refuse_half_characters([name, value])
            except ValueError as error:
                shown = str(name)[:200].encode(errors="replace").decode()
                yield FieldError(field=shown, message=f"{str(error).capitalize()}.")

    errors = [*islice(faults(), MOST_ERRORS)]
    if errors and not isinstance(parsed, dict):
        raise ParseError(errors[0]["message"])
    if errors:
        raise FaultyRequest(errors)


class CsvRenderer(BaseRenderer):
    """Render a page of a list, or one object, as CSV with the serializer's fields as columns."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> str:
        rows = data.get("results", [data])
        return csv_text((renderer_context or {})["view"].get_serializer().fields, rows)


class FormatNegotiation(DefaultContentNegotiation):
    """Choose the format by the parameter `format`, else by the Accept header; 406 where there is no such format."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderers, name = list(renderers), request.query_params.get(FORMAT_PARAMETER)
        if not name:
            return super().select_renderer(request, renderers, format_suffix)
        for renderer in renderers:
            if renderer.format == name:
                return renderer, renderer.media_type
        formats = ", ".join(dict.fromkeys(renderer.format for renderer in renderers))
        raise NotAcceptable(f"There is no format {name!r} here; there is {formats}.")
