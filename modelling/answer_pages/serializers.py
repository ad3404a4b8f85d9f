"""API shapes besides the content of answers."""

from dataclasses import dataclass
from typing import Annotated

from rest_framework import serializers

from kdb.api.bodies import Fields
from kdb.api.shapes import shape_of
from modelling.answer_store.releases import ReleaseThen
from modelling.answers.content import Answer, MixAnswer
from modelling.ask.selectors import Fit
from modelling.evidence.question import Question
from modelling.evidence.serialization import Permanence
from modelling.own_lab.selectors import Here

from .content import BesideComparison, Comparison, MixAsked, Overview
from .layout.heat_map import Grid


@dataclass(frozen=True)
class Beside:
    """The fields of an answer that depend on when and where it is asked for."""

    superseded_by: Annotated[
        int | None,
        "Revision whose evidence may change it and is being worked in; null: it stands, or `as_of` is asked.",
    ]
    method: Annotated[int, "Version of the way from the evidence to the answer."]
    permanent: Annotated[
        str | None,
        "Address of this answer, by revision and method, whatever comes later; null: nothing is published.",
    ]
    pinned: Annotated[bool | None, "Whether it is kept for good; null: this is not its permanent address."]
    doubt: Annotated[
        str,
        "Where forecasts of this form were no better than “no difference” when each research group was left out, or "
        "could not be tested (see model quality); empty: nothing against them, not tested yet, or `as_of` is asked.",
    ]
    here: Annotated[
        Here | None, "On the machine of the laboratory `here`; null: not asked, or nothing measured there bears on it."
    ]
    releases: Annotated[
        tuple[ReleaseThen, ...],
        "Of kernels, hypervisor, file systems: what the evidence states beside the newest that is seen here, with "
        "`here` in that laboratory, too; empty with `as_of`.",
    ]
    fit: Fit


RankingSerializer = shape_of(Answer, Beside)


class BeingWorkedOutSerializer(Fields):
    """A large answer that was never given before is computed by a worker: ask again."""

    detail = serializers.CharField()
    question = shape_of(Question)(required=False, help_text="Where it is known.")
    error = serializers.CharField(help_text="Why the last attempt failed; empty: none did.")


@dataclass(frozen=True)
class HeatMapAsked:
    """The question of a heat map, as its answer repeats it."""

    question: Question
    revision: Annotated[int, "Knowledge revision it was computed from."]


HeatMapSerializer = shape_of(Grid, Permanence, HeatMapAsked)
ComparisonSerializer = shape_of(Comparison, Permanence, BesideComparison)
MixSerializer = shape_of(MixAnswer, MixAsked, Permanence)
OverviewSerializer = shape_of(Overview)


class AxisSerializer(Fields):
    axis = serializers.CharField()
    label = serializers.CharField()
    url = serializers.URLField()


class AxesSerializer(Fields):
    """The axes that can be ranked."""

    axes = AxisSerializer(many=True)


class PartHealthSerializer(Fields):
    status = serializers.CharField(
        help_text="ok; slow: no answer yet; down; of workers also stale: not seen for a minute, and unknown; "
        "of storage also low: less than 256 MiB free, and full."
    )
    detail = serializers.CharField()


class HealthSerializer(Fields):
    database = PartHealthSerializer()
    broker = PartHealthSerializer()
    workers = PartHealthSerializer()
    storage = PartHealthSerializer()


class FailingQuestionSerializer(Fields):
    question = serializers.CharField(help_text="Axis, workload and filters.")
    attempts = serializers.IntegerField()
    reason = serializers.CharField(help_text="Of the last attempt.")
    retry_at = serializers.DateTimeField(allow_null=True, help_text="When it is tried again; null: at once.")


class KeptAnswersSerializer(Fields):
    """Answers that a publication superseded; until they are computed again the previous ones are given."""

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
