"""The page of a comparison of two to six entries."""

from dataclasses import replace
from typing import Any

import cattrs
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from experiments import permissions
from kdb.web.addresses import site_of
from kdb.web.htmx import at_address, target_of, to_page, varies_for_htmx, wants_fragment
from kdb.web.private import private_with
from modelling.answer_pages.explanations.selectors import explained
from modelling.answer_store.selectors import answer_in, snapshot_at
from modelling.answer_store.versions import AnswerVersion
from modelling.answer_store.views import at_permanent_addresses
from modelling.answers import words
from modelling.ask.selectors import Machine, fit
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.evidence.serialization import page_version
from modelling.guidance.guide_texts import guide_for_axis
from modelling.own_lab.selectors import HERE, laboratory_in, measure_command

from .chips import chips, comparison_links
from .comparison import compare_here, comparison_and_answer, comparison_version, ratios_by_workload
from .content import Comparison
from .forms import VisitorForm
from .layout import presentation, tabs
from .layout.side_by_side import ordered_pair, pair_lines, workload_tables
from .views import describe_reading, render_question, respond


@require_safe
@varies_for_htmx
@private_with(HERE)
@at_permanent_addresses
def compare(request: HttpRequest) -> HttpResponse:
    """Show what to choose among entries of one axis, and why; members of a laboratory see their machine's numbers."""
    is_fragment, laboratory = wants_fragment(request), laboratory_in(request)
    if request.GET.keys() <= {"axis"} and request.GET.get("axis", "") in ("", *AXES):
        form = VisitorForm(request.GET, asks=False, compares=True)
        return respond(request, render_question(is_fragment, form=form))
    form = VisitorForm(request.GET, compares=True)
    if not form.is_valid():
        return respond(request, render_question(is_fragment, form=form), status=422 if is_fragment else 400)
    if form.is_open:
        return to_page(request, f"{reverse('answer')}?{request.GET.urlencode()}")
    question, machine = replace(form.question(), needs=()), Machine.of(form.cleaned_data)
    (as_of, method), text = page_version(request), form.cleaned_data["text"]
    whole = answer_in(snapshot_at(question, as_of))
    ranked = [entry.key for entry in whole.entries if entry.part == 1]
    keys = form.compared or (*ranked[:1], *ranked[1:][-1:])
    if len(keys) < 2:
        return to_page(request, words.address(question, as_of, machine.given, method))
    edition = comparison_version(question, keys, as_of, method, request.user)
    here = laboratory.slug if laboratory and as_of is None else ""
    beside = {name: value for name, value in {**machine.given, "text": text, HERE: here}.items() if value}
    shown = _context(question, keys, edition, as_of, request.GET.get("tab", ""), beside, site_of(request))
    shown["fit"] = fit(question.axis, question.filters, machine, whole.grounds.facts, names.names())
    shown["tells_fit"] = bool(machine.given)
    shown["caveats"] = presentation.caveats(shown["page"], shown["fit"].says_disks, "") if shown["page"] else []
    shown["here"] = compare_here(question, keys, laboratory) if here and laboratory else None
    shown["here_most"] = ":"
    shown["may_operate"] = permissions.may_operate(request.user)
    if is_fragment and target_of(request) == "answer-tabs":
        content = render_to_string("modelling/_answer_tabs.html", shown)
        return at_address(request, HttpResponse(content), request.get_full_path())
    asked = VisitorForm.filled_with(question, machine, text, keys)
    shown["chips"] = chips(asked, question, machine, as_of, keys)
    shown["more"] = comparison_links(whole, keys, beside, as_of)
    shown["understood"] = describe_reading(form) if text else None
    return respond(request, render_question(is_fragment, form=asked, **shown), title=shown["title"])


def _context(
    question: Question,
    keys: tuple[str, ...],
    edition: AnswerVersion,
    as_of: int | None,
    opened: str,
    beside: dict[str, str],
    site: str,
) -> dict[str, Any]:
    """Return the template context; what only a tab shows is included if that tab is open.

    opened : tab in the address; beside : its further parameters
    """
    comparison = cattrs.structure(edition.result, Comparison)
    answer = comparison_and_answer(question, keys, as_of)[1] if edition.is_by_current_method else None
    page = presentation.AnswerPage(answer, names.names(), as_of, settings.KDB_MARGIN) if answer else None
    verdict, then = comparison.verdict, edition.address_parameters if as_of else {}
    ranked = [*(verdict.choice if verdict else ()), *(entry.key for entry in (answer.entries if answer else ()))]
    order = [*dict.fromkeys([*ranked, *keys])]  # recommended entries first
    first = next(ordered_pair(pair, order) for pair in comparison.pairs if {pair.a, pair.b} == {*order[:2]})
    labelled = tabs.comparison_tabs(answer)
    tab = opened if opened in labelled else next(iter(labelled))
    shown = tabs.tabs(labelled, tab, lambda name: words.comparison_address(question, keys, **beside, **then, tab=name))
    context: dict[str, Any] = {
        "title": words.title(question, names.names(), [entry.label for entry in comparison.entries]),
        "what": "comparison",
        "page": page,
        "sentence": verdict.sentence if verdict else first.why,
        "confidence": verdict.confidence if verdict else "",
        "without_numbers": first.why if verdict and first.ratio is None else "",
        "edition": edition,
        "as_of": as_of,
        "measure": measure_command(answer, beside.get(HERE, ""), server=site) if answer and as_of is None else None,
        "tab": tab,
        "tabs": shown,
        "campaign": "",
        "known_address": "",
        "guide": guide_for_axis(question.axis),
        "current_address": words.comparison_address(question, keys, **beside),
        "explanation": explained(question, order[0], order[1], as_of) if tab == tabs.WHY else None,
    }
    if tab == tabs.SIDE_BY_SIDE:
        compared = answer.compared if answer else ()
        behind = {key: {row.laboratory for row in compared if {order[0], key} <= {*row.entries}} for key in order[1:]}
        drawn = [key for key, laboratories in behind.items() if len(laboratories) >= presentation.FEWEST_LABORATORIES]
        ratios = ratios_by_workload(question, [order[0], *drawn], as_of) if drawn else ()
        context["lines"] = pair_lines(comparison, order, then)
        context["workloads"] = workload_tables(comparison, order, ratios, then, settings.KDB_MARGIN)
    elif tab == tabs.DIFFERS:
        context["comparison"] = comparison
    elif tab == tabs.HISTORY:
        named = edition.address_parameters
        context["permanent_address"] = words.comparison_address(question, keys, **named) if named else ""
        context["api_address"] = words.comparison_api_address(question, keys, **then)
        context["answer_address"] = words.address(question, as_of, method=then.get("method"))
    return context
