"""Conflicts as data."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kdb.api.public import PublicView
from kdb.api.shapes import shape_of

from . import reports
from .content import Conflicts


class ConflictsView(PublicView):
    """Where research groups disagree by more than laboratories usually do."""

    @extend_schema(operation_id="conflicts", tags=["rankings"], responses={200: shape_of(Conflicts), 202: None})
    def get(self, request: Request) -> Response:
        """Return the newest list, with its knowledge revision; 202 while the first is being made."""
        self.refuse_parameters()
        report = reports.current()
        return Response(report.result) if report else Response(status=202, headers={"Retry-After": "30"})
