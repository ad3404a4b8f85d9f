"""Advice as data. What is posted is read, answered and forgotten."""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from kdb.api.bodies import Fields
from kdb.api.errors import form_errors
from kdb.api.faults import FaultyRequest, FieldError
from kdb.api.formats import MOST_ERRORS
from kdb.api.public import PublicView
from kdb.units import METRICS
from modelling.evidence.asking import GroundsSerializer, QuestionSerializer, VerdictSerializer

from .forms import BY_HAND, AdviceForm
from .gather import advise

FILTERS = ("hypervisor", "host_fs")


# What is asked


class SharesSerializer(Fields):
    """Shares of all operations; the first six add up to 1. What is left out is 0, or not known for counts and sizes."""

    random_read = serializers.FloatField(required=False, min_value=0, max_value=1)
    sequential_read = serializers.FloatField(required=False, min_value=0, max_value=1)
    random_write = serializers.FloatField(required=False, min_value=0, max_value=1)
    sequential_write = serializers.FloatField(required=False, min_value=0, max_value=1)
    metadata = serializers.FloatField(
        required=False, min_value=0, max_value=1, help_text="Open, create, close, delete, stat, directories."
    )
    flush = serializers.FloatField(required=False, min_value=0, max_value=1, help_text="fsync and the like.")
    sync = serializers.FloatField(
        required=False, min_value=0, max_value=1, help_text="Of the writes, those that wait for the disk."
    )
    threads = serializers.IntegerField(required=False, min_value=1)
    files = serializers.IntegerField(required=False, min_value=1)
    mean_file_size = serializers.CharField(required=False, help_text="Bytes, or like `16k`, `128 KiB`.")


class AdviceRequestSerializer(Fields):
    """A personality or shares, not both."""

    personality = serializers.CharField(
        required=False, help_text="Filebench's workload model language, dialect 1.4 or 1.5; 1 MiB at most."
    )
    shares = SharesSerializer(required=False)
    hypervisor = serializers.CharField(
        required=False, help_text="Slug or alias of the hypervisor, where it is decided."
    )
    host_fs = serializers.CharField(required=False, help_text="File system of the host, where it is decided.")


# What is answered


class AccessesSerializer(Fields):
    random_read = serializers.FloatField()
    sequential_read = serializers.FloatField()
    random_write = serializers.FloatField()
    sequential_write = serializers.FloatField()


class ProfileSerializer(Fields):
    """The profile of the load. Null: not known."""

    operations = AccessesSerializer(help_text="Shares of all operations.")
    bytes = AccessesSerializer(help_text="Shares of the bytes moved.")
    metadata_share = serializers.FloatField(help_text="Of all operations.")
    flush_share = serializers.FloatField(help_text="Of all operations.")
    sync_share = serializers.FloatField(help_text="Of the writes.")
    concurrency = serializers.IntegerField(allow_null=True)
    files = serializers.IntegerField(allow_null=True)
    mean_file_bytes = serializers.FloatField(allow_null=True)
    working_set_bytes = serializers.FloatField(allow_null=True)
    mean_io_bytes = serializers.FloatField(allow_null=True)
    directory_width = serializers.IntegerField(allow_null=True)


class NeighbourSerializer(Fields):
    """A known workload and its distance, 0 (the same profile) to 1."""

    label = serializers.CharField()
    workload = serializers.CharField()
    distance = serializers.FloatField()
    is_far = serializers.BooleanField(help_text="Its answer does not carry over.")
    speaks = serializers.BooleanField(help_text="Its answer is among `recommendation`.")


class AdvisedEntrySerializer(Fields):
    key = serializers.CharField()
    label = serializers.CharField()
    grade = serializers.CharField(help_text="Of the evidence, A to D.")
    ratio = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class AdvisedPartSerializer(Fields):
    part = serializers.IntegerField()
    name = serializers.CharField()
    text = serializers.CharField()
    best = AdvisedEntrySerializer(many=True)
    worst = AdvisedEntrySerializer(many=True)


class RecommendationSerializer(Fields):
    """The answer for a near workload. Where `is_far`, it is for orientation and does not carry over."""

    workload = serializers.CharField()
    label = serializers.CharField()
    distance = serializers.FloatField()
    is_far = serializers.BooleanField()
    question = QuestionSerializer()
    title = serializers.CharField()
    url = serializers.CharField(help_text="The whole answer as a page.")
    api_url = serializers.CharField(help_text="The whole answer as data.")
    without = serializers.ListField(
        child=serializers.CharField(), help_text="Filters left out, as nothing answers the question with them."
    )
    metric = serializers.ChoiceField(choices=list(METRICS), help_text="What the answer compares by.")
    verdict = VerdictSerializer()
    grounds = GroundsSerializer()
    notes = serializers.ListField(child=serializers.CharField(), help_text="What a careful reader must know.")
    entries = AdvisedEntrySerializer(many=True, help_text="All that the answer ranks.")
    parts = AdvisedPartSerializer(many=True)
    missing = serializers.ListField(child=serializers.CharField())


class AdviceFiltersSerializer(Fields):
    hypervisor = serializers.CharField(allow_null=True)
    host_fs = serializers.CharField(allow_null=True)


class AdviceSerializer(Fields):
    """Advice for a load: its profile, and the nearest workloads with their answers."""

    filters = AdviceFiltersSerializer()
    summary = serializers.ListField(child=serializers.CharField())
    profile = ProfileSerializer()
    assumptions = serializers.ListField(child=serializers.CharField())
    nearest = NeighbourSerializer(many=True)
    is_far = serializers.BooleanField(help_text="Nothing that was measured carries over to this load.")
    far_beyond = serializers.FloatField(help_text="The distance beyond which no answer carries over.")
    recommendation = RecommendationSerializer(many=True)
    revision = serializers.IntegerField(help_text="Knowledge revision it rests on.")


class AdviceView(PublicView):
    @extend_schema(
        operation_id="advice",
        request=AdviceRequestSerializer,
        responses=AdviceSerializer,
        tags=["advice"],
    )
    def post(self, request: Request) -> Response:
        """Advise what to choose for a load of your own, from the workloads nearest to it.

        Nothing that is sent is executed or kept. A personality that is not understood gets 400, with
        `line` and `column` in `errors`.
        """
        self.refuse_parameters()
        form = AdviceForm(form_data(request.data))
        if not form.is_valid():
            raise FaultyRequest([in_body(error) for error in form_errors(form)])
        asked = {name: form.cleaned_data[name] for name in FILTERS}
        return Response(AdviceSerializer(advise(form.profile, **asked)).data, headers={"Cache-Control": "no-store"})


def form_data(body: Any) -> dict[str, Any]:
    """Return the body as the form takes it, flat; raises FaultyRequest for what has another shape."""
    if not isinstance(body, dict):
        raise ParseError("The body must be a JSON object.")
    shares = {} if body.get("shares") is None else body["shares"]
    if not isinstance(shares, dict):
        raise FaultyRequest([{"field": "shares", "message": "Give the shares as an object."}])
    errors = chain(
        _shape_errors(body, ("personality", "shares", *FILTERS), {"shares"}, ""),
        _shape_errors(shares, BY_HAND, set(), "shares."),
    )
    if first := [*islice(errors, MOST_ERRORS)]:
        raise FaultyRequest(first)
    named = {name: body.get(name) for name in ("personality", *FILTERS)}
    return {name: value for name, value in {**shares, **named}.items() if value is not None}


def _shape_errors(
    values: Mapping[str, Any], allowed: tuple[str, ...], nested: set[str], prefix: str
) -> Iterator[FieldError]:
    numbers = set(BY_HAND)
    for name, value in values.items():
        if name not in allowed:
            name = name[:60]
            message = f"{name!r} is not a name here; allowed are {', '.join(allowed)}."
            yield {"field": f"{prefix}{name}", "message": message, "allowed": list(allowed)}
        elif name in nested or value is None:
            continue
        elif name == "mean_file_size" and isinstance(value, str):
            continue  # with its unit
        elif isinstance(value, bool) or not isinstance(value, int | float if name in numbers else str):
            kind = "a number" if name in numbers else "a string"
            yield {"field": f"{prefix}{name}", "message": f"Give {kind}."}


def in_body(error: FieldError) -> FieldError:
    """Return the error with its name as the body has it."""
    name = "shares" if error["field"] == "__all__" else error["field"]
    return {**error, "field": f"shares.{name}" if name in BY_HAND else name}
