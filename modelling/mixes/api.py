"""Mixes of workloads as data."""

from dataclasses import asdict

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from kdb.api_errors import refuse_faults
from kdb.api_views import PublicView
from kdb.entity_tags import tagged_json
from modelling.evidence import counts, names
from modelling.evidence.axes import AXES

from .forms import MixApiForm
from .selectors import mixed


class MixEntrySerializer(serializers.Serializer):
    key = serializers.CharField()
    label = serializers.CharField()
    rank = serializers.IntegerField()
    ratio = serializers.FloatField(help_text="Throughput of the mix against the best: a weighted geometric mean.")
    low = serializers.FloatField(help_text="Of its 95 % interval.")
    high = serializers.FloatField()
    tied = serializers.BooleanField(help_text="Whether the evidence cannot tell it from the best.")
    p_score = serializers.FloatField()
    parts = serializers.DictField(child=serializers.FloatField(), help_text="Workload to ratio against the best.")


class RangeSerializer(serializers.Serializer):
    """Shares of a workload, the others in proportion, for which the best stays the best."""

    workload = serializers.CharField()
    share = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    below = serializers.CharField(allow_null=True, help_text="Best below `low`.")
    above = serializers.CharField(allow_null=True, help_text="Best above `high`.")


class MixSerializer(serializers.Serializer):
    """Entries ranked for a mix of workloads."""

    axis = serializers.ChoiceField(choices=list(AXES))
    weights = serializers.DictField(child=serializers.FloatField(), help_text="Workload to share; they add up to 1.")
    revision = serializers.IntegerField(help_text="Knowledge revision it was computed from.")
    entries = MixEntrySerializer(many=True)
    ranges = RangeSerializer(many=True)
    left_out = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Entry to the workloads that have no numbers joining it to the ranked ones.",
    )


class MixView(PublicView):
    @extend_schema(
        operation_id="mix",
        parameters=[
            OpenApiParameter("axis", required=True, enum=list(AXES)),
            OpenApiParameter("weights", required=True, description="Workload and weight: `varmail:60,webserver:40`."),
            OpenApiParameter("hypervisor", description="Hypervisor, by slug or alias."),
            OpenApiParameter("guest_fs", description="File system of the guest."),
            OpenApiParameter("host_fs", description="File system of the host."),
            OpenApiParameter("vm_count", int, description="Virtual machines running together, 1 or more."),
        ],
        responses=MixSerializer,
        tags=["rankings"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Which entry of an axis is best for a mix of workloads, and how far the shares may move."""
        form = MixApiForm(request.query_params)
        refuse_faults(form, request.query_params)
        question, weights = form.question(), form.cleaned_data["weights"]
        found = mixed(question, weights)
        total = sum(weights.values())
        axis = AXES[question.axis]
        body = {
            "axis": question.axis,
            "weights": {workload: weight / total for workload, weight in weights.items()},
            "revision": counts.revision(),
            "entries": [{**asdict(entry), "label": names.label(axis, entry.key)} for entry in found.entries],
            "ranges": [asdict(each) for each in found.ranges],
            "left_out": found.left_out,
        }
        return tagged_json(request, body)
