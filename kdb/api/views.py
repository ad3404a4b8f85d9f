"""The index of the API, and its OpenAPI document."""

from csp.decorators import csp_update
from django.http import HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from kdb.api.bodies import Fields

from .public import PublicView
from .schema import RENDERERS, CachedGenerator, rendered_document


class IndexSerializer(Fields):
    """The address of every list, by its name."""

    version = serializers.CharField()
    endpoints = serializers.DictField(child=serializers.URLField())


@method_decorator(conditional_page, name="dispatch")
class IndexView(PublicView):
    endpoints: dict[str, str] = {}

    @extend_schema(operation_id="index", responses=IndexSerializer, tags=["index"])
    def get(self, request: Request) -> Response:
        """List the endpoints with their addresses."""
        self.refuse_parameters()
        addresses = {name: reverse(view, request=request) for name, view in self.endpoints.items()}
        return Response({"version": request.version, "endpoints": addresses})


@method_decorator(conditional_page, name="dispatch")
class SchemaView(SpectacularAPIView):
    """The OpenAPI document: JSON unless YAML is asked for (?format=yaml)."""

    authentication_classes = []
    generator_class = CachedGenerator
    renderer_classes = RENDERERS

    def _get_schema_response(self, request: Request) -> HttpResponse:
        renderer = request.accepted_renderer
        media_type = f"{renderer.media_type}; charset={renderer.charset}" if renderer.charset else renderer.media_type
        name = {"Content-Disposition": f'inline; filename="{self._get_filename(request, request.version)}"'}  # type: ignore[no-untyped-call]
        return HttpResponse(
            rendered_document(request.version, renderer.media_type), content_type=media_type, headers=name
        )


# Swagger UI sets style attributes, which the policy forbids on all other pages.
@method_decorator(csp_update({"style-src": ["'unsafe-inline'"]}), name="dispatch")
class DocsView(SpectacularSwaggerSplitView):
    authentication_classes = []
    url_name = "v1:schema"
