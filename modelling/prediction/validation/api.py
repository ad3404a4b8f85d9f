"""The API of the report on model quality."""

from django.http import HttpResponseBase, JsonResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from kdb.api.public import PublicView
from kdb.api.shapes import shape_of
from kdb.web.entity_tags import tagged

from . import reports
from .content import ModelQuality


class BeingWorkedOut(APIException):
    status_code = 503
    default_detail = "The report is being worked out; ask again in a while."
    wait = 30  # seconds


class ModelQualityView(PublicView):
    @extend_schema(operation_id="model_quality", responses=shape_of(ModelQuality), tags=["model quality"])
    def get(self, request: Request) -> HttpResponseBase:
        """Report how well the model predicts the measurements of a research group from all other groups' evidence.

        The entity tag names the report: ask again with If-None-Match and get 304 until it changes.
        """
        self.refuse_parameters()
        report = reports.KEPT.current()
        if report is None:
            raise BeingWorkedOut
        return tagged(request, report.digest, lambda: JsonResponse(shape_of(ModelQuality)(report.result).data))
