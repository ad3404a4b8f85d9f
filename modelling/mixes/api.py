"""Mixes of workloads as data."""

from dataclasses import asdict
from functools import partial

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kdb.api.public import PublicOrOwnView
from kdb.api.shapes import shape_of
from kdb.web.entity_tags import tagged_json
from modelling.evidence.asking import (
    AS_OF_PARAMETER,
    EDITION,
    FILTERS,
    METHOD_PARAMETER,
    NEEDS,
    Permanence,
    asked_method,
    asked_revision,
    question_asked,
)
from modelling.evidence.axes import AXES
from modelling.here.selectors import HERE, HERE_PARAMETER, laboratory_asked, mix_here

from .content import MixAnswer, MixAsked
from .forms import MixApiForm
from .selectors import mix_given
from .words import mix_api_address


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
        responses=shape_of(MixAnswer, MixAsked, Permanence),
        tags=["rankings"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Rank the entries of an axis for a mix of workloads, and tell how far the shares may move."""
        axis, laboratory = request.query_params.get("axis", ""), laboratory_asked(request)
        question, form = question_asked(request, axis, MixApiForm, ("axis", HERE, *EDITION))
        weights, as_of = form.cleaned_data["weights"], asked_revision(request)
        method = asked_method(request)
        given = mix_given(question, weights, as_of, method, request.user)
        mix = given.as_json(partial(mix_api_address, question, weights))
        by = mix.pop("question")["metric"]
        body = {"axis": axis, "filters": question.asked, "metric": by, **mix}
        if laboratory:
            return Response({**body, "here": asdict(mix_here(question, weights, laboratory))})
        return tagged_json(request, {**body, "here": None}, is_immutable=bool(method and given.is_pinned))
