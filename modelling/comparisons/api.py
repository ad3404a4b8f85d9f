"""Comparisons as data."""

from dataclasses import asdict

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from kdb.api_views import PublicView
from kdb.entity_tags import tagged_json
from modelling.evidence.asking import AS_OF, AS_OF_PARAMETER, FILTERS, asked_revision, question_asked
from modelling.evidence.axes import AXES

from .forms import ComparisonForm
from .selectors import compared
from .serializers import ComparisonSerializer


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
        ],
        responses=ComparisonSerializer,
        tags=["explanations"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Two to six entries side by side: their environments, and whether and why each two may be compared."""
        axis = request.query_params.get("axis", "")
        question, form = question_asked(request, axis, ComparisonForm, ("axis", AS_OF))
        found = compared(question, form.cleaned_data["entries"], asked_revision(request))
        return tagged_json(request, asdict(found))
