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
from modelling.models import DetectionModel

from . import selectors
from .evaluation import IDLE, UNLIKE
from .keeping import current

COUNTS = f"Workload that ran to what was said (a workload, {IDLE!r} or {UNLIKE!r}) to how often."


class DetectedMixSerializer(Fields):
    """The work of a machine in the last 24 hours, in the workloads that are known."""

    shares = serializers.DictField(
        child=serializers.FloatField(), help_text="Workload to its share of the minutes that are like a known one."
    )
    probability = serializers.FloatField(help_text="Mean of the probability of the likeliest workload, 0 to 1.")
    minutes = serializers.IntegerField(help_text="That were watched.")
    idle = serializers.FloatField(help_text="Share of these minutes in which its disks were idle.")
    unlike = serializers.FloatField(help_text="Share of these minutes that are unlike anything known.")
    why_not = serializers.CharField(allow_null=True, help_text="Why there are no shares; null where there are.")


class CalibrationBinSerializer(Fields):
    low = serializers.FloatField(help_text="Probability of the likeliest workload, from here")
    high = serializers.FloatField(help_text="to here.")
    signatures = serializers.IntegerField()
    mean = serializers.FloatField(help_text="Of these probabilities.")
    right = serializers.FloatField(help_text="Share of these whose likeliest workload ran.")


def _counted() -> serializers.DictField:
    return serializers.DictField(child=serializers.IntegerField(), help_text="Workload to number.")


def _confusion() -> serializers.DictField:
    return serializers.DictField(child=serializers.DictField(child=serializers.IntegerField()), help_text=COUNTS)


class DetectionReportSerializer(Fields):
    """The figures that tell how good a model is, by runs left out."""

    workloads = serializers.ListField(child=serializers.CharField())
    signatures = _counted()
    runs = _counted()
    too_few = _counted()
    idle = _counted()
    confusion = _confusion()
    confusion_of_runs = _confusion()
    calibration = CalibrationBinSerializer(many=True)
    log_score = serializers.FloatField(help_text="Mean ln of the probability of what ran; 0 is best.")
    penalty = serializers.FloatField(help_text="Of a signature on the wrong side (C).")
    farthest = serializers.FloatField(help_text="Distance beyond which nothing is known, standard deviations.")
    foreign = _confusion()


class DetectionModelSerializer(Fields):
    """The model that tells workloads by block statistics; null where there is none."""

    made_at = serializers.DateTimeField(allow_null=True)
    signatures = serializers.IntegerField(help_text="That it was made from.")
    why_not = serializers.CharField(allow_null=True, help_text="Why nothing is foretold; null where it is.")
    report = DetectionReportSerializer(allow_null=True)


class DetectedMixViewSet(OperatorViewSet):
    """The detected mixes of observed machines."""

    queryset = ObservedMachine.objects.all()
    serializer_class = DetectedMixSerializer
    lookup_field = "pk"

    @extend_schema(operation_id="observed_machines_mix", tags=[TAG], responses=DetectedMixSerializer)
    def retrieve(self, request: Request, pk: int) -> Response:
        """Return what a machine did in the last 24 hours, in the workloads that are known."""
        mix = selectors.mix_of(self.get_object()) or selectors.NOTHING
        return Response(DetectedMixSerializer({**vars(mix), "why_not": mix.why_not or None}).data)


class DetectionModelViewSet(OperatorViewSet):
    """The model that tells workloads by block statistics."""

    queryset = DetectionModel.objects.all()
    serializer_class = DetectionModelSerializer

    @extend_schema(operation_id="detection_model", tags=[TAG], responses=DetectionModelSerializer)
    def retrieve(self, request: Request) -> Response:
        """Return the newest model, and how good it is by runs left out."""
        model = current()
        content: dict[str, Any] = {"made_at": None, "signatures": 0, "why_not": selectors.NO_MODEL, "report": None}
        if model is not None:
            content = {
                "made_at": model.made_at,
                "signatures": model.signatures,
                "why_not": model.why_not or None,
                "report": model.report or None,
            }
        return Response(DetectionModelSerializer(content).data)
