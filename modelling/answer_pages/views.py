"""The pages of a question: its form and answer, and the capacity of configurations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from experiments import permissions
from kdb.cost import budget
from kdb.units import METRICS
from kdb.web import linked_data
from kdb.web.addresses import site_of
from kdb.web.htmx import at_address, target_of, to_page, varies_for_htmx, wants_fragment
from kdb.web.private import private_with
from modelling.answer_pages.explanations.selectors import explained
from modelling.answer_store import releases
from modelling.answer_store.history import earlier_answers
from modelling.answer_store.selectors import answer_in, waiting_row
from modelling.answer_store.snapshots import count_ahead
from modelling.answer_store.standing import examples
from modelling.answer_store.subscriptions.selectors import button
from modelling.answer_store.versions import AnswerVersion, answer_version
from modelling.answer_store.views import at_permanent_addresses
from modelling.answers import words
from modelling.answers.content import Answer
from modelling.answers.next_runs import campaign_address
from modelling.ask.selectors import FACTS_OF_MACHINE, Machine, Word, fit
from modelling.evidence import counts, names
from modelling.evidence.axes import AXES
from modelling.evidence.choices import compared_under
from modelling.evidence.question import Question
from modelling.evidence.serialization import page_version
from modelling.evidence.storage import get_or_compute
from modelling.guidance.guide_texts import guide_for_axis
from modelling.models import Laboratory
from modelling.own_lab.selectors import HERE, answer_here, laboratories_on, laboratory_in, measure_command

from .chips import chips, comparison_links
from .citing import Citation
from .forms import RateForm, VisitorForm
from .layout import presentation, tabs
from .layout.meaning import carried_lines
from .overview import recommendations

_CACHE_SECONDS = 60


@require_safe
@varies_for_htmx
@private_with(HERE)
@at_permanent_addresses
def answer(request: HttpRequest) -> HttpResponse:
    """Show the form, with the answer if the address has a question; members also see their machine's numbers."""
    is_fragment, laboratory = wants_fragment(request), laboratory_in(request)
    if not request.GET.keys() & set(VisitorForm.field_order):
        return respond(request, _render_first_page(is_fragment))
    form = VisitorForm(request.GET)
    if not form.is_valid():
        return respond(request, render_question(is_fragment, form=form), status=422 if is_fragment else 400)
    if form.is_open or form.is_answered_by_page:
        return respond(request, _render_open_question(form, is_fragment), form)
    if form.leaves_choice_open:
        return to_page(request, known_address(form.cleaned_data["workload"], form.given))
    as_of, method = page_version(request)
    here = laboratory.slug if laboratory and as_of is None else ""
    machine, text = Machine.of(form.cleaned_data), form.cleaned_data["text"]
    tab = request.GET["tab"] if request.GET.get("tab") in tabs.TABS else ""
    asked = AskedQuestion(form.question(), machine, text, tab, here)
    question = asked.question
    if form.compared:
        beside = {name: value for name, value in asked.beside.items() if name in ("text", HERE)}
        version = words.version_parameters(as_of, method)
        return to_page(request, words.comparison_address(question, form.compared, **beside, **version))
    address = words.address(question, as_of, asked.beside, method)
    if not is_fragment and request.get_full_path() != reverse("answer") + address.removeprefix("/"):
        return redirect(address)
    operator = request.user if permissions.may_operate(request.user) else None
    kept = answer_version(question, as_of, method, request.user)
    if kept and not asked.tab:
        budget.remove_limit()  # only rendering is left, which must not fail on a slow machine
    site = site_of(request)
    wanted = RequestedParts(is_fragment, is_fragment and target_of(request) == "answer-tabs", operator, site)
    content, linked = _render_answer(asked, kept, wanted, laboratory)
    if wanted.tabs_alone:
        return at_address(request, HttpResponse(content), address)
    if is_fragment:
        return at_address(request, respond(request, content, form), address)
    title = words.title(question, names.names())
    permanent, feed = words.address(question, as_of, method=method), words.feed_address(question)
    return respond(request, content, form, title=title, address=permanent, feed_address=feed, linked_data=linked)


def _linked_data(question: Question, kept: AnswerVersion, site: str) -> str:
    """Return the script element with structured data for search engines; "" where nothing is published."""
    cited = _citation(question, kept, site)
    if cited is None:
        return ""
    slugs = dict.fromkeys(row["case_study"] for row in kept.result.get("evidence", []))
    addresses = {slug: site + reverse("case-study-detail", args=[slug]) for slug in slugs}
    return linked_data.script(cited.as_schema_org(addresses))


def _citation(question: Question, kept: AnswerVersion, site: str) -> Citation | None:
    named = kept.address_parameters
    if not named:
        return None
    return Citation(
        title=words.title(question, names.names()),
        says=kept.result["verdict"]["sentence"],
        address=site + words.address(question, named["as_of"], method=named.get("method")),
        revision=named["as_of"],
        method=kept.method,
        given_on=(kept.snapshot.computed_at or now()).date(),
    )


@require_safe
def choices(request: HttpRequest) -> HttpResponse:
    """Show the fields of the form with the number of case studies behind each choice, given the others."""
    return render(request, "modelling/_choices.html", {"form": VisitorForm(request.GET, asks=False)})


def respond(
    request: HttpRequest, content: str, form: VisitorForm | None = None, *, status: int = 200, **context: str
) -> HttpResponse:
    """Respond with the content alone for htmx, else in its page. context : title and addresses of an answer

    form : a valid one, of the question that a signed-in user may follow
    """
    is_fragment = wants_fragment(request)
    of_user: dict[str, Any] = {"follow": None, "on_machines": []}
    if request.user.is_authenticated and form and not form.is_open:
        question = form.question()
        of_user["follow"] = button(request.user, question)
        if HERE not in request.GET:
            of_user["on_machines"] = [
                (laboratory.name, words.address(question, beside={HERE: laboratory.slug}))
                for laboratory in laboratories_on(question, request.user)
            ]
    if is_fragment:
        beside = "".join(
            render_to_string(f"modelling/{name}.html", {**of_user, "is_fragment": True}, request)
            for name in ("_on_machines", "_follow")
        )
        return HttpResponse(content + beside, status=status)
    context = {"title": "", "address": "", "feed_address": "", "linked_data": "", **context}
    return render(request, "modelling/answer.html", {"content": content, **context, **of_user}, status=status)


@dataclass(frozen=True)
class AskedQuestion:
    """A question with the rest of its address; text, tab and here (slug of a laboratory) may be ""."""

    question: Question
    machine: Machine
    text: str
    tab: str
    here: str

    @property
    def beside(self) -> dict[str, str]:
        """Return the query parameters that do not change the answer."""
        beside = {"text": self.text, HERE: self.here, "tab": self.tab}
        return {**self.machine.given, **{name: value for name, value in beside.items() if value}}


@dataclass(frozen=True)
class RequestedParts:
    """The parts of an answer to send.

    tabs_alone : only the tabs and the content of the open one; site : scheme and host of the request
    operator : the reader, if they may operate hosts, whose releases are shown and campaigns linked
    """

    is_fragment: bool
    tabs_alone: bool
    operator: Any
    site: str


def _render_answer(
    asked: AskedQuestion, kept: AnswerVersion | None, wanted: RequestedParts, laboratory: Laboratory | None
) -> tuple[str, str]:
    """Return form and answer as HTML, and structured data for search engines.

    Cached, as rendering takes six times as long as the lookup; not for a laboratory, whose numbers are private.
    """
    if kept is None:
        row = waiting_row(asked.question)
        waiting = {
            "title": words.title(asked.question, names.names()),
            "address": words.address(asked.question, beside=asked.beside),
            "row": row,
            "ahead": count_ahead(row) if row else None,
        }
        return render_question(wanted.is_fragment, form=VisitorForm(), waiting=waiting), ""

    def body() -> str:
        on_machine = answer_here(asked.question, laboratory) if asked.here and laboratory else None
        shown: dict[str, Any] = {
            **_context(asked, kept, wanted.site),
            "may_operate": wanted.operator is not None,
            "here": on_machine,
            "here_most": ":4",
        }
        if shown["tab"] == tabs.EVIDENCE and kept.as_of is None:
            seen = [releases.newest_of_hosts(permissions.hosts_visible_to(wanted.operator))] if wanted.operator else []
            seen += [releases.newest_releases_in_laboratory(laboratory)] if asked.here and laboratory else []
            shown["releases"] = releases.releases(asked.question, kept.result, *seen)
        is_open = kept.as_of is None and not (on_machine and on_machine.is_decided)
        shown["measure"] = measure_command(shown["page"].answer, asked.here, server=wanted.site) if is_open else None
        if wanted.tabs_alone:
            return render_to_string("modelling/_answer_tabs.html", shown)
        form = VisitorForm.filled_with(asked.question, asked.machine, asked.text)
        understood = describe_reading(form) if asked.text and form.is_valid() else None
        shown["chips"] = chips(form, asked.question, asked.machine, kept.as_of)
        return render_question(wanted.is_fragment, form=form, understood=understood, **shown)

    def page() -> tuple[str, str]:
        return body(), "" if wanted.is_fragment else _linked_data(asked.question, kept, wanted.site)

    if asked.here:
        return page()
    key = f"modelling.answer:{kept.digest}:{sha256(f'{asked}{wanted}'.encode()).hexdigest()}"
    kept_page: tuple[str, str] = get_or_compute(key, page, cache="bodies", seconds=_CACHE_SECONDS)
    return kept_page


def _render_open_question(form: VisitorForm, is_fragment: bool) -> str:
    """Render the page for a text without a workload, or for one that another page answers.

    Unless the text asks for a choice, the table of recommendations follows.
    """
    asks_choice = form.chosen is not None and not form.chosen.is_whole
    asked: dict[str, Any] = {"loads": _workload_links(form)}
    if not asks_choice:
        asked["table"] = recommendations()
    elif compared_under(()) is not None:
        asked["thing"] = words.THING[form.question().axis]
    return render_question(is_fragment, form=form.as_understood(), understood=describe_reading(form), **asked)


def _workload_links(form: VisitorForm) -> list[tuple[str, str]]:
    """Return label and address of the same question under each workload with evidence on it, for a text without one."""
    if form.chosen is None or not form.is_open:
        return []
    workloads, question = names.names()["workload"], form.question()
    compared = compared_under(workloads) or {}
    text, machine = form.cleaned_data["text"], Machine.of(form.cleaned_data).given
    is_whole = form.chosen.is_whole
    axes = AXES if is_whole else (question.axis,)

    def address_under(workload: str) -> str:
        asked = replace(question, workload=workload)
        if is_whole:
            return known_address(workload, form.given)
        if form.compared:
            return words.comparison_address(asked, form.compared, text=text)
        return words.address(asked, beside={**machine, "text": text})

    return [
        (label, address_under(workload))
        for workload, label in workloads.items()
        if any(compared.get(workload, {}).get(axis) for axis in axes)
    ]


def describe_reading(form: VisitorForm) -> dict[str, Any] | None:
    """Return how the text of a valid form was read, with addresses without each word and by each other reading.

    The addresses keep what was chosen besides the text.
    """
    if form.reading is None:
        return None
    beside = form.given_besides_text

    def address_without(word: Word) -> str:
        kept = {name: value for name, value in beside.items() if name != word.role} | {"text": word.rest}
        return "/?" + urlencode({name: value for name, value in kept.items() if value}, quote_via=quote)

    def address_read_as(address: str) -> str:
        path, _, query = address.partition("?")
        return f"{path}?{urlencode({**beside, **dict(parse_qsl(query))})}"

    is_shown = None if form.is_answered_by_page else form.chosen
    return {
        "said": form.reading,
        "words": [(word, address_without(word)) for word in form.reading.understood if word.role != "axis"],
        "readings": [(one.title, address_read_as(one.address)) for one in form.reading.readings if one is not is_shown],
    }


def render_question(is_fragment: bool, **context: Any) -> str:
    empty: dict[str, Any] = dict.fromkeys(("table", "page", "tabs", "waiting", "understood", "here"))
    empty |= {"examples": [], "loads": [], "title": "", "thing": ""}
    return render_to_string("modelling/_question.html", {**empty, **context, "is_fragment": is_fragment})


def _context(asked: AskedQuestion, kept: AnswerVersion, site: str) -> dict[str, Any]:
    """Return the context of the answer's templates; what only a tab shows is included if that tab is open."""
    question, machine = asked.question, asked.machine
    answer = answer_in(kept.snapshot)
    page = presentation.AnswerPage(answer, names.names(), kept.as_of, settings.KDB_MARGIN)
    fitting = fit(question.axis, question.filters, machine, answer.grounds.facts, names.names())
    then = kept.address_parameters if kept.as_of else {}
    labelled = tabs.answer_tabs(answer, kept.is_by_current_method)

    def tab_address(name: str) -> str:
        return words.address(question, then.get("as_of"), {**asked.beside, "tab": name}, then.get("method"))

    shown = tabs.tabs(labelled, asked.tab, tab_address)
    tab = next((one.name for one in shown if one.is_open), "")
    recommended = [entry.key for entry in answer.entries[:1]]
    here = {HERE: asked.here} if asked.here else {}
    return {
        "title": page.title,
        "what": "answer",
        "page": page,
        "sentence": answer.verdict.sentence,
        "confidence": answer.verdict.confidence,
        "without_numbers": "",
        "more": comparison_links(answer, recommended, {**machine.given, **here}, kept.as_of),
        "as_of": kept.as_of,
        "fit": fitting,
        "tells_fit": fitting.is_asked,
        "caveats": presentation.caveats(page, fitting.says_disks, kept.caveat),
        "edition": kept,
        "tab": tab,
        "tabs": shown,
        "known_address": known_address(question.workload, question.as_dict()),
        "guide": guide_for_axis(question.axis),
        "current_address": words.address(question, beside=machine.given),
        "campaign": "" if page.tables or kept.as_of else campaign_address(question),
        "explanation": explained(question, as_of=kept.as_of) if tab == tabs.WHY and kept.is_by_current_method else None,
        **(_history(asked, answer, kept, site) if tab == tabs.HISTORY else {}),
    }


def known_address(workload: str, facts: Mapping[str, Any]) -> str:
    """Return the address of the summary of choices for a workload. facts : of the machine, and the text"""
    asked = {name: facts[name] for name in (*FACTS_OF_MACHINE, "text") if facts.get(name)}
    return reverse("known", args=[workload]) + (f"?{urlencode(asked)}" if asked else "")


def _history(asked: AskedQuestion, answer: Answer, kept: AnswerVersion, site: str) -> dict[str, Any]:
    """Return the context of the tab with addresses, citation and earlier answers."""
    question, facts, named = asked.question, asked.machine.given, kept.address_parameters
    this = {} if kept.as_of is None else named
    return {
        "permanent_address": words.address(question, named.get("as_of"), method=named.get("method")) if named else "",
        "cited": _citation(question, kept, site),
        "feed_address": words.feed_address(question),
        "earlier": earlier_answers(question, answer),
        "api_address": words.api_address(question, **facts, **this),
        "csv_address": words.api_address(question, format="csv", **facts, **this),
        "points_address": words.api_address(question, format="csv", rows="side_by_side", **this),
    }


@require_safe
@varies_for_htmx
@at_permanent_addresses
def capacity(request: HttpRequest) -> HttpResponse:
    """Show how many machines each configuration behind an answer carries at a rate. htmx gets the table alone."""
    if "workload" not in request.GET:  # without a question, which the first page asks for
        return to_page(request, reverse("answer"))
    is_fragment = wants_fragment(request)
    form, (as_of, method) = RateForm(request.GET), page_version(request)
    context: dict[str, Any] = {"form": form, "lines": None, "unit": "", "rate": "", "address": ""}
    context |= {"title": "", "as_of": as_of, "method": method}
    status = 422 if is_fragment else 400
    if form.is_valid():
        question = form.question()
        kept = answer_version(question, as_of, method, request.user)
        if kept is None:
            return to_page(request, words.address(question))
        answer, rate = answer_in(kept.snapshot), form.cleaned_data["rate"]
        unit = METRICS[answer.metric].unit
        titles = [table.title for table in presentation.AnswerPage(answer, names.names()).curves]
        context |= {"lines": carried_lines(answer, titles, rate), "unit": unit, "rate": rate}
        context |= {
            "address": words.address(question, as_of, method=method),
            "title": words.title(question, names.names()),
        }
        status = 200
    return render(request, f"modelling/{'_capacity' if is_fragment else 'capacity'}.html", context, status=status)


def _render_first_page(is_fragment: bool) -> str:
    """Render the page without a question, cached for a minute unless answers are still missing."""
    key = f"modelling.first_page:{counts.revision()}:{names.stamp()}:{is_fragment}"
    page: str | None = caches["bodies"].get(key)
    if page is None:
        table, known = recommendations(), names.names()
        links = [{"address": words.address(example), "title": words.title(example, known)} for example in examples()]
        page = render_question(is_fragment, form=VisitorForm(), examples=links, table=table)
        if not table.waiting:
            caches["bodies"].set(key, page, _CACHE_SECONDS)
    return page
