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
from kdb.api.shapes import shape_of

from .content import Advice
from .forms import BY_HAND, AdviceForm
from .gather import advise

FILTERS = ("hypervisor", "host_fs")


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


class AdviceView(PublicView):
    @extend_schema(
        operation_id="advice",
        request=AdviceRequestSerializer,
        responses=shape_of(Advice),
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
        return Response(shape_of(Advice)(advise(form.profile, **asked)).data, headers={"Cache-Control": "no-store"})


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
