"""The front door of the API."""

from typing import Any

from csp.decorators import csp_update
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from .api_errors import FaultyRequest, name_errors
from .api_formats import FORMAT_PARAMETER
from .api_schema import CachedGenerator


class PublicView(APIView):
    """What everyone may read; nothing depends on who asks, so nobody is looked up."""

    authentication_classes = []
    permission_classes = [AllowAny]

    def refuse_parameters(self) -> None:
        """For addresses that take none but the format."""
        if errors := name_errors(self.request.query_params, [FORMAT_PARAMETER]):
            raise FaultyRequest(errors)


class IndexSerializer(serializers.Serializer[Any]):
    """The address of every list, by its name."""

    version = serializers.CharField()
    endpoints = serializers.DictField(child=serializers.URLField())


@method_decorator(conditional_page, name="dispatch")
class IndexView(PublicView):
    endpoints: dict[str, str] = {}

    @extend_schema(operation_id="index", responses=IndexSerializer, tags=["index"])
    def get(self, request: Request) -> Response:
        """What there is."""
        self.refuse_parameters()
        addresses = {name: reverse(view, request=request) for name, view in self.endpoints.items()}
        return Response({"version": request.version, "endpoints": addresses})


@method_decorator(conditional_page, name="dispatch")
class SchemaView(SpectacularAPIView):
    """The OpenAPI document: JSON unless YAML is asked for (?format=yaml)."""

    authentication_classes = []
    generator_class = CachedGenerator
    renderer_classes = [OpenApiJsonRenderer2, OpenApiJsonRenderer, OpenApiYamlRenderer2, OpenApiYamlRenderer]


# Swagger UI sets style attributes; this page alone may.
@method_decorator(csp_update({"style-src": ["'unsafe-inline'"]}), name="dispatch")
class DocsView(SpectacularSwaggerSplitView):
    authentication_classes = []
    url_name = "v1:schema"
