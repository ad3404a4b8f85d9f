"""The API of advice. Nothing that is posted is stored."""

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kdb.api.bodies import TEXT_AREA, Fields, FormFields, fields_of
from kdb.api.errors import form_errors
from kdb.api.faults import FaultyRequest, FieldError
from kdb.api.public import PublicView
from kdb.api.shapes import shape_of

from .content import Advice
from .forms import SHARE_FIELDS, AdviceForm
from .gather import advise

FILTERS = ("hypervisor", "host_fs")


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "number", "minimum": 0}]})
class SizeField(serializers.JSONField):
    """A number, or a text with a unit; the form reads both, and refuses all else."""


class SharesSerializer(FormFields):
    """Shares of all operations; the first six add up to 1. What is left out is 0, or not known for counts and sizes."""

    form = AdviceForm
    names = SHARE_FIELDS
    about = {
        "metadata": "Open, create, close, delete, stat, directories.",
        "flush": "fsync and the like.",
        "sync": "Of the writes, those that wait for the disk.",
    }

    mean_file_size = SizeField(required=False, help_text="Bytes, or like `16k`, `128 KiB`.")


class AdviceRequestSerializer(Fields):
    """A personality or shares, not both."""

    personality = serializers.CharField(
        required=False,
        style=TEXT_AREA,
        help_text="Filebench's workload model language, dialect 1.4 or 1.5; 1 MiB at most.",
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
        fields = fields_of(request, AdviceRequestSerializer)
        form = AdviceForm({**fields.pop("shares", {}), **fields})
        if not form.is_valid():
            raise FaultyRequest([name_in_body(error) for error in form_errors(form)])
        asked = {name: form.cleaned_data[name] for name in FILTERS}
        return Response(shape_of(Advice)(advise(form.profile, **asked)).data, headers={"Cache-Control": "no-store"})


def name_in_body(error: FieldError) -> FieldError:
    """Return the error with the name of its field in the request body."""
    name = "shares" if error["field"] == "__all__" else error["field"]
    return {**error, "field": f"shares.{name}" if name in SHARE_FIELDS else name}
