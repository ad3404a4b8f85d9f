"""The question as a page: a form, and its answer in place."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from kdb.htmx import at_address, varies_for_htmx, wants_fragment

from . import catalogue, presentation
from .forms import QuestionForm
from .question import Question
from .selectors import current_ranking

# What a first visitor may ask; each is shown when its workload is in the catalogue.
EXAMPLES = (
    Question("fs-pair", "varmail", hypervisor="kvm"),
    Question("hypervisor", "fileserver"),
    Question("guest-fs", "varmail", hypervisor="proxmox"),
    Question("guest-fs", "fileserver", hypervisor="proxmox"),
    Question("hypervisor", "webserver", vm_count=1),
)
FURTHER_FILTERS = ("storage", "benchmark", "guest_os_family", "grade")
MAX_SUGGESTIONS = 3


class AskForm(QuestionForm):
    """The question as a person puts it: the axis is one of the fields, VM counts are those that were run."""

    field_order = ("axis", *QuestionForm.field_order)

    def __init__(self, data: Any = None) -> None:
        axis = (data or {}).get("axis") or "fs-pair"
        super().__init__(data, axis=axis)
        self.fields["axis"] = forms.ChoiceField(
            label="What to choose",
            choices=presentation.axis_choices(),
            required=False,
            error_messages={"invalid_choice": "%(value)r cannot be ranked; choose from the list."},
        )
        workloads = catalogue.names()["workload"]
        self.fields["workload"].widget = forms.Select(choices=[("", "Choose one"), *workloads.items()])
        self.fields["workload"].widget.is_required = True
        counts = catalogue.vm_counts()
        asked = (data or {}).get("vm_count", "")
        others = [asked] if asked and asked not in map(str, counts) else []
        self.fields["vm_count"].widget = forms.Select(choices=[("", "Any"), *((n, n) for n in [*counts, *others])])
        self.order_fields(self.field_order)

    def question(self) -> Question:
        values = {name: value or None for name, value in self.cleaned_data.items() if name != "axis"}
        return Question(axis=self.axis, **values)

    def shown(self) -> "AskForm":
        """The same form with slugs in place of aliases, so that every choice shows what was understood."""
        question = self.question()
        return AskForm({name: str(value) for name, value in question.as_dict().items() if value is not None})

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in FURTHER_FILTERS]

    @property
    def further_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name in FURTHER_FILTERS]

    @property
    def has_further_filters(self) -> bool:
        return any(field.value() or field.errors for field in self.further_fields)


@require_safe
@varies_for_htmx
def answer(request: HttpRequest) -> HttpResponse:
    """The form alone, or with the answer to the question in the address."""
    if not request.GET.keys() & {"axis", *QuestionForm.field_order}:
        return _respond(request, {"form": AskForm(), "examples": _examples(), "page": None})
    form = AskForm(request.GET)
    if not form.is_valid():
        status = 422 if wants_fragment(request) else 400
        return _respond(request, {"form": form, "examples": [], "page": None}, status=status)
    question = form.question()
    address = presentation.address(question)
    if not wants_fragment(request) and request.get_full_path() != reverse("answer") + address.removeprefix("/"):
        return redirect(address)
    response = _respond(request, {"form": form.shown(), "examples": [], **_answer_context(question)})
    return at_address(response, address) if wants_fragment(request) else response


def _respond(request: HttpRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    is_fragment = wants_fragment(request)
    template = "modelling/_question.html" if is_fragment else "modelling/answer.html"
    return render(request, template, {**context, "is_fragment": is_fragment}, status=status)


def _answer_context(question: Question) -> dict[str, Any]:
    snapshot = current_ranking(question)
    return {
        "page": presentation.present(question, snapshot.result, catalogue.names()),
        "snapshot": snapshot,
        "address": presentation.address(question),
        "api_address": presentation.api_address(question),
        "csv_address": presentation.api_address(question, format="csv"),
        "suggestions": [] if snapshot.result["entries"] else _suggestions(question),
    }


def _examples() -> list[dict[str, str]]:
    known = catalogue.names()["workload"]
    return [_as_link(question) for question in EXAMPLES if question.workload in known]


def _suggestions(question: Question) -> list[dict[str, str]]:
    """Near questions that the evidence does answer."""
    found = []
    for near in presentation.nearest(question):
        if current_ranking(near).result["entries"]:
            found.append(_as_link(near))
        if len(found) == MAX_SUGGESTIONS:
            break
    return found


def _as_link(question: Question) -> dict[str, str]:
    return {"address": presentation.address(question), "title": presentation.title(question, catalogue.names())}
