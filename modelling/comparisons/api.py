"""Comparisons as data."""

from functools import partial

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from kdb.api.public import PublicView
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

from .content import Comparison
from .forms import ComparisonForm
from .selectors import comparison_given
from .words import comparison_api_address


class ComparisonView(PublicView):
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
        ],
        responses=shape_of(Comparison, Permanence),
        tags=["explanations"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Compare two to six entries side by side: their environments, and whether and why each two may be compared."""
        axis = request.query_params.get("axis", "")
        question, form = question_asked(request, axis, ComparisonForm, ("axis", *EDITION))
        keys, as_of = form.cleaned_data["entries"], asked_revision(request)
        given = comparison_given(question, keys, as_of, asked_method(request), request.user)
        body = given.as_json(partial(comparison_api_address, question, keys))
        return tagged_json(request, body, is_immutable=given.is_final)
