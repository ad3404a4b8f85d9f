"""Read a question and the version of its answer from an address, and describe their parameters for the API."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, NamedTuple, TypeVar

from django.http import Http404, HttpRequest
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from experiments.published_evidence.abilities import ABILITIES
from kdb.api.errors import refuse_faults
from kdb.api.faults import FaultyRequest, FieldError
from kdb.disk_path import SETTINGS, Setting
from kdb.units import METRICS

from . import counts
from .axes import AXES
from .counts import parse_revision
from .forms import QuestionForm
from .question import PAPERS, Question

Asked = TypeVar("Asked", bound=QuestionForm)

AS_OF = "as_of"
BY_METHOD = "method"
VERSION_PARAMETERS = (AS_OF, BY_METHOD)  # together they identify one answer to a question


def _describe_setting(setting: Setting) -> str:
    """Return the description of a setting's filter in the API schema."""
    values = ["16384", "16k"] if setting.is_bytes else [value.name for value in setting.values]
    others = "" if setting.is_closed or not values else ", ..."
    allowed = f" {', '.join(f'`{value}`' for value in values)}{others}." if values else " As published."
    return f"{setting.label}:{allowed} {setting.meaning}"


FILTERS = [
    OpenApiParameter("workload", required=True, description="Workload, by slug, name or alias: `varmail`, `mail`."),
    OpenApiParameter("hypervisor", description="Hypervisor, by slug, name or alias, or `native`: `kvm`, `proxmox`."),
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
    *(OpenApiParameter(column, description=_describe_setting(setting)) for column, setting in SETTINGS.items()),
]

NEEDS = OpenApiParameter(
    "needs",
    many=True,
    enum=list(ABILITIES),
    description="What an entry must have to be recommended: once for each, or once with commas between them.",
)

AS_OF_PARAMETER = OpenApiParameter(
    "as_of", int, description="Knowledge revision: the answer as it was then, whatever was published since."
)
METHOD_PARAMETER = OpenApiParameter(
    BY_METHOD,
    int,
    description="Beside `as_of`: the method whose answer is meant. The two make an address permanent: it gives what it "
    "gave first, though a later method says something else. Without it: the method of today. 410: that answer was not "
    "kept.",
)


@dataclass(frozen=True)
class Permanence:
    """The permanent address of an answer, its method, and whether it is kept."""

    method: Annotated[int, "Version of the way from the evidence to the answer."]
    permanent: Annotated[str | None, "Address of just this, by revision and method; null: nothing is published."]
    pinned: Annotated[bool | None, "Whether it is kept for good; null: this is not its permanent address."]


class NoSuchAnswer(FaultyRequest):
    """The address names a method by which this server has no answer.

    is_gone : whether it is an earlier method, whose answer was not pinned
    """

    def __init__(self, message: str, *, is_gone: bool) -> None:
        super().__init__(
            [{"field": BY_METHOD, "message": message}], HTTPStatus.GONE if is_gone else HTTPStatus.NOT_FOUND
        )


class Version(NamedTuple):
    """The version of an answer that an address names. None: the current revision or method"""

    as_of: int | None
    method: int | None


def version_asked(request: Request) -> Version:
    """Return the version in the address of the API. Raises FaultyRequest where it is malformed."""
    version = Version(asked_revision(request), _parse_method(request.query_params))
    if version.method is not None and version.as_of is None:
        raise FaultyRequest(
            [{"field": BY_METHOD, "message": "A method names an answer only beside a revision (as_of)."}]
        )
    return version


def asked_revision(request: Request) -> int | None:
    """Return the knowledge revision in the address; None where none is. Raises FaultyRequest."""
    return _parse_revision(request.query_params)


def page_version(request: HttpRequest) -> Version:
    """Return the version in the address of a page. Raises Http404 where it is malformed."""
    try:
        return Version(_parse_revision(request.GET), _parse_method(request.GET))
    except FaultyRequest as error:
        raise Http404(str(error)) from error


def _parse_revision(query: Mapping[str, str]) -> int | None:
    text = query.get(AS_OF)
    revision = None if text is None else parse_revision(text)
    if text is not None and revision is None:
        message = f"{text!r} is no knowledge revision; there are 1 to {counts.revision()}."
        raise FaultyRequest([{"field": AS_OF, "message": message}])
    return revision


def _parse_method(query: Mapping[str, str]) -> int | None:
    text = query.get(BY_METHOD)
    if text is not None and not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise FaultyRequest([{"field": BY_METHOD, "message": f"{text!r} is no method; they are whole numbers from 1."}])
    return None if text is None else int(text)


def question_asked(
    request: Request, axis: str, form_class: type[Asked], further: tuple[str, ...] = ()
) -> tuple[Question, Asked]:
    """Return the question in the address, and its form. Raises FaultyRequest where it is faulty."""
    query = request.query_params
    if axis not in AXES:
        message = f"{axis!r} cannot be ranked; allowed are {', '.join(AXES)}."
        errors: list[FieldError] = [{"field": "axis", "message": message, "allowed": list(AXES)}]
        raise FaultyRequest(errors, status_code=400 if "axis" in further else 404)
    form = form_class(query, axis=axis)
    refuse_faults(form, query, *further)
    return form.question(), form
