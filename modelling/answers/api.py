"""Rankings as data, and the state of the whole."""

import hashlib
import json
from typing import Any

from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.utils.cache import get_conditional_response
from django.utils.decorators import method_decorator
from django.utils.http import http_date
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from kdb import __version__, status
from kdb.api_errors import FaultyRequest, form_errors, name_errors
from kdb.api_formats import FORMAT_PARAMETER, CsvRenderer, csv_text
from kdb.api_views import PublicView
from modelling.evidence import counts, names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

from . import serializers, snapshots
from .forms import ComparisonForm, ExplanationForm, QuestionForm
from .heat_map import heat_map
from .selectors import answer_at, compared, explained, revision_named

AS_OF = "as_of"
ENTRY_COLUMNS = tuple(serializers.EntrySerializer().fields)
RANKING_KEYS = tuple(serializers.RankingSerializer().fields)
KEYS_WITHIN = {
    "question": tuple(serializers.QuestionSerializer().fields),
    "entries": ENTRY_COLUMNS,
    "parts": tuple(serializers.PartSerializer().fields),
    "scaling": tuple(serializers.ScalingPanelSerializer().fields),
    "evidence": tuple(serializers.CaseStudyEvidenceSerializer().fields),
}

_FILTERS = [
    OpenApiParameter("workload", required=True, description="Workload, by slug, name or alias: `varmail`, `mail`."),
    OpenApiParameter("hypervisor", description="Hypervisor, by slug, name or alias: `kvm`, `proxmox`."),
    OpenApiParameter("guest_fs", description="File system of the guest: `ext4`, `xfs`, `btrfs`."),
    OpenApiParameter("host_fs", description="File system of the host."),
    OpenApiParameter("vm_count", int, description="Virtual machines running together, 1 or more."),
    OpenApiParameter("storage", description="Kind of storage: `hdd`, `ssd`, `nvme`, `mixed`."),
    OpenApiParameter("benchmark", description="Benchmark program: `filebench`."),
    OpenApiParameter("guest_os_family", description="Family of the guest's operating system: `linux`, `windows`."),
    OpenApiParameter("grade", enum=["A", "B", "C", "D"], description="The weakest evidence admitted."),
]
_AS_OF = OpenApiParameter(
    "as_of", int, description="Knowledge revision: the answer as it was then, whatever was published since."
)


@method_decorator(conditional_page, name="dispatch")
class AxisListView(PublicView):
    @extend_schema(operation_id="axes", responses=serializers.AxesSerializer, tags=["rankings"])
    def get(self, request: Request) -> Response:
        """What can be ranked, and where."""
        self.refuse_parameters()
        axes = [
            {"axis": axis.name, "label": axis.label, "url": reverse("ranking", args=[axis.name], request=request)}
            for axis in AXES.values()
        ]
        return Response({"axes": axes})


class RankingView(PublicView):
    renderer_classes = [JSONRenderer, CsvRenderer]

    @extend_schema(
        operation_id="ranking",
        parameters=[OpenApiParameter("axis", location="path", enum=list(AXES)), *_FILTERS, _AS_OF],
        responses=serializers.RankingSerializer,
        tags=["rankings"],
    )
    def get(self, request: Request, axis: str) -> HttpResponseBase:
        """Which entry of the axis is best for a workload, by how much, and on what evidence.

        The entity tag names the answer and its format: ask again with If-None-Match and get 304
        until a publication changes the answer.
        """
        question, _ = question_asked(request, axis, further=(AS_OF,))
        snapshot = answer_at(question, asked_revision(request))
        file_format = request.accepted_renderer.format
        etag = f'"{snapshot.digest}-{snapshot.superseded_by or ""}-{__version__}-{file_format}"'
        modified = int(snapshot.computed_at.timestamp())
        response = get_conditional_response(request, etag=etag, last_modified=modified)
        if response is None:
            response = as_csv(snapshot) if file_format == "csv" else as_json(snapshot)
        response["ETag"] = etag
        response["Last-Modified"] = http_date(modified)
        response["Cache-Control"] = "public, max-age=0, must-revalidate"
        return response


class HeatMapView(PublicView):
    @extend_schema(
        operation_id="heat_map",
        parameters=[*_FILTERS, _AS_OF],
        responses=serializers.HeatMapSerializer,
        tags=["rankings"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """The answer on file-system pairs as a grid of guest and host, with gaps where evidence is missing."""
        question, _ = question_asked(request, "fs-pair", further=(AS_OF,))
        snapshot = answer_at(question, asked_revision(request))
        etag = f'"{snapshot.digest}-{__version__}-heat"'
        response = get_conditional_response(request, etag=etag)
        if response is None:
            grid = heat_map(snapshot.result, names.names()["file_system"])
            body = {"question": question.as_dict(), "revision": snapshot.result["revision"], **grid}
            response = JsonResponse(body, json_dumps_params={"separators": (",", ":")})
        response["ETag"] = etag
        response["Cache-Control"] = "public, max-age=0, must-revalidate"
        return response


class ExplanationView(PublicView):
    @extend_schema(
        operation_id="explanation",
        parameters=[
            OpenApiParameter("axis", required=True, enum=list(AXES), description="What the entries are."),
            OpenApiParameter("a", description="Key of an entry; without both, the best of the answer is explained."),
            OpenApiParameter("b", description="Key of the entry it is held against, by default the last."),
            *_FILTERS,
            _AS_OF,
        ],
        responses=serializers.ExplanationSerializer,
        tags=["explanations"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Why one entry stands above another: typed steps, each with what it rests on."""
        query = request.query_params
        question, form = question_asked(request, query.get("axis", ""), ExplanationForm, ("axis", AS_OF))
        a, b = form.cleaned_data["a"] or None, form.cleaned_data["b"] or None
        return tagged_json(request, explained(question, a, b, asked_revision(request)))


class ComparisonView(PublicView):
    @extend_schema(
        operation_id="comparison",
        parameters=[
            OpenApiParameter("axis", required=True, enum=list(AXES), description="What the entries are."),
            OpenApiParameter(
                "entries", required=True, description="Two to six keys: `ext4-on-ext4,xfs-on-ext4,btrfs-on-ext4`."
            ),
            *_FILTERS,
            _AS_OF,
        ],
        responses=serializers.ComparisonSerializer,
        tags=["explanations"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Two to six entries side by side: their environments, and whether and why each two may be compared."""
        axis = request.query_params.get("axis", "")
        question, form = question_asked(request, axis, ComparisonForm, ("axis", AS_OF))
        return tagged_json(request, compared(question, form.cleaned_data["entries"], asked_revision(request)))


class StatusView(PublicView):
    @extend_schema(
        operation_id="status",
        responses=serializers.StatusSerializer,
        tags=["status"],
    )
    def get(self, request: Request) -> Response:
        """What is published now, which answers wait to be renewed, and the health of database, broker and workers.

        200 while the database answers, whatever else is down; 503 when it does not.
        """
        self.refuse_parameters()
        revision = counts.revision()
        body = {"version": __version__, "revision": revision, **counts.published(revision)}
        body["answers"] = snapshots.state()
        body["health"] = status.health()
        return Response(body, headers={"Cache-Control": "no-store"})


def asked_revision(request: Request) -> int | None:
    """The knowledge revision in the address; None where none is."""
    text = request.query_params.get(AS_OF)
    if text is None:
        return None
    revision = revision_named(text)
    if revision is None:
        message = f"{text!r} is no knowledge revision; there are 1 to {counts.revision()}."
        raise FaultyRequest([{"field": AS_OF, "message": message}])
    return revision


def tagged_json(request: Request, body: dict[str, Any]) -> HttpResponseBase:
    """The body as JSON with an entity tag of its bytes, or 304."""
    text = json.dumps(body, separators=(",", ":"))
    etag = f'"{hashlib.sha256(text.encode()).hexdigest()}-{__version__}"'
    response = get_conditional_response(request, etag=etag)
    if response is None:
        response = HttpResponse(text, content_type="application/json")
    response["ETag"] = etag
    response["Cache-Control"] = "public, max-age=0, must-revalidate"
    return response


def question_asked(
    request: Request, axis: str, form_class: type[QuestionForm] = QuestionForm, further: tuple[str, ...] = ()
) -> tuple[Question, QuestionForm]:
    """The question in the address with its form, or what is wrong with it."""
    query = request.query_params
    if axis not in AXES:
        message = f"{axis!r} cannot be ranked; allowed are {', '.join(AXES)}."
        errors = [{"field": "axis", "message": message, "allowed": list(AXES)}]
        raise FaultyRequest(errors, status_code=400 if "axis" in further else 404)
    form = form_class(query, axis=axis)
    errors = name_errors(query, [*form.fields, *further, FORMAT_PARAMETER]) + form_errors(form)
    if errors:
        raise FaultyRequest(errors)
    return form.question(), form


def as_json(snapshot: RankingSnapshot) -> HttpResponse:
    """The whole answer."""
    body = in_documented_order({**snapshot.result, "superseded_by": snapshot.superseded_by})
    return JsonResponse(body, json_dumps_params={"separators": (",", ":")})


def in_documented_order(result: dict[str, Any]) -> dict[str, Any]:
    """The same answer on every database: PostgreSQL keeps JSON with its keys in another order."""
    body = {key: result[key] for key in RANKING_KEYS}
    for name, keys in KEYS_WITHIN.items():
        value = body[name]
        if isinstance(value, list):
            body[name] = [{key: row[key] for key in keys} for row in value]
        else:
            body[name] = {key: value[key] for key in keys}
    return body


def as_csv(snapshot: RankingSnapshot) -> HttpResponse:
    """The entries, one row each."""
    result = snapshot.result
    asked = [str(result["question"][name]) for name in KEYS_WITHIN["question"] if result["question"][name] is not None]
    name = f"kdb-{'-'.join(asked)}-revision-{result['revision']}.csv"
    response = HttpResponse(csv_text(ENTRY_COLUMNS, result["entries"]), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
