"""The API of rankings, comparisons, mixes, the overview and the status."""

import json
from dataclasses import asdict, fields
from functools import partial
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from kdb import __version__
from kdb.api.bodies import Fields
from kdb.api.errors import database_is_down
from kdb.api.formats import CsvRenderer, csv_text
from kdb.api.public import PublicOrOwnView, PublicView
from kdb.api.shapes import shape_of
from kdb.cost import budget
from kdb.operations import status
from kdb.web.entity_tags import tagged, tagged_json
from modelling.answer_store import releases, snapshots
from modelling.answer_store.selectors import answer_in, waiting_row
from modelling.answer_store.versions import AnswerVersion, answer_version
from modelling.answers import words
from modelling.answers.content import Answer
from modelling.ask.selectors import DISKS, Machine, fit
from modelling.evidence import counts, names
from modelling.evidence.axes import AXES
from modelling.evidence.forms import QuestionForm
from modelling.evidence.question import Question
from modelling.evidence.serialization import (
    AS_OF_PARAMETER,
    FILTERS,
    METHOD_PARAMETER,
    NEEDS,
    VERSION_PARAMETERS,
    question_asked,
    version_asked,
)
from modelling.evidence.storage import get_or_compute
from modelling.models import Laboratory, RankingSnapshot
from modelling.own_lab.selectors import HERE, HERE_PARAMETER, answer_here, laboratory_asked, mix_here

from . import serializers
from .comparison import compare_here, comparison_version
from .forms import CSV_ROWS, ComparisonForm, MixApiForm, RankingForm
from .layout.heat_map import heat_map
from .mix import mix_version
from .overview import overview

CSV_COLUMNS = {name: tuple(shape_of(kind)().fields) for name, kind in CSV_ROWS.items()}
_FIELDS = serializers.RankingSerializer().fields
# Fields that depend on the request keep their places: after the revision, and `fit` after the grounds.
_ANSWER, _REQUEST = ([field.name for field in fields(kind)] for kind in (Answer, serializers.Beside))
_FIT_PLACE = _ANSWER.index("entries")
RANKING_KEYS = (
    *_ANSWER[:2],
    *_REQUEST[:-1],
    *_ANSWER[2:_FIT_PLACE],
    _REQUEST[-1],
    *_ANSWER[_FIT_PLACE:],
)
KEYS_WITHIN = {
    name: tuple(inner.fields)
    for name, field in _FIELDS.items()
    if isinstance(inner := getattr(field, "child", field), Fields)
}


@method_decorator(conditional_page, name="dispatch")
class AxisListView(PublicView):
    @extend_schema(operation_id="axes", responses=serializers.AxesSerializer, tags=["rankings"])
    def get(self, request: Request) -> Response:
        """List what can be ranked, and where."""
        self.refuse_parameters()
        axes = [
            {"axis": axis.name, "label": axis.label, "url": reverse("ranking", args=[axis.name], request=request)}
            for axis in AXES.values()
        ]
        return Response({"axes": axes})


class RankingView(PublicOrOwnView):
    own_with = HERE
    renderer_classes = [JSONRenderer, CsvRenderer]

    @extend_schema(
        operation_id="ranking",
        parameters=[
            OpenApiParameter("axis", location="path", enum=list(AXES)),
            *FILTERS,
            NEEDS,
            OpenApiParameter("disks", enum=list(DISKS), description="Kind of disks you have; see `fit`."),
            OpenApiParameter(
                "images",
                description="Slug of what your images lie on, where it is no file system of the host; see `fit`.",
            ),
            OpenApiParameter(
                "rows",
                enum=list(CSV_COLUMNS),
                description="What CSV has a row of: each entry, or each measured ratio, a point of the chart.",
            ),
            AS_OF_PARAMETER,
            METHOD_PARAMETER,
            HERE_PARAMETER,
        ],
        responses={200: serializers.RankingSerializer, 202: serializers.BeingWorkedOutSerializer},
        tags=["rankings"],
    )
    def get(self, request: Request, axis: str) -> HttpResponseBase:
        """Tell which entry of the axis is best for a workload, by how much, and on what evidence.

        The entity tag names the answer and its format: ask again with If-None-Match and get 304
        until a publication changes the answer. 202: a large answer is being worked out; ask again.
        What is said `here` has no tag: it changes with each run, and is for its members alone.
        """
        laboratory = laboratory_asked(request)
        question, form = question_asked(request, axis, RankingForm, further=(*VERSION_PARAMETERS, HERE))
        csv_rows = form.cleaned_data["rows"] or "entries"
        machine = Machine.of(form.cleaned_data)
        file_format, (as_of, method) = request.accepted_renderer.format, version_asked(request)
        kept = answer_version(question, as_of, method, request.user)
        if kept is None:
            return being_worked_out(question)
        budget.remove_limit()  # only serializing is left, which must not fail on a slow machine
        if laboratory:
            text = as_json(kept, question, machine, laboratory)
            return HttpResponse(text, content_type="application/json")
        tag = "-".join([kept.digest, *machine.given.values(), file_format, csv_rows])
        modified = int(kept.snapshot.computed_at.timestamp())

        def respond() -> HttpResponse:
            if file_format == "csv":
                return as_csv(kept.snapshot, csv_rows)
            write = partial(as_json, kept, question, machine)  # which is most of the cost of a stored answer
            body = get_or_compute(f"modelling.ranking:{tag}", write, cache="bodies", seconds=60)
            return HttpResponse(body, content_type="application/json")

        return tagged(request, tag, respond, modified=modified, is_immutable=bool(method and kept.is_pinned))


class HeatMapView(PublicView):
    @extend_schema(
        operation_id="heat_map",
        parameters=[*FILTERS, NEEDS, AS_OF_PARAMETER, METHOD_PARAMETER],
        responses={200: serializers.HeatMapSerializer, 202: serializers.BeingWorkedOutSerializer},
        tags=["rankings"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Return the answer on file-system pairs as a grid of guest and host, with gaps where evidence is missing."""
        question, _ = question_asked(request, "fs-pair", QuestionForm, VERSION_PARAMETERS)
        as_of, method = version_asked(request)
        kept = answer_version(question, as_of, method, request.user)
        if kept is None:
            return being_worked_out(question)
        answer = answer_in(kept.snapshot)
        body = {
            "question": question.as_dict(),
            "revision": answer.revision,
            **kept.permanence(partial(words.heat_map_address, question)),
            **asdict(heat_map(answer.entries, names.names()["file_system"])),
        }
        return tagged_json(request, body, is_immutable=bool(method and kept.is_pinned))


class ComparisonView(PublicOrOwnView):
    own_with = HERE

    @extend_schema(
        operation_id="comparison",
        parameters=[
            OpenApiParameter("axis", required=True, enum=list(AXES), description="What the entries are."),
            OpenApiParameter(
                "entries", required=True, description="Two to six keys: `ext4-on-ext4,xfs-on-ext4,btrfs-on-ext4`."
            ),
            *FILTERS,
            AS_OF_PARAMETER,
            METHOD_PARAMETER,
            HERE_PARAMETER,
        ],
        responses=serializers.ComparisonSerializer,
        tags=["explanations"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Compare two to six entries side by side: their environments, and whether and why each two may be compared."""
        axis, laboratory = request.query_params.get("axis", ""), laboratory_asked(request)
        question, form = question_asked(request, axis, ComparisonForm, ("axis", HERE, *VERSION_PARAMETERS))
        keys, (as_of, method) = form.cleaned_data["entries"], version_asked(request)
        kept = comparison_version(question, keys, as_of, method, request.user)
        body = {
            **kept.result,
            **kept.permanence(partial(words.comparison_api_address, question, keys)),
            "changes": [aged.sentence for aged in kept.changes],
        }
        if laboratory:
            here = compare_here(question, keys, laboratory)
            return Response({**body, "here": asdict(here) if here else None})
        return tagged_json(request, {**body, "here": None}, is_immutable=bool(method and kept.is_pinned))


class MixView(PublicOrOwnView):
    own_with = HERE

    @extend_schema(
        operation_id="mix",
        parameters=[
            OpenApiParameter("axis", required=True, enum=list(AXES)),
            OpenApiParameter("weights", required=True, description="Workload and weight: `varmail:60,webserver:40`."),
            *(parameter for parameter in FILTERS if parameter.name != "workload"),
            NEEDS,
            AS_OF_PARAMETER,
            METHOD_PARAMETER,
            HERE_PARAMETER,
        ],
        responses=serializers.MixSerializer,
        tags=["rankings"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Rank the entries of an axis for a mix of workloads, and tell how far the shares may move."""
        axis, laboratory = request.query_params.get("axis", ""), laboratory_asked(request)
        question, form = question_asked(request, axis, MixApiForm, ("axis", HERE, *VERSION_PARAMETERS))
        weights, (as_of, method) = form.cleaned_data["weights"], version_asked(request)
        kept = mix_version(question, weights, as_of, method, request.user)
        mix = {**kept.result, **kept.permanence(partial(words.mix_api_address, question, weights))}
        body = {"axis": axis, "filters": question.asked, "metric": mix.pop("question")["metric"], **mix}
        if laboratory:
            return Response({**body, "here": asdict(mix_here(question, weights, laboratory))})
        return tagged_json(request, {**body, "here": None}, is_immutable=bool(method and kept.is_pinned))


class OverviewView(PublicView):
    @extend_schema(operation_id="overview", responses=serializers.OverviewSerializer, tags=["rankings"])
    def get(self, request: Request) -> HttpResponseBase:
        """Tell what is known of every choice under every workload, how well, and where the answer stands.

        `being worked out`: nobody asked before, and a worker is at the answer; ask again.
        """
        self.refuse_parameters()
        return tagged_json(request, asdict(overview()))


def figures() -> dict[str, Any]:
    """Return what is published now, which answers wait, and when a worker was last seen."""
    revision = counts.revision()
    published = {"revision": revision, **counts.published(revision), "answers": snapshots.renewal_state()}
    return {"published": published, "worker_seen_at": status.worker_seen_at()}


FIGURES = status.Probe(figures)


class StatusView(PublicView):
    throttle_classes = []  # throttles use Redis, which may hang; one thread serves all requests for the status

    @extend_schema(
        operation_id="status",
        responses=serializers.StatusSerializer,
        tags=["status"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Tell what is published now, which answers wait to be renewed, and the health of database, broker, workers
        and storage.

        It never waits for what does not answer. 200 while the database does, whatever else is down, and while it is
        only slow: then with the last known figures and their age. 503 when it does not; the problem has the same
        fields, as far as they are known.
        """
        self.refuse_parameters()
        sight, health = status.health(FIGURES)
        age = None if sight.age_seconds is None else round(sight.age_seconds, 1)
        known = sight.value["published"] if sight.value else {}
        body = {"version": __version__, **known, "age_seconds": age, "health": health}
        if sight.value and health["database"]["status"] != "down":
            return Response(body, headers={"Cache-Control": "no-store"})
        response = database_is_down(further=body)
        response["Cache-Control"] = "no-store"
        return response


def being_worked_out(question: Question) -> Response:
    """Respond that the answer is being computed: ask again in two seconds."""
    row = waiting_row(question)
    body = {
        "detail": "The answer is being worked out.",
        "question": question.as_dict(),
        "error": row.error if row else "",
    }
    return Response(body, status=202, headers={"Retry-After": "2", "Cache-Control": "no-store"})


def as_json(kept: AnswerVersion, question: Question, machine: Machine, laboratory: Laboratory | None = None) -> str:
    """Serialize the answer with its permanent address and the fit of the machine to its evidence.

    laboratory : whose member asks for the answer on its machine
    """
    here = answer_here(question, laboratory) if laboratory else None
    seen = [releases.newest_releases_in_laboratory(laboratory)] if laboratory else []
    result = kept.snapshot.result
    fitting = fit(question.axis, question.filters, machine, result["grounds"]["facts"], names.names())
    beside = {
        "superseded_by": kept.superseded_by,
        "fit": asdict(fitting),
        **kept.permanence(partial(words.api_address, question)),
        "doubt": kept.caveat,
        "here": asdict(here) if here else None,
        "releases": [asdict(line) for line in releases.releases(question, result, *seen)] if not kept.as_of else [],
    }
    return json.dumps(order_fields({**result, **beside}), separators=(",", ":"))


def order_fields(result: dict[str, Any]) -> dict[str, Any]:
    """Put the fields in the documented order, as PostgreSQL does not keep the order of JSON keys."""
    body = {key: result[key] for key in RANKING_KEYS if key in result}
    for name, keys in KEYS_WITHIN.items():
        value = body.get(name)
        if isinstance(value, list):
            body[name] = [{key: row[key] for key in keys if key in row} for row in value]
        elif value is not None:
            body[name] = {key: value[key] for key in keys if key in value}
    return body


def as_csv(snapshot: RankingSnapshot, rows: str) -> HttpResponse:
    """Return a field of the answer, one row for each of its items. rows : of CSV_COLUMNS"""
    result = snapshot.result
    values = [result["question"][name] for name in KEYS_WITHIN["question"]]
    asked = ["-".join(value) if isinstance(value, list) else str(value) for value in values if value not in (None, [])]
    name = f"kdb-{'-'.join(asked)}-revision-{result['revision']}-method-{snapshot.method}.csv"
    text = csv_text(CSV_COLUMNS[rows], result.get(rows, ()))  # answers of earlier methods lack some
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
