"""The API of advice. Nothing that is posted is stored."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kdb.api.bodies import TEXT_AREA, Fields, fields_of
from kdb.api.errors import form_errors
from kdb.api.faults import FaultyRequest
from kdb.api.public import PublicView
from kdb.api.shapes import shape_of

from .content import Advice
from .forms import AdviceForm
from .gather import advise


class AdviceRequestSerializer(Fields):
    """A load, and what is decided."""

    personality = serializers.CharField(
        style=TEXT_AREA,
        help_text="Filebench's workload model language, dialect 1.4 or 1.5, or a fio job file; 1 MiB at most.",
    )
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
        form = AdviceForm(fields_of(request, AdviceRequestSerializer))
        if not form.is_valid():
            raise FaultyRequest(form_errors(form))
        return Response(
            shape_of(Advice)(advise(form.profile, **form.decided)).data, headers={"Cache-Control": "no-store"}
        )
