"""The question as a page: a form, and its answer in place."""

from typing import Any

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from kdb.htmx import at_address, varies_for_htmx, wants_fragment
from modelling.comparisons.words import compare_address
from modelling.evidence import names
from modelling.evidence.asking import page_revision
from modelling.evidence.forms import AskForm, QuestionForm
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

from . import presentation, words
from .next_runs import campaign_address
from .selectors import answer_in, answer_or_none, current_ranking, kept_answers, waiting_for

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
    as_of = page_revision(request)
    address = words.address(question, as_of)
    if is_fragment:
        return at_address(_respond(request, _answered(question, as_of, is_fragment)), address)
    if request.get_full_path() != reverse("answer") + address.removeprefix("/"):
        return redirect(address)
    title = words.title(question, names.names())
    return _respond(request, _answered(question, as_of, is_fragment), title=title, address=address)


def _respond(request: HttpRequest, content: str, *, status: int = 200, **context: str) -> HttpResponse:
    """The content by itself for htmx, else on its page, which has a title and an address where it answers."""
    if wants_fragment(request):
        return HttpResponse(content, status=status)
    context = {"title": "", "address": "", **context}
    return render(request, "modelling/answer.html", {"content": content, **context}, status=status)


def _answered(question: Question, as_of: int | None, is_fragment: bool) -> str:
    """Form and answer as HTML, kept for a while: rendering them costs six times the looking up."""
    snapshot = answer_or_none(question, as_of)
    if snapshot is None:
        waiting = {"address": words.address(question), "row": waiting_for(question)}
        return _rendered(is_fragment, form=AskForm.showing(question), waiting=waiting)
    key = f"modelling.answer:{snapshot.digest}:{snapshot.superseded_by}:{as_of}:{is_fragment}"
    return cache.get_or_set(key, lambda: _rendered(is_fragment, **_context(question, snapshot, as_of)), _KEPT_SECONDS)


def _rendered(is_fragment: bool, **context: Any) -> str:
    empty = {"examples": [], "page": None, "waiting": None}
    return render_to_string("modelling/_question.html", {**empty, **context, "is_fragment": is_fragment})


def _context(question: Question, snapshot: RankingSnapshot, as_of: int | None) -> dict[str, Any]:
    answer = answer_in(snapshot)
    then = {} if as_of is None else {"as_of": as_of}
    return {
        "form": AskForm.showing(question),
        "page": presentation.present(answer, names.names(), as_of),
        "snapshot": snapshot,
        "as_of": as_of,
        "current_address": words.address(question),
        "permanent_address": words.address(question, as_of or answer.revision),
        "api_address": words.api_address(question, **then),
        "csv_address": words.api_address(question, format="csv", **then),
        "suggestions": [] if answer.entries or as_of else _suggestions(question),
        "campaign_address": "" if answer.entries else campaign_address(question),
        "why_address": compare_address(question, **then) if answer.entries else "",
    }


def _examples() -> list[dict[str, str]]:
    known = names.names()["workload"]
    return [_as_link(question) for question in EXAMPLES if question.workload in known]


def _suggestions(question: Question) -> list[dict[str, Any]]:
    """Near questions that the evidence does answer, with their verdicts: one fact loosened, then another choice."""
    near = presentation.nearest(question)
    kept = kept_answers(near)
    found = [other for other in near if kept.get(other)]
    unknown = [other for other in near if other not in kept][:MAX_WORKED_OUT]
    while unknown and not found:
        other = unknown.pop(0)
        found = [other] if answer_in(current_ranking(other)).entries else []
    answers = [answer_in(current_ranking(other)) for other in found[:MAX_SUGGESTIONS]]
    return [{**_as_link(answer.question), "verdict": answer.verdict} for answer in answers]


def _as_link(question: Question) -> dict[str, str]:
    return {"address": words.address(question), "title": words.title(question, names.names())}
