"""The question as a page: a form, and its answer in place."""

from hashlib import sha256
from typing import Any

from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from experiments import permissions
from kdb.units import METRICS
from kdb.web.htmx import at_address, varies_for_htmx, wants_fragment
from modelling.answers import words
from modelling.answers.content import conclusion
from modelling.ask.selectors import Machine, fit, kept_machines
from modelling.comparisons.words import address_of, compare_address
from modelling.estimation.ranking import METHOD
from modelling.evidence import names
from modelling.evidence.asking import explains_missing_answers, page_method, page_revision
from modelling.evidence.question import Question
from modelling.following.selectors import button
from modelling.kept_answers.editions import Edition, edition
from modelling.kept_answers.pins import room_for
from modelling.kept_answers.selectors import answer_in, waiting_for
from modelling.kept_answers.snapshots import ahead_of

from . import presentation
from .forms import RateForm, VisitorForm, left_open
from .instead import instead_of
from .meaning import carried_lines

# What a first visitor may ask; each is shown when its workload is in the catalogue.
EXAMPLES = (
    Question("fs-pair", "varmail", hypervisor="kvm"),
    Question("hypervisor", "fileserver"),
    Question("guest-fs", "varmail", hypervisor="proxmox"),
    Question("guest-fs", "fileserver", hypervisor="proxmox"),
    Question("hypervisor", "webserver", vm_count=1),
)
_KEPT_SECONDS = 60


@require_safe
@varies_for_htmx
@explains_missing_answers
def answer(request: HttpRequest) -> HttpResponse:
    """Show the form alone, or with the answer to the question in the address."""
    is_fragment = wants_fragment(request)
    if not request.GET.keys() & set(VisitorForm.field_order):
        return _respond(request, _rendered(is_fragment, form=VisitorForm(), examples=_examples()))
    form = VisitorForm(request.GET)
    if not form.is_valid():
        return _respond(request, _rendered(is_fragment, form=form), status=422 if is_fragment else 400)
    if form.is_open:
        content = _rendered(is_fragment, form=form.as_understood(), reading=form.reading)
        return _respond(request, content, form)
    question, machine, text = form.question(), Machine.of(form.cleaned_data), form.cleaned_data["text"]
    if form.compared and not is_fragment:
        return redirect(address_of(question, form.compared, text=text))
    as_of, method = page_revision(request), page_method(request)
    address = words.address(question, as_of, {**machine.given, **({"text": text} if text else {})}, method)
    if not is_fragment and request.get_full_path() != reverse("answer") + address.removeprefix("/"):
        return redirect(address)
    may_operate = permissions.may_operate(request.user)
    kept = edition(question, as_of, method, room_for(request.user), with_today=True)
    content = _answered(question, machine, text, kept, is_fragment=is_fragment, may_operate=may_operate)
    if is_fragment:
        return at_address(_respond(request, content, form), address)
    title = words.title(question, names.names())
    permanent, feed = words.address(question, as_of, method=method), words.feed_address(question)
    return _respond(request, content, form, title=title, address=permanent, feed_address=feed)


@require_safe
def choices(request: HttpRequest) -> HttpResponse:
    """Show the fields of the form with what lies behind each choice, beside what is chosen so far."""
    return render(request, "modelling/_choices.html", {"form": VisitorForm(request.GET, asks=False)})


def _respond(
    request: HttpRequest, content: str, form: VisitorForm | None = None, *, status: int = 200, **context: str
) -> HttpResponse:
    """Send the content by itself for htmx, else on its page, which has a title and an address where it answers.

    form : valid, with the facts of a machine that whoever is signed in may keep
    """
    is_fragment = wants_fragment(request)
    mine: dict[str, Any] = {"machines": None, "facts": form.facts if form else {}, "follow": None}
    if request.user.is_authenticated:
        if form and not form.is_open:
            mine["follow"] = button(request.user, form.question())
        mine["machines"] = kept_machines(request.user, form.cleaned_data["workload"] or "" if form else "")
    if is_fragment:
        beside = "".join(
            render_to_string(f"modelling/{name}.html", {**mine, "is_fragment": True}, request)
            for name in ("_follow", "_machines")
        )
        return HttpResponse(content + beside, status=status)
    context = {"title": "", "address": "", "feed_address": "", **context}
    return render(request, "modelling/answer.html", {"content": content, **context, **mine}, status=status)


def _answered(
    question: Question, machine: Machine, text: str, kept: Edition | None, *, is_fragment: bool, may_operate: bool
) -> str:
    """Render form and answer as HTML, kept for a while: rendering them costs six times the looking up."""
    if kept is None:
        form, row = VisitorForm.showing_all(question, machine, text), waiting_for(question)
        waiting = {"address": words.address(question), "row": row, "ahead": ahead_of(row) if row else None}
        return _rendered(is_fragment, form=form, waiting=waiting)

    def rendered() -> str:
        form = VisitorForm.showing_all(question, machine, text)
        reading = form.reading if text and form.is_valid() else None
        shown = _context(question, machine, kept)
        return _rendered(is_fragment, form=form, reading=reading, may_operate=may_operate, **shown)

    beside = sha256(f"{machine}{text}".encode()).hexdigest()
    key = f"modelling.answer:{kept.digest}:{is_fragment}:{may_operate}:{beside}"
    body: Any = caches["bodies"].get_or_set(key, rendered, _KEPT_SECONDS)
    return body


def _rendered(is_fragment: bool, **context: Any) -> str:
    """Render without the indentation of the templates, a fifth of the largest answer."""
    empty: dict[str, Any] = {"examples": [], "page": None, "waiting": None, "reading": None}
    html = render_to_string("modelling/_question.html", {**empty, **context, "is_fragment": is_fragment})
    return mark_safe("\n".join(filter(None, map(str.lstrip, html.split("\n")))))  # noqa: S308 as the templates left it


def _context(question: Question, machine: Machine, kept: Edition) -> dict[str, Any]:
    answer = answer_in(kept.snapshot)
    today = answer_in(kept.today) if kept.today else None
    then = {} if kept.as_of is None else {"as_of": kept.as_of}
    named = kept.named
    this = {} if kept.as_of is None else named
    is_left_open = question.axis == left_open(question, machine)
    return {
        "page": presentation.present(answer, names.names(), kept.as_of),
        "fit": fit(question.axis, question.filters, machine, answer.grounds.facts, names.names()),
        "chosen": presentation.chosen(question, is_left_open, machine.given),
        "edition": kept,
        "today": today,
        "today_method": METHOD,
        "says_the_same": today is not None and conclusion(today) == conclusion(answer),
        "today_address": words.address(question, kept.as_of, method=METHOD),
        "current_address": words.address(question, beside=machine.given),
        "permanent_address": words.address(question, named.get("as_of"), method=named.get("method")) if named else "",
        "feed_address": words.feed_address(question),
        "api_address": words.api_address(question, **machine.given, **this),
        "csv_address": words.api_address(question, format="csv", **machine.given, **this),
        "instead": None if kept.as_of else instead_of(answer),
        "why_address": compare_address(question, **then) if answer.entries and kept.is_of_today else "",
    }


@require_safe
@varies_for_htmx
@explains_missing_answers
def capacity(request: HttpRequest) -> HttpResponse:
    """Show how many machines each configuration behind an answer carries at a rate. htmx gets the table alone."""
    if "workload" not in request.GET:  # nobody's answer: they are asked for on the first page
        return redirect("answer")
    is_fragment = wants_fragment(request)
    form, as_of, method = RateForm(request.GET), page_revision(request), page_method(request)
    context: dict[str, Any] = {"form": form, "lines": None, "unit": "", "rate": "", "address": ""}
    context |= {"title": "", "as_of": as_of, "method": method}
    status = 422 if is_fragment else 400
    if form.is_valid():
        question = form.question()
        kept = edition(question, as_of, method, room_for(request.user))
        if kept is None:
            return redirect(words.address(question))
        answer, rate = answer_in(kept.snapshot), form.cleaned_data["rate"]
        unit = METRICS[answer.metric].unit
        titles = [table.title for table in presentation.present(answer, names.names()).curves]
        context |= {"lines": carried_lines(answer, titles, rate), "unit": unit, "rate": rate}
        context |= {
            "address": words.address(question, as_of, method=method),
            "title": words.title(question, names.names()),
        }
        status = 200
    return render(request, f"modelling/{'_capacity' if is_fragment else 'capacity'}.html", context, status=status)


def _examples() -> list[dict[str, str]]:
    known = names.names()["workload"]
    return [_as_link(question) for question in EXAMPLES if question.workload in known]


def _as_link(question: Question) -> dict[str, str]:
    return {"address": words.address(question), "title": words.title(question, names.names())}
