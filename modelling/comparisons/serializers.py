"""The shape of comparisons, for the schema and its readers."""

from rest_framework import serializers

from kdb.api.bodies import Fields
from kdb.units import METRICS
from modelling.evidence.asking import GivenSerializer, QuestionSerializer
from modelling.evidence.question import GRADES


class ComparedEntrySerializer(Fields):
    """One entry of a comparison; what ranks it is null where no evidence does."""

    key = serializers.CharField()
    label = serializers.CharField()
    rank = serializers.IntegerField(allow_null=True)
    part = serializers.IntegerField(allow_null=True)
    ratio = serializers.FloatField(allow_null=True, help_text="Against the reference of its part.")
    low = serializers.FloatField(allow_null=True, help_text="Lower end of the 95 % interval.")
    high = serializers.FloatField(allow_null=True, help_text="Upper end of the 95 % interval.")
    p_score = serializers.FloatField(allow_null=True)
    grade = serializers.ChoiceField(choices=list(GRADES), allow_null=True)
    case_studies = serializers.ListField(child=serializers.CharField(), help_text="That say something of it here.")


class EnvironmentFactSerializer(Fields):
    """One fact of the configurations behind the entries."""

    fact = serializers.CharField(help_text="Its name, as on the page.")
    differs = serializers.BooleanField(help_text="Whether the entries for which it is stated differ in it.")
    values = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="For each entry the values that occur; empty: not stated.",
    )


class ComparedPairSerializer(Fields):
    """Two of the entries, and whether their numbers may be compared."""

    a = serializers.CharField()
    b = serializers.CharField()
    ratio = serializers.FloatField(allow_null=True, help_text="a against b; above 1: a is better. Null: no numbers.")
    low = serializers.FloatField(allow_null=True, help_text="Lower end of the 95 % interval.")
    high = serializers.FloatField(allow_null=True, help_text="Upper end of the 95 % interval.")
    basis = serializers.ChoiceField(choices=["side by side", "through others", "lists", "not at all"])
    why = serializers.CharField(help_text="Why they may, or may not, be compared.")


class ComparisonSerializer(GivenSerializer):
    """Two to six entries of one axis side by side."""

    question = QuestionSerializer()
    revision = serializers.IntegerField(help_text="Knowledge revision it was computed from.")
    metric = serializers.ChoiceField(choices=list(METRICS), help_text="What is compared.")
    entries = ComparedEntrySerializer(many=True)
    environment = EnvironmentFactSerializer(many=True)
    environment_of = serializers.CharField(help_text="Which configurations the environment is told of.")
    pairs = ComparedPairSerializer(many=True)
