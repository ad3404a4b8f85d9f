"""The detected mixes and the model, for operators and their programs (scope `campaign`)."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.campaigns.api import OperatorViewSet
from experiments.fleet.api import TAG
from experiments.models import ObservedMachine
from kdb.api.bodies import Fields
from kdb.api.shapes import shape_of
from modelling.models import DetectionModel

from . import selectors
from .content import Mix, Report
from .persistence import current_model


class DetectionModelSerializer(Fields):
    """The model that tells workloads by block statistics; null where there is none."""

    made_at = serializers.DateTimeField(allow_null=True)
    signatures = serializers.IntegerField(help_text="That it was made from.")
    why_not = serializers.CharField(allow_null=True, help_text="Why nothing is foretold; null where it is.")
    report = shape_of(Report)(allow_null=True)


class DetectedMixViewSet(OperatorViewSet):
    """The detected mixes of observed machines."""

    queryset = ObservedMachine.objects.all()
    serializer_class = shape_of(Mix)
    lookup_field = "pk"

    @extend_schema(operation_id="observed_machines_mix", tags=[TAG], responses=shape_of(Mix))
    def retrieve(self, request: Request, pk: int) -> Response:
        """Return what a machine did in the last 24 hours, in the workloads that are known."""
        mix = selectors.mix_of(self.get_object()) or selectors.NOTHING
        return Response(shape_of(Mix)(mix).data)


class DetectionModelViewSet(OperatorViewSet):
    """The model that tells workloads by block statistics."""

    queryset = DetectionModel.objects.all()
    serializer_class = DetectionModelSerializer

    @extend_schema(operation_id="detection_model", tags=[TAG], responses=DetectionModelSerializer)
    def retrieve(self, request: Request) -> Response:
        """Return the newest model, and how good it is by runs left out."""
        model = current_model()
        content: dict[str, Any] = {"made_at": None, "signatures": 0, "why_not": selectors.NO_MODEL, "report": None}
        if model is not None:
            content = {
                "made_at": model.made_at,
                "signatures": model.signatures,
                "why_not": model.why_not or None,
                "report": model.report or None,
            }
        return Response(DetectionModelSerializer(content).data)
