"""The API for published tables: one request with table and conditions makes a draft, or returns every error."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from experiments import permissions
from experiments.case_studies.api import DraftSerializer, OwnedViewSet
from experiments.imports.api import field_error
from experiments.imports.pipeline import file_name
from experiments.models import CaseStudy, ImportBatch
from kdb.accounts.users import user_of
from kdb.api.bodies import Fields
from kdb.api.faults import FaultyRequest
from kdb.web.gone import check_client

from .conditions import LONGEST, ConditionsError, read_conditions
from .drafting import TableRefused, make_draft
from .parsing import MAX_BYTES, Refused, read_tables


class PublishedTableSerializer(Fields):
    """A table as it was published, and its conditions."""

    table = serializers.FileField(
        help_text=f"CSV, Markdown, ASCII, a web page or XLSX of at most {MAX_BYTES:,} bytes; a text will do."
    )
    conditions = serializers.FileField(help_text="The TOML file that says what its columns mean; a text will do.")
    number = serializers.IntegerField(
        required=False, min_value=1, help_text="Which of its tables, from 1; needed where it has several."
    )


class PublishedTableViewSet(OwnedViewSet):
    """Published tables, which become drafts."""

    serializer_class = DraftSerializer
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="published_tables_create",
        tags=["drafts"],
        request={"multipart/form-data": PublishedTableSerializer},
        responses={201: DraftSerializer},
    )
    def create(self, request: Request) -> Response:
        """Make a draft of a published table and its conditions (docs/imports.md), with the names it proposes.

        All or nothing: 422 names every error by the line and the heading, and nothing is kept.
        """
        if not permissions.may_create(request.user):
            raise PermissionDenied
        name, content = _sent_file(request, "table", MAX_BYTES)
        _, text = _sent_file(request, "conditions", 4 * LONGEST)
        try:
            conditions = read_conditions(text.decode("utf-8-sig"))
            tables = read_tables(content, check_client(request))
        except (UnicodeDecodeError, ConditionsError) as error:
            raise _unusable("conditions", str(error)) from error
        except Refused as error:
            raise _unusable("table", str(error), error.line) from error
        number = request.POST.get("number") or ("1" if len(tables) == 1 else "")
        if not (number.isascii() and number.isdigit() and 0 < int(number[:6]) <= len(tables)):
            raise _unusable(
                "number", f"found {number[:20] or 'nothing'}, allowed is a whole number up to {len(tables)}."
            )
        table = tables[int(number[:6]) - 1]
        try:
            draft = make_draft(name, content, table, conditions, user=user_of(request), door=ImportBatch.Door.API)
        except TableRefused as error:
            errors = [field_error(fault.field, fault.difference, fault.line) for fault in error.faults]
            raise FaultyRequest(errors, status.HTTP_422_UNPROCESSABLE_ENTITY) from error
        draft = CaseStudy.objects.select_related("owner", "server", "storage__server").get(pk=draft.pk)
        headers = {"Location": reverse("v1:draft-detail", [draft.slug], request=request)}
        return Response(self.get_serializer(draft).data, status=status.HTTP_201_CREATED, headers=headers)


def _sent_file(request: Request, field: str, largest: int) -> tuple[str, bytes]:
    """Return name and bytes of a field that is a file or a text. Raises FaultyRequest."""
    file: Any = request.FILES.get(field)
    content = file.read(largest + 1) if file else request.POST.get(field, "").encode()
    if not content:
        raise FaultyRequest([{"field": field, "message": "There is none in the request."}])
    if len(content) > largest:
        raise _unusable(field, f"At most {largest:,} bytes are read.")
    return file_name(file.name) if file else "table.txt", content


def _unusable(field: str, message: str, line: int | None = None) -> FaultyRequest:
    return FaultyRequest([field_error(field, message, line)], status.HTTP_422_UNPROCESSABLE_ENTITY)
