"""Mixes of workloads as data."""

from functools import partial

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from kdb.api.bodies import Fields
from kdb.api.public import PublicView
from kdb.units import METRICS
from kdb.web.entity_tags import tagged_json
from modelling.evidence.asking import (
    AS_OF_PARAMETER,
    EDITION,
    FILTERS,
    METHOD_PARAMETER,
    GivenSerializer,
    GroundsSerializer,
    VerdictSerializer,
    asked_method,
    asked_revision,
    question_asked,
)
from modelling.evidence.axes import AXES

from .forms import MixApiForm
from .selectors import mix_given
from .words import mix_api_address


class MixEntrySerializer(Fields):
    key = serializers.CharField()
    label = serializers.CharField()
    rank = serializers.IntegerField()
    ratio = serializers.FloatField(help_text="Of the mix against the best, in the metric: a weighted geometric mean.")
    low = serializers.FloatField(help_text="Of its 95 % interval.")
    high = serializers.FloatField()
    tied = serializers.BooleanField(help_text="Whether the evidence cannot tell it from the best.")
    p_score = serializers.FloatField()
    parts = serializers.DictField(child=serializers.FloatField(), help_text="Workload to ratio against the best.")
    probability_best = serializers.FloatField(help_text="In a new laboratory, 0 to 1.")
    probability_slower = serializers.FloatField(help_text="Than the best by the margin, 0 to 1.")
    expected_loss = serializers.FloatField(help_text="Percent of the best's, when it is chosen.")
    verdict = serializers.ChoiceField(choices=["use", "doubtful", "avoid", "unknown"])


class RangeSerializer(Fields):
    """Shares of a workload, the others in proportion, for which the best stays the best."""

    workload = serializers.CharField()
    share = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    below = serializers.CharField(allow_null=True, help_text="Best below `low`.")
    above = serializers.CharField(allow_null=True, help_text="Best above `high`.")


class ShareSerializer(Fields):
    """The knowledge of one workload of the mix by itself."""

    workload = serializers.CharField()
    share = serializers.FloatField()
    has_numbers = serializers.BooleanField(help_text="Whether numbers compare any entries under it.")
    verdict = VerdictSerializer(help_text="Of the answer on it alone.")
    forecast = serializers.CharField(
        allow_blank=True, help_text="Without numbers: what a model expects of two entries; no mix contains it."
    )


class MixSerializer(GivenSerializer):
    """Entries ranked for a mix of workloads."""

    axis = serializers.ChoiceField(choices=list(AXES))
    filters = serializers.DictField(help_text="That narrow the evidence, by the names of the parameters.")
    metric = serializers.ChoiceField(choices=list(METRICS), help_text="What is compared.")
    weights = serializers.DictField(child=serializers.FloatField(), help_text="Workload to share; they add up to 1.")
    revision = serializers.IntegerField(help_text="Knowledge revision it was computed from.")
    verdict = VerdictSerializer()
    grounds = GroundsSerializer()
    entries = MixEntrySerializer(many=True)
    ranges = RangeSerializer(many=True)
    left_out = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Entry to the workloads that have no numbers joining it to the ranked ones.",
    )
    unmeasured = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Of these, entry to the workloads that have no comparable numbers of it at all.",
    )
    shares = ShareSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField(), help_text="What a careful reader must know.")


class MixView(PublicView):
    @extend_schema(
        operation_id="mix",
        parameters=[
            OpenApiParameter("axis", required=True, enum=list(AXES)),
            OpenApiParameter("weights", required=True, description="Workload and weight: `varmail:60,webserver:40`."),
            *(parameter for parameter in FILTERS if parameter.name != "workload"),
            AS_OF_PARAMETER,
            METHOD_PARAMETER,
        ],
        responses=MixSerializer,
        tags=["rankings"],
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Rank the entries of an axis for a mix of workloads, and tell how far the shares may move."""
        axis = request.query_params.get("axis", "")
        question, form = question_asked(request, axis, MixApiForm, ("axis", *EDITION))
        weights, as_of = form.cleaned_data["weights"], asked_revision(request)
        found = mix_given(question, weights, as_of, asked_method(request), request.user)
        mix = found.as_json(partial(mix_api_address, question, weights))
        by = mix.pop("question")["metric"]
        body = {"axis": axis, "filters": question.filters, "metric": by, **mix}
        return tagged_json(request, body, is_immutable=found.is_final)
