"""How a question stands in an address of the API and in its answers."""

from typing import Any

from django.http import Http404, HttpRequest
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from kdb.api_errors import FaultyRequest, FieldError, refuse_faults
from kdb.units import METRICS

from . import counts
from .axes import AXES
from .counts import revision_named
from .forms import QuestionForm
from .question import GRADES, PAPERS, Question


class QuestionSerializer(serializers.Serializer[Any]):
    """The question as it was understood: slugs in place of aliases, null for any."""

    axis = serializers.ChoiceField(choices=list(AXES))
    workload = serializers.CharField()
    hypervisor = serializers.CharField(allow_null=True)
    guest_fs = serializers.CharField(allow_null=True)
    host_fs = serializers.CharField(allow_null=True)
    vm_count = serializers.IntegerField(allow_null=True)
    host_storage = serializers.CharField(allow_null=True)
    storage = serializers.CharField(allow_null=True)
    benchmark = serializers.CharField(allow_null=True)
    guest_os_family = serializers.CharField(allow_null=True)
    grade = serializers.ChoiceField(choices=list(GRADES), allow_null=True)
    evidence = serializers.ChoiceField(choices=[PAPERS], allow_null=True)
    metric = serializers.ChoiceField(choices=list(METRICS), allow_null=True)


class VerdictSerializer(serializers.Serializer[Any]):
    """The decision that follows from the predictive distribution, in plain words, and how strongly it may be said."""

    kind = serializers.ChoiceField(choices=["winner", "no clear winner", "not known"])
    sentence = serializers.CharField()
    strength = serializers.ChoiceField(choices=["strong", "moderate", "weak", "very weak"])
    reasons = serializers.ListField(child=serializers.CharField(), help_text="Why it is not surer, a sentence a step.")
    settle = serializers.CharField(allow_blank=True, help_text="What would settle it; empty: nothing is open.")


class GroundsSerializer(serializers.Serializer[Any]):
    """What the answer rests on."""

    laboratories = serializers.IntegerField()
    case_studies = serializers.IntegerField()
    measurements = serializers.IntegerField()
    derived = serializers.IntegerField()
    findings = serializers.IntegerField()
    storage = serializers.ListField(child=serializers.CharField(), help_text="Kinds of storage that are stated.")
    years = serializers.ListField(child=serializers.IntegerField(), help_text="Of the publications.")
    vm_counts = serializers.ListField(child=serializers.IntegerField())
    facts = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(allow_blank=True)),
        help_text="What it was measured on, by fact; an empty value: some source does not state it.",
    )


AS_OF = "as_of"


FILTERS = [
    OpenApiParameter("workload", required=True, description="Workload, by slug, name or alias: `varmail`, `mail`."),
    OpenApiParameter("hypervisor", description="Hypervisor, by slug, name or alias: `kvm`, `proxmox`."),
    OpenApiParameter("guest_fs", description="File system of the guest: `ext4`, `xfs`, `btrfs`."),
    OpenApiParameter("host_fs", description="File system of the host."),
    OpenApiParameter("host_storage", description="What the images lie on: `dir-ext4`, `zfs`, `lvm-thin`, `rbd`."),
    OpenApiParameter("vm_count", int, description="Virtual machines running together, 1 or more."),
    OpenApiParameter("storage", description="Kind of storage: `hdd`, `ssd`, `nvme`, `mixed`."),
    OpenApiParameter("benchmark", description="Benchmark program: `filebench`."),
    OpenApiParameter("guest_os_family", description="Family of the guest's operating system: `linux`, `windows`."),
    OpenApiParameter("grade", enum=["A", "B", "C", "D"], description="The weakest evidence admitted."),
    OpenApiParameter("evidence", enum=[PAPERS], description="Of reviewed papers alone; else all that is published."),
    OpenApiParameter(
        "metric",
        enum=list(METRICS),
        description="What is compared. Else throughput, and where nothing has it another; the answer says which.",
    ),
]


AS_OF_PARAMETER = OpenApiParameter(
    "as_of", int, description="Knowledge revision: the answer as it was then, whatever was published since."
)


def asked_revision(request: Request) -> int | None:
    """The knowledge revision in the address; None where none is."""
    text = request.query_params.get(AS_OF)
    if text is None:
        return None
    revision = revision_named(text)
    if revision is None:
        message = f"{text!r} is no knowledge revision; there are 1 to {counts.revision()}."
        raise FaultyRequest([{"field": AS_OF, "message": message}])
    return revision


def question_asked(
    request: Request, axis: str, form_class: type[QuestionForm] = QuestionForm, further: tuple[str, ...] = ()
) -> tuple[Question, QuestionForm]:
    """The question in the address with its form, or what is wrong with it."""
    query = request.query_params
    if axis not in AXES:
        message = f"{axis!r} cannot be ranked; allowed are {', '.join(AXES)}."
        errors: list[FieldError] = [{"field": "axis", "message": message, "allowed": list(AXES)}]
        raise FaultyRequest(errors, status_code=400 if "axis" in further else 404)
    form = form_class(query, axis=axis)
    refuse_faults(form, query, *further)
    return form.question(), form


def page_revision(request: HttpRequest) -> int | None:
    """The knowledge revision in the address; None where none is."""
    if "as_of" not in request.GET:
        return None
    revision = revision_named(request.GET["as_of"])
    if revision is None:
        raise Http404(f"no knowledge revision {request.GET['as_of']}")
    return revision
