"""The overview as data."""

from dataclasses import asdict

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kdb.api.public import PublicView
from kdb.api.shapes import shape_of
from kdb.web.entity_tags import tagged_json

from .content import Overview
from .selectors import overview


class OverviewView(PublicView):
    @extend_schema(operation_id="overview", responses=shape_of(Overview), tags=["rankings"])
    def get(self, request: Request) -> HttpResponseBase:
        """Tell what is known of every choice under every workload, how well, and where the answer stands.

        `being worked out`: nobody asked before, and a worker is at the answer; ask again.
        """
        self.refuse_parameters()
        return tagged_json(request, asdict(overview()))
