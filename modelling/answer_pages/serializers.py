"""The shape of the answers, for the schema and its readers; the answers themselves are kept ready.

`RankingSnapshot.result` is written once by modelling.kept_answers.snapshots and sent as it is.
"""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kdb.api.bodies import Fields
from kdb.api.shapes import shape_of
from kdb.units import METRICS
from modelling.answers.content import Decision, Grounds
from modelling.ask.selectors import ASSUMED, CHOSEN, DIFFERS, IN_PART, MATCHES, NOT_GIVEN, NOT_STATED
from modelling.evidence.asking import Permanence
from modelling.evidence.question import GRADES, Question

from .table import CELL


class EntrySerializer(Fields):
    """One entry. Rank and ratio hold inside its part; ratio is in the answer's metric against the part's reference,
    below 1 is worse."""

    rank = serializers.IntegerField()
    part = serializers.IntegerField()
    key = serializers.CharField()
    label = serializers.CharField()
    ratio = serializers.FloatField(
        allow_null=True, help_text="Null: only tier lists place it, so no distance is known."
    )
    low = serializers.FloatField(allow_null=True, help_text="Lower end of the 95 % interval for a new laboratory.")
    high = serializers.FloatField(allow_null=True, help_text="Upper end of the 95 % interval for a new laboratory.")
    mean_low = serializers.FloatField(allow_null=True, help_text="Lower end of that of the mean over laboratories.")
    mean_high = serializers.FloatField(allow_null=True, help_text="Upper end of that of the mean over laboratories.")
    probability_best = serializers.FloatField(allow_null=True, help_text="In a new laboratory, 0 to 1.")
    probability_slower = serializers.FloatField(allow_null=True, help_text="Than the best by the margin, 0 to 1.")
    expected_loss = serializers.FloatField(allow_null=True, help_text="Percent of the best's, when it is chosen.")
    verdict = serializers.ChoiceField(
        choices=["use", "doubtful", "avoid", "unknown"], help_text="What it means for a choice in a new laboratory."
    )
    p_score = serializers.FloatField(help_text="Mean certainty of being better than another entry, 0 to 1.")
    grade = serializers.ChoiceField(
        choices=list(GRADES), help_text="A several case studies with spread, B measured, C derived, D stated only."
    )
    tied_with = serializers.ListField(child=serializers.CharField(), help_text="Keys it cannot be told apart from.")
    confounded_with = serializers.ListField(
        child=serializers.CharField(), help_text="What came along with it and differed between compared arms."
    )
    unsafe_options = serializers.ListField(
        child=serializers.CharField(), help_text="Those it was measured with that can lose acknowledged writes."
    )
    always_unsafe = serializers.BooleanField(help_text="Never measured without one: it is not recommended.")
    case_studies = serializers.IntegerField()
    laboratories = serializers.IntegerField(help_text="That measured it.")
    measurements = serializers.IntegerField()
    derived = serializers.IntegerField()
    findings = serializers.IntegerField()


class NetworkSerializer(Fields):
    """The agreement of the case studies that measured entries of one part."""

    entries = serializers.ListField(child=serializers.CharField())
    case_studies = serializers.IntegerField()
    tau2 = serializers.FloatField(allow_null=True, help_text="Variance between case studies, of ln(ratio).")
    q = serializers.FloatField(help_text="Cochran's Q.")
    freedom = serializers.IntegerField(help_text="Its degrees of freedom; 0: no two case studies can disagree.")
    i2 = serializers.FloatField(allow_null=True, help_text="Share of the variation between case studies, 0 to 1.")
    q_heterogeneity = serializers.FloatField(help_text="Q within designs.")
    q_inconsistency = serializers.FloatField(help_text="Q between designs.")


class PartSerializer(Fields):
    """Entries that comparisons join; nothing is known between one part and another."""

    part = serializers.IntegerField()
    name = serializers.CharField(help_text="What tells it from the other parts; alone: its entries.")
    verdict = shape_of(Decision)()
    basis = serializers.ChoiceField(choices=["numbers", "findings", "both"])
    reference = serializers.CharField()
    held_equal = serializers.CharField(allow_blank=True)
    assumed_equal = serializers.CharField(
        allow_blank=True, help_text="Taken to be equal: some source does not state it."
    )
    networks = NetworkSerializer(many=True)


class CaseStudyEvidenceSerializer(Fields):
    """The evidence that one case study contributes."""

    case_study = serializers.CharField()
    title = serializers.CharField()
    measurements = serializers.IntegerField()
    derived = serializers.IntegerField()
    findings = serializers.IntegerField()
    sources = serializers.ListField(child=serializers.CharField())


class ScalingPointSerializer(Fields):
    vm_count = serializers.IntegerField(help_text="Virtual machines running together.")
    value = serializers.FloatField(help_text="Mean, in the panel's unit.")
    low = serializers.FloatField(help_text="Lower end of the 95 % interval.")
    high = serializers.FloatField(help_text="Upper end of the 95 % interval.")


class ScalingSeriesSerializer(Fields):
    """One configuration of an entry at several numbers of machines."""

    key = serializers.CharField()
    label = serializers.CharField()
    points = ScalingPointSerializer(many=True)


class ScalingPanelSerializer(Fields):
    """The metric over the number of machines, where all else may be compared."""

    case_study = serializers.CharField()
    unit = serializers.CharField()
    operation = serializers.CharField()
    block_size_bytes = serializers.IntegerField(allow_null=True)
    held = serializers.DictField(child=serializers.CharField(), help_text="What is equal, as far as it is stated.")
    sources = serializers.ListField(child=serializers.CharField(), help_text="Where the numbers stand.")
    scope = serializers.ChoiceField(
        choices=["per-vm", "aggregate", ""], help_text="What a value is for; empty: the source does not say."
    )
    series = ScalingSeriesSerializer(many=True)


class NextRunSerializer(Fields):
    """A comparison that one more laboratory should make."""

    part = serializers.IntegerField()
    entries = serializers.ListField(child=serializers.CharField(), help_text="Keys of the two.")
    labels = serializers.ListField(child=serializers.CharField())
    gain = serializers.FloatField(help_text="Percent by which the choice after it is expected to be better.")
    campaign = serializers.CharField(
        allow_blank=True, help_text="Page of a new campaign, filled in; empty: campaigns cannot measure it."
    )


class DifferenceSerializer(Fields):
    """Two values of one case study, all else equal: of the first of a part, and of another entry beside it."""

    part = serializers.IntegerField()
    first = serializers.CharField(help_text="Key of the part's reference.")
    other = serializers.CharField(help_text="Key of what it was measured beside.")
    case_study = serializers.CharField()
    sources = serializers.ListField(child=serializers.CharField(), help_text="Where the numbers stand.")
    metric = serializers.ChoiceField(choices=list(METRICS))
    unit = serializers.CharField()
    operation = serializers.CharField()
    block_size_bytes = serializers.IntegerField(allow_null=True)
    vm_count = serializers.IntegerField()
    first_value = serializers.FloatField(help_text="In `unit`; of several runs the geometric mean.")
    other_value = serializers.FloatField(help_text="Likewise.")
    derived = serializers.BooleanField(help_text="Whether one of them follows from a text by arithmetic.")


class TradeEstimateSerializer(Fields):
    """A ratio to the part's reference in a metric, larger being better; of spread the coefficient of variation of the
    runs; of durability 1 where acknowledged writes were kept, 0 where they can be lost. Null: not known."""

    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True, help_text="Lower end of its 95 % interval.")
    high = serializers.FloatField(allow_null=True, help_text="Upper end of it.")


class TradePointSerializer(Fields):
    key = serializers.CharField()
    x = TradeEstimateSerializer()
    y = TradeEstimateSerializer()
    standing = serializers.ChoiceField(
        choices=["dominated", "in the Pareto set", "cannot tell"], help_text="Beyond the intervals."
    )
    on_front = serializers.BooleanField(
        allow_null=True, help_text="Whether no other dominates it by the estimates alone; null: one is not known."
    )


class TradeOffSerializer(Fields):
    """Entries of a part by two things at once: the answer's metric and another."""

    part = serializers.IntegerField()
    x = serializers.ChoiceField(choices=list(METRICS))
    y = serializers.ChoiceField(choices=[*METRICS, "spread", "durability"])
    points = TradePointSerializer(many=True)


class StatedValueSerializer(Fields):
    value = serializers.CharField()
    loses_writes = serializers.BooleanField(help_text="Whether it can lose acknowledged writes: do not copy it.")
    case_studies = serializers.ListField(child=serializers.CharField(), help_text="That state it.")


class SetUpFactSerializer(Fields):
    """One fact of the configurations behind an entry."""

    fact = serializers.CharField()
    stated = StatedValueSerializer(many=True)
    not_stated_by = serializers.ListField(child=serializers.CharField(), help_text="Case studies that do not state it.")
    not_tried = serializers.ListField(
        child=serializers.CharField(), help_text="Choices that the case studies that state it did not try."
    )


class SetUpLineSerializer(Fields):
    """A command line, or a remark after "# "; names after $ are the reader's own."""

    text = serializers.CharField()
    case_studies = serializers.ListField(child=serializers.CharField(), help_text="Whose configurations it follows.")


class SetUpSerializer(Fields):
    """The first entry to use of a part, as it was measured."""

    part = serializers.IntegerField()
    key = serializers.CharField()
    label = serializers.CharField()
    durability = serializers.CharField(help_text="What is known of acknowledged writes.")
    told_from = serializers.CharField(help_text="Of which of its case studies all this is; empty: of all.")
    facts = SetUpFactSerializer(many=True)
    lines = SetUpLineSerializer(many=True)


class FactSerializer(Fields):
    """One fact of your machine against the same of the evidence."""

    name = serializers.CharField()
    label = serializers.CharField()
    yours = serializers.CharField(allow_blank=True, help_text="Empty: not given.")
    evidence = serializers.ListField(child=serializers.CharField(), help_text="The values that are stated.")
    state = serializers.ChoiceField(
        choices=[MATCHES, IN_PART, ASSUMED, DIFFERS, NOT_STATED, NOT_GIVEN, CHOSEN],
        help_text="Assumed equal: some source does not state it. In part: other values are averaged in.",
    )


class FitSerializer(Fields):
    """The fit of the evidence to a machine like yours: the filters, `disks` and `images`."""

    sentence = serializers.CharField(allow_blank=True, help_text="Empty: there is no evidence.")
    effect = serializers.CharField(allow_blank=True, help_text="What is known of the difference; empty: there is none.")
    facts = FactSerializer(many=True)


class MethodOfTodaySerializer(Fields):
    """The answer of today's method at the same revision, where an earlier method gave the answer; null where that is
    more than the moment allows: `permanent` has it."""

    method = serializers.IntegerField()
    says_the_same = serializers.BooleanField(allow_null=True, help_text="Verdict with its strength, and order.")
    verdict = shape_of(Decision)(allow_null=True)
    best = serializers.ListField(child=serializers.CharField(), allow_null=True, help_text="Entries to use.")
    permanent = serializers.CharField(help_text="Where its whole answer stands.")


class RankingSerializer(Fields):
    """A ranked answer. Without evidence `entries` is empty and `missing` says what would be needed."""

    question = shape_of(Question)()
    revision = serializers.IntegerField(help_text="Knowledge revision it was computed from.")
    superseded_by = serializers.IntegerField(
        allow_null=True,
        help_text="Revision whose evidence may change it and is being worked in; null: it stands, or `as_of` is asked.",
    )
    method = serializers.IntegerField(help_text="Version of the way from the evidence to the answer.")
    permanent = serializers.CharField(
        allow_null=True,
        help_text="Address of this answer, by revision and method, whatever comes later; null: nothing is published.",
    )
    pinned = serializers.BooleanField(
        allow_null=True,
        help_text="Whether it is kept for good; null: this is not its permanent address.",
    )
    method_of_today = MethodOfTodaySerializer(allow_null=True, help_text="Null: `method` is the method of today.")
    reference = serializers.CharField(allow_null=True, help_text="Key of the entry that ratios are against.")
    unit = serializers.CharField()
    metric = serializers.ChoiceField(choices=list(METRICS), help_text="What is compared; ratios below 1 are worse.")
    other_metrics = serializers.ListField(
        child=serializers.ChoiceField(choices=list(METRICS)), help_text="Measured as well: ask for one with `metric`."
    )
    status = serializers.ChoiceField(choices=["ranked", "indistinguishable", "ranked apart", "no comparison"])
    verdict = shape_of(Decision)()
    machines = serializers.CharField(
        allow_blank=True, help_text="How the verdict differs by the number of machines; empty: it does not."
    )
    grounds = shape_of(Grounds)()
    fit = FitSerializer()
    entries = EntrySerializer(many=True)
    parts = PartSerializer(many=True)
    best = serializers.ListField(child=serializers.CharField(), help_text="Entries to use.")
    worst = serializers.ListField(child=serializers.CharField(), help_text="Entries to avoid.")
    scaling = ScalingPanelSerializer(many=True)
    next_runs = NextRunSerializer(many=True)
    differences = DifferenceSerializer(many=True, help_text="The nearest rival first, at most 40.")
    trade_offs = TradeOffSerializer(many=True)
    set_ups = SetUpSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField())
    evidence = CaseStudyEvidenceSerializer(many=True)
    missing = serializers.ListField(child=serializers.CharField())


class BeingWorkedOutSerializer(Fields):
    """A large answer that was never given before is computed by a worker: ask again."""

    detail = serializers.CharField()
    question = shape_of(Question)(required=False, help_text="Where it is known.")
    error = serializers.CharField(help_text="Why the last attempt failed; empty: none did.")


class TableWorkloadSerializer(Fields):
    """The answer to one column of a table, in short."""

    workload = serializers.CharField()
    metric = serializers.ChoiceField(choices=list(METRICS))
    revision = serializers.IntegerField()
    superseded_by = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(choices=["ranked", "indistinguishable", "ranked apart", "no comparison"])
    verdict = shape_of(Decision)()
    laboratories = serializers.IntegerField()


class TableCellSerializer(EntrySerializer):
    """An entry of one answer, in short."""

    class Meta:
        ref_name = "TableCell"

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {name: field for name, field in super().get_fields().items() if name in CELL}


@extend_schema_field(TableCellSerializer(allow_null=True))
class TableCellField(serializers.JSONField):
    """An object or null: in a list the schema would lose that a cell may be null."""


class TableEntrySerializer(Fields):
    """A row; cells are in the order of `workloads`, null where that answer does not rank the entry."""

    key = serializers.CharField()
    label = serializers.CharField()
    cells = serializers.ListField(child=TableCellField())


class TableSerializer(Fields):
    """One question under several workloads. `waiting` are workloads whose answer is being worked out: ask again."""

    axis = serializers.CharField()
    filters = serializers.DictField()
    workloads = TableWorkloadSerializer(many=True)
    entries = TableEntrySerializer(many=True)
    waiting = serializers.ListField(child=serializers.CharField())


class NamedSerializer(Fields):
    key = serializers.CharField()
    label = serializers.CharField()


class CellSerializer(Fields):
    """The answer on one pair; numbers are null where there is no evidence, or none with numbers."""

    guest_fs = serializers.CharField()
    host_fs = serializers.CharField()
    rank = serializers.IntegerField(allow_null=True)
    part = serializers.IntegerField(allow_null=True)
    ratio = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    grade = serializers.ChoiceField(choices=list(GRADES), allow_null=True)
    shade = serializers.IntegerField(allow_null=True, help_text="0, the slowest of its part, to 4, the fastest.")
    standing = serializers.ChoiceField(choices=["best", "between", "avoid", "no evidence"])


class HeatMapSerializer(shape_of(Permanence)):  # type: ignore[misc]
    """File-system pairs as a grid: `cells[i][j]` is guest i on host j."""

    question = shape_of(Question)()
    revision = serializers.IntegerField(help_text="Knowledge revision it was computed from.")
    guests = NamedSerializer(many=True)
    hosts = NamedSerializer(many=True)
    cells = serializers.ListField(child=CellSerializer(many=True))


class AxisSerializer(Fields):
    axis = serializers.CharField()
    label = serializers.CharField()
    url = serializers.URLField()


class AxesSerializer(Fields):
    """The axes that can be ranked."""

    axes = AxisSerializer(many=True)


class PartHealthSerializer(Fields):
    status = serializers.CharField(
        help_text="ok; slow: no answer yet; down; of workers also stale: not seen for a minute, and unknown."
    )
    detail = serializers.CharField()


class HealthSerializer(Fields):
    database = PartHealthSerializer()
    broker = PartHealthSerializer()
    workers = PartHealthSerializer()


class FailingQuestionSerializer(Fields):
    question = serializers.CharField(help_text="Axis, workload and filters.")
    attempts = serializers.IntegerField()
    reason = serializers.CharField(help_text="Of the last attempt.")
    retry_at = serializers.DateTimeField(allow_null=True, help_text="When it is tried again; null: at once.")


class KeptAnswersSerializer(Fields):
    """Answers that a publication superseded; until they are worked out again the previous ones are given."""

    waiting = serializers.IntegerField(help_text="Not answered again yet.")
    failing = FailingQuestionSerializer(many=True, help_text="Those of them that could not be, the first 20.")


class StatusSerializer(Fields):
    """The counts of what is published now, and whether the parts of the system work."""

    version = serializers.CharField()
    revision = serializers.IntegerField()
    case_studies = serializers.IntegerField()
    configurations = serializers.IntegerField()
    measurements = serializers.IntegerField()
    derived = serializers.IntegerField()
    findings = serializers.IntegerField()
    claims = serializers.IntegerField()
    answers = KeptAnswersSerializer()
    age_seconds = serializers.FloatField(
        help_text="How old all of that is: 0 but for what the database takes, more while it does not answer in time."
    )
    health = HealthSerializer()
