"""The API of imports: upload, inspect, correct, confirm, discard, download the files, and send measurements in bulk."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import APIException, ParseError, PermissionDenied
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from experiments import permissions
from experiments.case_studies.api import Conflict, OwnedViewSet
from experiments.models import CaseStudy, ImportBatch, RawFile
from experiments.readers.reading_process import (
    ARRAYS,
    MEMORY_BYTES_OF_A_PAGE,
    SECONDS_OF_A_PAGE,
    NotRead,
    ReadingProcess,
)
from experiments.records import visible
from experiments.records.api.serializers import ReadSerializer
from experiments.records.api.views import FactViewSet
from experiments.records.files import raw_files
from kdb.accounts.users import user_of
from kdb.api.bodies import Fields
from kdb.api.errors import name_errors
from kdb.api.faults import FaultyRequest, FieldError
from kdb.api.formats import JsonParser, TooLarge
from kdb.api.shapes import shape_of
from kdb.web.gone import check_client

from . import pipeline
from .normalise import CONTEXT
from .report import Report
from .words import fault_sentence, summary, unknown_sentence

logger = logging.getLogger(__name__)

State = ImportBatch.State


class Unprocessable(APIException):
    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY


# The shape of an import


class ReportSerializer(shape_of(Report)):  # type: ignore[misc]  # a class made of the dataclass
    def get_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = super().get_fields()
        for field in fields.values():
            field.required = False
        return fields


ReportSerializer.__doc__ = Report.__doc__


class AnswersSerializer(Fields):
    """What the user says about the files, beyond what they contain."""

    context = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Field to text, for every file."
    )
    files = serializers.DictField(
        child=serializers.DictField(),
        required=False,
        help_text="SHA-256 to `context` and `leave_out` of one file; its `parts`, by name, have the same; its `runs` "
        "are line to context of the runs there.",
    )
    names = serializers.DictField(
        child=serializers.DictField(), required=False, help_text="Kind to name in the files to slug of the catalogue."
    )
    create = serializers.DictField(
        child=serializers.DictField(), required=False, help_text="Kind to name in the files to a new entry's fields."
    )
    columns = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Header of a table to a column of ours, or `ignore`."
    )


class ImportSerializer(serializers.ModelSerializer[ImportBatch]):
    """One import, from the upload to the case study."""

    case_study: serializers.SlugRelatedField[CaseStudy] = serializers.SlugRelatedField(
        slug_field="slug", read_only=True
    )
    uploaded_by = serializers.CharField(source="uploaded_by.username", read_only=True, allow_null=True, default=None)
    progress = serializers.IntegerField(
        source="job.progress", read_only=True, default=None, allow_null=True, help_text="Files read, then rows."
    )
    error = serializers.CharField(
        source="why_not_read", read_only=True, help_text="Why reading failed; imports/<id>/read/ has it read again."
    )
    summary = serializers.SerializerMethodField(help_text="Where it stands, in a sentence.")
    answers = AnswersSerializer(read_only=True)
    report = ReportSerializer(read_only=True)

    class Meta:
        model = ImportBatch
        fields = (
            *("id", "case_study", "state", "summary", "door", "uploaded_by", "created_at", "filed_at"),
            *("progress", "error", "answers", "report"),
        )
        read_only_fields = fields

    def get_summary(self, batch: ImportBatch) -> str:
        return summary(batch)

    def to_representation(self, batch: ImportBatch) -> dict[str, Any]:
        """Return the report as it was kept: its shape is fixed where it is written."""
        return {**super().to_representation(batch), "answers": batch.answers, "report": batch.report}


class UploadSerializer(Fields):
    """Files of one import."""

    case_study = serializers.SlugField(help_text="The draft.")
    file = serializers.ListField(
        child=serializers.FileField(), help_text="One or more result files, or ZIPs of them; repeat the field."
    )
    answers = serializers.JSONField(required=False, help_text="A JSON object: context, files, names, create, columns.")
    confirm = serializers.BooleanField(required=False, help_text="File at once where there is no error.")


# Reading what is sent


class StreamParser(BaseParser):
    """A parser that returns the request's stream unread, so that the body can be read as it arrives."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        return stream


class CsvParser(StreamParser):
    media_type = "text/csv"


class JsonLinesParser(StreamParser):
    media_type = "application/x-ndjson"


class JsonArrayParser(StreamParser):
    media_type = "application/json"


_IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="Up to 80 characters of your own. The same request with the same key is done once.",
)


@extend_schema_view(
    list=extend_schema(operation_id="imports_list", tags=["imports"]),
    retrieve=extend_schema(operation_id="imports_retrieve", tags=["imports"]),
)
class ImportViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OwnedViewSet):
    """Imports into the case studies that you may see."""

    serializer_class = ImportSerializer
    lookup_value_converter = "int"
    parser_classes = [MultiPartParser, JsonParser]

    def get_queryset(self) -> QuerySet[ImportBatch]:
        return ImportBatch.objects.filter(case_study__in=permissions.drafts_of(self.request.user)).select_related(
            "case_study", "uploaded_by", "job"
        )

    @extend_schema(
        operation_id="imports_create",
        tags=["imports"],
        request={"multipart/form-data": UploadSerializer},
        responses={202: ImportSerializer, 200: ImportSerializer},
        parameters=[_IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        """Upload result files into a draft. They are read in the background: 202, and the import to look at.

        200 where the same bytes, or the same request by its Idempotency-Key, came in before.
        """
        files = request.FILES.getlist("file")
        if not files:  # first: JSON has none, and need not be an object
            raise FaultyRequest([{"field": "file", "message": "There is no file in the request."}])
        if as_file := sorted({"case_study", "answers", "confirm"} & set(request.FILES)):
            raise FaultyRequest([{"field": as_file[0], "message": "A text is expected, not a file."}])
        draft = draft_to_edit(request.user, request.POST.get("case_study", ""))
        try:
            answers = json.loads(request.POST.get("answers") or "{}")
        except (ValueError, RecursionError) as error:
            raise FaultyRequest([{"field": "answers", "message": f"This is no JSON: {error}."}]) from error
        confirm = request.POST.get("confirm", "").lower()
        if confirm not in ("", "true", "false"):
            raise FaultyRequest([{"field": "confirm", "message": "true or false.", "allowed": ["true", "false"]}])
        uploads = (raw_files.take(file.name, file.chunks()) for file in files)
        batch, is_new = receive(request, draft, uploads, answers=answers, is_confirmed=confirm == "true")
        return self._import_response(batch, status.HTTP_202_ACCEPTED if is_new else status.HTTP_200_OK)

    @extend_schema(
        operation_id="imports_correct", tags=["imports"], request=AnswersSerializer, responses={202: ImportSerializer}
    )
    def partial_update(self, request: Request, pk: int) -> Response:
        """Give other answers in place of those before; the files are read again."""
        batch = self._editable_import()
        run_step(pipeline.correct, batch, request.data)
        return self._import_response(batch, status.HTTP_202_ACCEPTED)

    @extend_schema(operation_id="imports_confirm", tags=["imports"], request=None, responses={202: ImportSerializer})
    @action(detail=True, methods=["post"])
    def confirm(self, request: Request, pk: int) -> Response:
        """File an import that was read without errors; it is read once more before."""
        batch = self._editable_import()
        run_step(pipeline.confirm, batch)
        return self._import_response(batch, status.HTTP_202_ACCEPTED)

    @extend_schema(operation_id="imports_read", tags=["imports"], request=None, responses={202: ImportSerializer})
    @action(detail=True, methods=["post"])
    def read(self, request: Request, pk: int) -> Response:
        """Read it again where reading failed. 409 while it is being read, or where it was read."""
        batch = self._editable_import()
        run_step(pipeline.read_again, batch)
        return self._import_response(batch, status.HTTP_202_ACCEPTED)

    @extend_schema(operation_id="imports_discard", tags=["imports"], responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Discard an import; what it filed is taken out of the draft again."""
        run_step(pipeline.discard, self._editable_import(), user=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _editable_import(self) -> ImportBatch:
        batch = self.get_object()
        if not permissions.may_edit(self.request.user, batch.case_study):
            raise PermissionDenied
        return batch

    def _import_response(self, batch: ImportBatch, code: int) -> Response:
        batch = self.get_queryset().get(pk=batch.pk)
        headers = {"Location": reverse("v1:import-detail", [batch.pk], request=self.request)}
        return Response(self.get_serializer(batch).data, status=code, headers=headers)


class BulkViewSet(OwnedViewSet):
    """Measurements in bulk, in one request."""

    serializer_class = ImportSerializer
    parser_classes = [CsvParser, JsonLinesParser, JsonArrayParser]

    @extend_schema(
        operation_id="drafts_measurements_create",
        tags=["drafts"],
        request={
            "text/csv": OpenApiTypes.BINARY,
            "application/x-ndjson": OpenApiTypes.BINARY,
            "application/json": {"type": "array", "items": {"type": "object", "additionalProperties": True}},
        },
        responses={201: ImportSerializer, 200: ImportSerializer},
        parameters=[
            _IDEMPOTENCY_KEY,
            *(OpenApiParameter(name, str, description="For rows that do not say it themselves.") for name in CONTEXT),
        ],
    )
    def create(self, request: Request, slug: str) -> Response:
        """File a table (CSV, JSON lines, or a JSON array) of up to 64 MiB before the answer; it is read as it arrives.

        All or nothing: 422 names every kind of error by line (of an array: object) and field, and nothing is kept.
        """
        if errors := name_errors(request.query_params, (*CONTEXT, "format")):
            raise FaultyRequest(errors)
        draft = draft_to_edit(request.user, slug)
        suffix = "csv" if request.content_type.startswith("text/csv") else "jsonl"
        context = {name: text for name, text in request.query_params.items() if name in CONTEXT}
        try:
            upload = raw_files.take(f"request.{suffix}", _body_chunks(request.data))
            if request.content_type.startswith("application/json"):
                upload = _json_array_as_lines(upload, check_client(request))
        except raw_files.UploadError as error:
            raise TooLarge(str(error)) from error
        except NotRead as limit:
            raise ParseError("The array: found {}, allowed is {}.".format(*limit.args)) from limit
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from None
        batch, is_new = receive(request, draft, [upload], answers={"context": context}, is_confirmed=True)
        try:
            batch = pipeline.finish(batch)
        except pipeline.ImportRefused as error:
            raise Conflict(str(error)) from error
        if batch.state != State.FILED:
            errors = report_errors(batch.full_report)
            try:
                pipeline.discard(batch, user=user_of(request))
            except pipeline.ImportRefused as error:  # the same request, sent twice at once, has done so
                logger.info("not discarded import=%s reason=%r", batch.pk, str(error))
            raise FaultyRequest(errors, status.HTTP_422_UNPROCESSABLE_ENTITY)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        headers = {"Location": reverse("v1:import-detail", [batch.pk], request=request)}
        return Response(self.get_serializer(batch).data, status=code, headers=headers)


class RawFileSerializer(ReadSerializer):
    """One file that measurements were read from."""

    case_study: serializers.SlugRelatedField[CaseStudy] = serializers.SlugRelatedField(
        slug_field="slug", read_only=True
    )
    content = serializers.SerializerMethodField(help_text="Address of the bytes.")

    class Meta:
        model = RawFile
        fields = ("id", "case_study", "name", "sha256", "size_bytes", "format", "content")

    def get_content(self, file: RawFile) -> str:
        return reverse("v1:raw-file-content", [file.pk], request=self.context.get("request"))


class RawFileViewSet(FactViewSet):
    """The files that published measurements were read from, byte for byte."""

    queryset = visible.raw_files().select_related("case_study")
    serializer_class = RawFileSerializer
    lookup_field = "pk"
    lookup_value_converter = "int"


class RawContentView(OwnedViewSet):
    """The bytes of one file: everyone's once the case study is published."""

    permission_classes = [AllowAny]

    @extend_schema(
        operation_id="raw_files_content",
        tags=["raw-files"],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def content(self, request: Request, pk: int) -> HttpResponseBase:
        """Return the bytes, as they were uploaded. The entity tag is their SHA-256."""
        file = get_object_or_404(RawFile, pk=pk, case_study__in=permissions.seen_by(request.user))
        return raw_files.raw_response(file)


def draft_to_edit(user: Any, slug: str) -> CaseStudy:
    """Return a draft that the user may edit. Raises FaultyRequest (404), Conflict, PermissionDenied."""
    draft = permissions.drafts_of(user).filter(slug=slug).first()
    if draft is None:
        message = "There is no such draft of yours."
        raise FaultyRequest([{"field": "case_study", "message": message}], status.HTTP_404_NOT_FOUND)
    if draft.status != CaseStudy.Status.DRAFT:
        raise Conflict(f"{slug} is {draft.get_status_display()}; results go into drafts only.")
    if not permissions.may_edit(user, draft):
        raise PermissionDenied
    return draft


def receive(request: Request, draft: CaseStudy, uploads: Any, **options: Any) -> tuple[ImportBatch, bool]:
    """Call pipeline.receive with the request's user and idempotency key. Raises errors of the API."""
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > 80 or not key.isprintable():
        raise FaultyRequest([{"field": "Idempotency-Key", "message": "Up to 80 printable characters."}])
    options |= {"user": user_of(request), "door": ImportBatch.Door.API, "wait": check_client(request)}
    return run_step(pipeline.receive, draft, uploads, idempotency_key=key, **options)


def run_step(step: Any, *args: Any, **kwargs: Any) -> Any:
    """Run one step of the pipeline; turn its refusals into errors of the API."""
    try:
        return step(*args, **kwargs)
    except pipeline.KeyReused as error:
        raise Unprocessable(str(error)) from error
    except pipeline.Unusable as error:
        raise FaultyRequest([{"field": error.field, "message": str(error)}]) from error
    except pipeline.ImportRefused as error:
        raise Conflict(str(error)) from error


def report_errors(report: dict[str, Any]) -> list[FieldError]:
    """Return the errors of a report as problem details."""
    errors = [field_error(fault["field"], fault_sentence(fault), fault["line"]) for fault in report["faults"]]
    errors += [{"field": unknown["kind"], "message": unknown_sentence(unknown)} for unknown in report["unknown"]]
    errors += [
        {"field": finding["rule"], "message": finding["message"]}
        for finding in report["lint"]
        if finding["severity"] == "error"
    ]
    return errors or [{"field": "body", "message": "There is no measurement in it."}]


def field_error(field: str, message: str, line: int | None) -> FieldError:
    error: FieldError = {"field": field, "message": message}
    return {**error, "line": line} if line else error


def _body_chunks(stream: Any) -> Iterator[bytes]:
    """Yield the body as it arrives. Django REST framework gives an empty dict for a request without one."""
    return iter(lambda: stream.read(raw_files.CHUNK_BYTES), b"") if hasattr(stream, "read") else iter(())


def _json_array_as_lines(array: raw_files.Upload, wait: Callable[[], None]) -> raw_files.Upload:
    """Return a JSON array as JSON lines, converted in a process with limits. Raises NotRead, ValueError."""
    with closing(array), ReadingProcess(SECONDS_OF_A_PAGE, MEMORY_BYTES_OF_A_PAGE) as process:
        return raw_files.take(array.name, process.lines(process.read(_body_chunks(array.content), wait, ARRAYS)))
