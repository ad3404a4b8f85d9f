"""Explanations as data."""

from dataclasses import asdict

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from kdb.api.public import PublicView
from kdb.api.shapes import shape_of
from kdb.web.entity_tags import tagged_json
from modelling.evidence.axes import AXES
from modelling.evidence.serialization import AS_OF, AS_OF_PARAMETER, FILTERS, asked_revision, question_asked

from .content import Explanation
from .forms import ExplanationForm
from .selectors import explained


class ExplanationView(PublicView):
    @extend_schema(
        operation_id="explanation",
        parameters=[
            OpenApiParameter("axis", required=True, enum=list(AXES), description="What the entries are."),
            OpenApiParameter("a", description="Key of an entry; without both, the best of the answer is explained."),
            OpenApiParameter("b", description="Key of the entry it is held against, by default the last."),
            *FILTERS,
            AS_OF_PARAMETER,
        ],
        responses=shape_of(Explanation),
        tags=["explanations"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Explain why one entry stands above another: typed steps, each with what it rests on."""
        query = request.query_params
        question, form = question_asked(request, query.get("axis", ""), ExplanationForm, ("axis", AS_OF))
        a, b = form.cleaned_data["a"] or None, form.cleaned_data["b"] or None
        return tagged_json(request, asdict(explained(question, a, b, asked_revision(request))))
