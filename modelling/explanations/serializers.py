"""The shape of explanations, for the schema and its readers."""

from rest_framework import serializers

from kdb.api.bodies import Fields
from modelling.evidence.asking import QuestionSerializer
from modelling.evidence.question import GRADES


class ReferenceSerializer(Fields):
    """Something a step rests on that a reader can open."""

    kind = serializers.CharField()
    key = serializers.CharField()
    label = serializers.CharField()
    anchor = serializers.CharField()
    url = serializers.CharField(help_text="Its page on this server.")


class StepSerializer(Fields):
    """One step: what it says, as sentences and as data, and how firm it is."""

    kind = serializers.ChoiceField(
        choices=[
            "comparison",
            "components",
            "workload",
            "mechanisms",
            "shares",
            "forecast",
            "cache",
            "scaling",
            "evidence",
            "agreement",
            "open",
        ]
    )
    title = serializers.CharField()
    basis = serializers.ChoiceField(choices=["measured", "estimated", "stated", "model", "open"])
    text = serializers.CharField()
    data = serializers.DictField(help_text="The same as values; its keys depend on `kind`.")
    evidence = ReferenceSerializer(many=True)
    source = serializers.CharField(allow_blank=True, help_text="Equation, rule or page it applies.")


class SideSerializer(Fields):
    """One of the two entries; rank, part and grade are null where the answer does not rank it."""

    key = serializers.CharField()
    label = serializers.CharField()
    rank = serializers.IntegerField(allow_null=True)
    part = serializers.IntegerField(allow_null=True)
    grade = serializers.ChoiceField(choices=list(GRADES), allow_null=True)


class ContrastSerializer(Fields):
    """Throughput of a against b, with its 95 % interval."""

    ratio = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class ExplanationSerializer(Fields):
    """The reasons why a stands where it does against b. Both are null where the question has no answer."""

    question = QuestionSerializer()
    revision = serializers.IntegerField(help_text="Knowledge revision it was computed from.")
    a = SideSerializer(allow_null=True)
    b = SideSerializer(allow_null=True)
    contrast = ContrastSerializer(allow_null=True, help_text="Null where no chain of numbers joins them.")
    steps = StepSerializer(many=True)
