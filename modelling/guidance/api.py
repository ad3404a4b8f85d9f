"""Makers' advice by the API."""

from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema

from experiments.records.api.views import TableViewSet
from kdb.api.shapes import shape_of
from modelling.models import Advice

from .content import Statement
from .forms import GuidanceFilters


@method_decorator(extend_schema(tags=["guidance"]), name="list")
@method_decorator(extend_schema(tags=["guidance"]), name="retrieve")
class GuidanceViewSet(TableViewSet):
    """What makers advise on storage of virtual machines. It is no evidence of speed and enters no estimate."""

    queryset = Advice.objects.all()
    serializer_class = shape_of(Statement)
    filterset_class = GuidanceFilters
    lookup_field = "code"
