"""The question as a page: a form, and its answer in place."""

from typing import Any

from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from kdb.htmx import at_address, varies_for_htmx, wants_fragment
from modelling.evidence import counts, names
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot
from modelling.validation import reports, tables

from . import presentation
from .forms import ENTRY_FIELDS, AskForm, CompareForm, QuestionForm
from .selectors import answer_at, compared, current_ranking, explained, kept_answers, revision_named

# What a first visitor may ask; each is shown when its workload is in the catalogue.
EXAMPLES = (
    Question("fs-pair", "varmail", hypervisor="kvm"),
    Question("hypervisor", "fileserver"),
    Question("guest-fs", "varmail", hypervisor="proxmox"),
    Question("guest-fs", "fileserver", hypervisor="proxmox"),
    Question("hypervisor", "webserver", vm_count=1),
)
MAX_SUGGESTIONS = 3
MAX_WORKED_OUT = 2  # answers computed only to suggest them
_KEPT_SECONDS = 60


@require_safe
@varies_for_htmx
def answer(request: HttpRequest) -> HttpResponse:
    """The form alone, or with the answer to the question in the address."""
    is_fragment = wants_fragment(request)
    if not request.GET.keys() & {"axis", *QuestionForm.field_order}:
        form = _rendered(is_fragment, form=AskForm(), examples=_examples())
        return _respond(request, form)
    form = AskForm(request.GET)
    if not form.is_valid():
        return _respond(request, _rendered(is_fragment, form=form), status=422 if is_fragment else 400)
    question = form.question()
    as_of = _as_of(request)
    address = presentation.address(question, as_of)
    if is_fragment:
        return at_address(_respond(request, _answered(question, as_of, is_fragment)), address)
    if request.get_full_path() != reverse("answer") + address.removeprefix("/"):
        return redirect(address)
    title = presentation.title(question, names.names())
    return _respond(request, _answered(question, as_of, is_fragment), title=title, address=address)


@require_safe
@varies_for_htmx
def compare(request: HttpRequest) -> HttpResponse:
    """Two to six entries of one axis side by side, and why the first stands where it does against the second.

    htmx gets the explanation alone.
    """
    if not request.GET:
        return render(request, "modelling/compare.html", {"form": CompareForm(), "explanation": None})
    form, as_of = CompareForm(request.GET), _as_of(request)
    if not form.is_valid():
        status = 422 if wants_fragment(request) else 400
        return render(request, "modelling/compare.html", {"form": form, "explanation": None}, status=status)
    question, keys = form.question(), form.cleaned_data["entries"]
    explanation = explained(question, *keys[:2], as_of=as_of)
    if wants_fragment(request):
        return render(request, "modelling/_explanation.html", {"explanation": explanation})
    keys = keys or [side["key"] for side in (explanation["a"], explanation["b"]) if side]
    entries = dict(zip(ENTRY_FIELDS, keys, strict=False))
    comparison = compared(question, keys, as_of) if keys else None
    context = {
        "form": CompareForm.showing(question, keys),
        "explanation": explanation,
        "page": presentation.present_comparison(question, comparison, as_of) if comparison else None,
        "as_of": as_of,
        "revision": as_of or counts.revision(),
        "current_address": presentation.compare_address(question, **entries),
        "permanent_address": presentation.compare_address(question, **entries, as_of=as_of or counts.revision()),
        "api_address": presentation.comparison_api_address(question, keys, **({"as_of": as_of} if as_of else {})),
    }
    return render(request, "modelling/compare.html", context)


@require_safe
def model_quality(request: HttpRequest) -> HttpResponse:
    """How well the models foretell a case study that was left out."""
    report = reports.current()
    if report is None:
        response = render(request, "modelling/model_quality.html", {"report": None}, status=503)
        response["Retry-After"] = 30
        return response
    context = {
        "report": report,
        "tables": tables.tables(report.result, names.names()),
        "is_behind": report.revision < counts.revision(),
    }
    return render(request, "modelling/model_quality.html", context)


def _as_of(request: HttpRequest) -> int | None:
    """The knowledge revision in the address; None where none is."""
    if "as_of" not in request.GET:
        return None
    revision = revision_named(request.GET["as_of"])
    if revision is None:
        raise Http404(f"no knowledge revision {request.GET['as_of']}")
    return revision


def _respond(request: HttpRequest, content: str, *, status: int = 200, **context: str) -> HttpResponse:
    """The content by itself for htmx, else on its page, which has a title and an address where it answers."""
    if wants_fragment(request):
        return HttpResponse(content, status=status)
    context = {"title": "", "address": "", **context}
    return render(request, "modelling/answer.html", {"content": content, **context}, status=status)


def _answered(question: Question, as_of: int | None, is_fragment: bool) -> str:
    """Form and answer as HTML, kept for a while: rendering them costs six times the looking up."""
    snapshot = answer_at(question, as_of)
    key = f"modelling.answer:{snapshot.digest}:{snapshot.superseded_by}:{as_of}:{is_fragment}"
    return cache.get_or_set(key, lambda: _rendered(is_fragment, **_context(question, snapshot, as_of)), _KEPT_SECONDS)


def _rendered(is_fragment: bool, **context: Any) -> str:
    empty = {"examples": [], "page": None}
    return render_to_string("modelling/_question.html", {**empty, **context, "is_fragment": is_fragment})


def _context(question: Question, snapshot: RankingSnapshot, as_of: int | None) -> dict[str, Any]:
    has_answer = bool(snapshot.result["entries"])
    then = {} if as_of is None else {"as_of": as_of}
    return {
        "form": AskForm.showing(question),
        "page": presentation.present(question, snapshot.result, names.names()),
        "snapshot": snapshot,
        "as_of": as_of,
        "current_address": presentation.address(question),
        "permanent_address": presentation.address(question, as_of or snapshot.result["revision"]),
        "api_address": presentation.api_address(question, **then),
        "csv_address": presentation.api_address(question, format="csv", **then),
        "suggestions": [] if has_answer or as_of else _suggestions(question),
        "why_address": presentation.compare_address(question, **then) if has_answer else "",
    }


def _examples() -> list[dict[str, str]]:
    known = names.names()["workload"]
    return [_as_link(question) for question in EXAMPLES if question.workload in known]


def _suggestions(question: Question) -> list[dict[str, str]]:
    """Near questions that the evidence does answer."""
    near = presentation.nearest(question)
    kept = kept_answers(near)
    found = [other for other in near if kept.get(other)]
    unknown = [other for other in near if other not in kept][:MAX_WORKED_OUT]
    while unknown and not found:
        other = unknown.pop(0)
        found = [other] if current_ranking(other).result["entries"] else []
    return [_as_link(other) for other in found[:MAX_SUGGESTIONS]]


def _as_link(question: Question) -> dict[str, str]:
    return {"address": presentation.address(question), "title": presentation.title(question, names.names())}
