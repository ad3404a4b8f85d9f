"""Comparisons as data."""

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
    Permanence,
    asked_method,
    asked_revision,
    question_asked,
)
from modelling.evidence.axes import AXES
from modelling.here.selectors import HERE, HERE_PARAMETER, laboratory_asked

from .content import BesideComparison, Comparison
from .forms import ComparisonForm
from .selectors import compared_here, comparison_given
from .words import comparison_api_address


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
        responses=shape_of(Comparison, Permanence, BesideComparison),
        tags=["explanations"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Compare two to six entries side by side: their environments, and whether and why each two may be compared."""
        axis, laboratory = request.query_params.get("axis", ""), laboratory_asked(request)
        question, form = question_asked(request, axis, ComparisonForm, ("axis", HERE, *EDITION))
        keys, as_of = form.cleaned_data["entries"], asked_revision(request)
        method = asked_method(request)
        given = comparison_given(question, keys, as_of, method, request.user)
        body = given.as_json(partial(comparison_api_address, question, keys))
        body["changes"] = [aged.sentence for aged in given.changes]
        if laboratory:
            here = compared_here(question, keys, laboratory)
            return Response({**body, "here": asdict(here) if here else None})
        return tagged_json(request, {**body, "here": None}, is_immutable=bool(method and given.is_pinned))
