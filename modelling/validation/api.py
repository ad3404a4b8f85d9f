"""The report on model quality, as data."""

from django.http import HttpResponseBase, JsonResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from experiments.plausibility import FlaggedNumber
from kdb.api.bodies import Fields
from kdb.api.public import PublicView
from kdb.api.shapes import shape_of
from kdb.web.entity_tags import tagged
from modelling.evidence.axes import AXES

from . import reports
from .clustered import SCORES
from .groups import BY, Calibration, Example


class DuelSerializer(Fields):
    """A count of how often the rank correlation is better, alike or worse than a naive method's, where both answer."""

    naive = serializers.CharField()
    better = serializers.IntegerField()
    alike = serializers.IntegerField()
    worse = serializers.IntegerField()


class MethodSerializer(Fields):
    method = serializers.CharField()
    label = serializers.CharField()
    is_naive = serializers.BooleanField()
    axes = serializers.ListField(child=serializers.CharField(), help_text="What it can be asked about at all.")


class QualitySummarySerializer(Fields):
    """One method over all questions of an axis. Means are over the questions it answered."""

    axis = serializers.ChoiceField(choices=list(AXES), allow_null=True, help_text="Null: all axes together.")
    method = serializers.CharField()
    asked = serializers.IntegerField()
    answered = serializers.IntegerField()
    kendall = serializers.FloatField(allow_null=True, help_text="Mean rank correlation, -1 to 1.")
    spearman = serializers.FloatField(allow_null=True, help_text="Mean rank correlation, -1 to 1.")
    top = serializers.FloatField(allow_null=True, help_text="Share of questions whose best entry was named.")
    by_chance = serializers.FloatField(allow_null=True, help_text="The same for a blind pick.")
    ratio_error = serializers.FloatField(allow_null=True, help_text="Median factor by which a ratio is off, 1 or more.")
    pairs = serializers.IntegerField(help_text="Ratios that were predicted and measured.")
    covered = serializers.IntegerField(help_text="Of these, measured inside the 95 % prediction interval.")
    duels = DuelSerializer(many=True)


class QualityPredictionSerializer(Fields):
    """The prediction of one method for one question."""

    method = serializers.CharField()
    cannot = serializers.CharField(allow_null=True, help_text="Why it has no prediction; then the rest is empty.")
    order = serializers.ListField(child=serializers.CharField(), help_text="The entries it knows, best first.")
    kendall = serializers.FloatField(allow_null=True)
    spearman = serializers.FloatField(allow_null=True)
    top = serializers.FloatField(allow_null=True)
    ratio_error = serializers.FloatField(allow_null=True)
    pairs = serializers.IntegerField()
    covered = serializers.IntegerField()


class QualityQuestionSerializer(Fields):
    """One question that the case studies left out answer by themselves."""

    case_studies = serializers.ListField(child=serializers.CharField())
    axis = serializers.ChoiceField(choices=list(AXES))
    workload = serializers.CharField()
    hypervisor = serializers.CharField(allow_null=True)
    basis = serializers.ChoiceField(choices=["numbers", "findings"])
    entries = serializers.ListField(child=serializers.CharField(), help_text="As found, best first.")
    predictions = QualityPredictionSerializer(many=True)


class ForecastsInUseSerializer(Fields):
    """The method that forecasts what nobody measured."""

    method = serializers.CharField()
    label = serializers.CharField()
    since = serializers.DateField()
    shortfalls = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text='Method to why it may not forecast: "inside" (fewer than 90 % of its ratios are in their interval) '
        'or "log_score against NAIVE" (it scores below that naive method).',
    )


class ClusteredScoreSerializer(Fields):
    """A mean over distinct questions; the 95 % interval resamples laboratories. Null where nothing was scored."""

    method = serializers.CharField()
    score = serializers.ChoiceField(
        choices=list(SCORES),
        help_text="kendall; top: chance that the best was named; error: |ln(predicted / measured ratio)|; inside: "
        "share of ratios in their 95 % interval; log_score: ln density of the measured ln ratio, larger is better.",
    )
    against = serializers.CharField(allow_null=True, help_text="A naive method whose score is subtracted.")
    mean = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    cells = serializers.IntegerField(help_text="Distinct questions: of one laboratory on one workload.")
    laboratories = serializers.IntegerField()


class MethodScoresSerializer(Fields):
    """The means of one method; the fields are the scores of `clustered`."""

    method = serializers.CharField()
    kendall = serializers.FloatField(allow_null=True)
    top = serializers.FloatField(allow_null=True)
    error = serializers.FloatField(allow_null=True)
    inside = serializers.FloatField(allow_null=True)
    log_score = serializers.FloatField(allow_null=True)


class QualityGroupSerializer(Fields):
    """The scores of the questions asked of one laboratory, or of it on one workload."""

    case_studies = serializers.ListField(child=serializers.CharField())
    workloads = serializers.ListField(child=serializers.CharField())
    questions = serializers.IntegerField()
    methods = MethodScoresSerializer(many=True)


class ForecastFormSerializer(Fields):
    """One form of forecast, over the contrasts of research groups that were left out in turn. Logs are natural."""

    by = serializers.ChoiceField(choices=BY, help_text="What forms are told apart by.")
    name = serializers.CharField(
        help_text="Of choice and laboratory (what it measured under other workloads is known): an axis or a kind of "
        "choice; of load: what it does; of storage: the kind. Empty: all, or not stated.",
        allow_blank=True,
    )
    contrasts = serializers.IntegerField(help_text="Pairs of configurations foretold.")
    groups = serializers.IntegerField(help_text="Research groups that measured them.")
    weight = serializers.FloatField(
        help_text="The contrasts that may be compared with each other count together once, a group for ten at most."
    )
    inside_95 = serializers.FloatField(help_text="Share measured inside the 95 % interval.")
    inside_50 = serializers.FloatField(help_text="Share measured inside the central half.")
    log_score = serializers.FloatField(help_text="Mean log density of the measured log ratio: larger is better.")
    no_difference = serializers.FloatField(help_text="The same of a normal distribution around no difference.")
    width = serializers.FloatField(help_text="Its standard deviation, chosen to suit these results best.")
    error = serializers.FloatField(
        allow_null=True, help_text="Standard error of the difference of these scores; null: of one group."
    )
    sure = serializers.FloatField(help_text="Weight of forecasts 80 % sure or more which is faster.")
    right = serializers.FloatField(allow_null=True, help_text="Share of those that came true; null: there are none.")
    is_better = serializers.BooleanField(
        allow_null=True, help_text="Than “no difference”; null: too few groups to tell."
    )


class GroupsLeftOutSerializer(Fields):
    """Every research group left out in turn, and its contrasts foretold by the hierarchical model of all others."""

    cells = serializers.IntegerField(help_text="Configurations under one load that can be compared.")
    groups = serializers.IntegerField()
    forms = ForecastFormSerializer(many=True, allow_null=True, help_text="Null: too many cells for it.")
    calibration = serializers.ListField(child=shape_of(Calibration)(), help_text="Empty: nothing was foretold.")
    examples = serializers.ListField(child=shape_of(Example)(), help_text="At most 60, spread over the groups.")


class ModelQualitySerializer(Fields):
    """Every case study left out in turn, and foretold from all others."""

    revision = serializers.IntegerField(help_text="Knowledge revision it was computed from.")
    case_studies = serializers.IntegerField()
    left_out = serializers.IntegerField()
    methods = MethodSerializer(many=True)
    summaries = QualitySummarySerializer(many=True)
    questions = QualityQuestionSerializer(many=True)
    forecasts = ForecastsInUseSerializer()
    clustered = ClusteredScoreSerializer(many=True)
    laboratories = QualityGroupSerializer(many=True)
    distinct_questions = QualityGroupSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField())
    groups = GroupsLeftOutSerializer()
    flagged = serializers.ListField(
        child=shape_of(FlaggedNumber)(), help_text="Published numbers that look like no disk's, at most 500."
    )


class BeingWorkedOut(APIException):
    status_code = 503
    default_detail = "The report is being worked out; ask again in a while."
    wait = 30  # seconds


class ModelQualityView(PublicView):
    @extend_schema(operation_id="model_quality", responses=ModelQualitySerializer, tags=["model quality"])
    def get(self, request: Request) -> HttpResponseBase:
        """Report how well each model, and two naive rules, foretell a case study from everybody else's evidence.

        The entity tag names the report: ask again with If-None-Match and get 304 until it changes.
        """
        self.refuse_parameters()
        report = reports.KEPT.current()
        if report is None:
            raise BeingWorkedOut
        return tagged(request, report.digest, lambda: JsonResponse(ModelQualitySerializer(report.result).data))
