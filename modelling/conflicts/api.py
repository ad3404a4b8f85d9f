"""Conflicts as data."""

from django.http import HttpResponseBase, JsonResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from kdb.api.public import PublicView
from kdb.api.shapes import shape_of
from kdb.web.entity_tags import tagged

from . import reports
from .content import Conflicts


class BeingWorkedOut(APIException):
    status_code = 503
    default_detail = "The list is being worked out; ask again in a while."
    wait = 30  # seconds


class ConflictsView(PublicView):
    """Where research groups disagree by more than laboratories usually do."""

    @extend_schema(operation_id="conflicts", tags=["rankings"], responses=shape_of(Conflicts))
    def get(self, request: Request) -> HttpResponseBase:
        """Return the newest list, with its knowledge revision.

        The entity tag names the list: ask again with If-None-Match and get 304 until it changes.
        """
        self.refuse_parameters()
        report = reports.KEPT.current()
        if report is None:
            raise BeingWorkedOut
        return tagged(request, f"conflicts-{report.method}-{report.revision}", lambda: JsonResponse(report.result))
