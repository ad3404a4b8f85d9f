"""The API of kits."""

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.campaigns.kits.definitions import kits
from kdb.api.bodies import Fields
from kdb.api.public import PublicView
from kdb.api.shapes import shape_of

from . import selectors
from .content import KitReport, KitSummary


class KitsSerializer(Fields):
    """Every kit."""

    kits = serializers.ListField(child=shape_of(KitSummary)())


class KitListView(PublicView):
    @extend_schema(operation_id="kits", responses=KitsSerializer, tags=["kits"])
    def get(self, request: Request) -> Response:
        """List the kits: plans that answer common questions the same way in every laboratory, and who ran them."""
        self.refuse_parameters()
        return Response(KitsSerializer({"kits": selectors.summaries()}).data)


class KitView(PublicView):
    @extend_schema(operation_id="kit", responses=shape_of(KitReport), tags=["kits"])
    def get(self, request: Request, slug: str) -> Response:
        """Return a kit: its plan, who ran it, and what they measured, pair by pair."""
        self.refuse_parameters()
        if (kit := kits().get(slug)) is None:
            raise Http404(f"no kit {slug}")
        return Response(shape_of(KitReport)(selectors.report(kit)).data)
