"""Entries side by side, and the fair-play audit of a case study, as pages."""

import cattrs
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from experiments import visible
from kdb.web.htmx import varies_for_htmx, wants_fragment
from kdb.web.private import private_with
from modelling.evidence import names
from modelling.evidence.asking import page_method, page_revision
from modelling.evidence.axes import AXES
from modelling.explanations.selectors import explained
from modelling.guides.selectors import guides_for
from modelling.here.selectors import HERE, laboratory_in
from modelling.kept_answers.views import at_permanent_addresses

from . import words
from .content import Comparison
from .fair_play_audit import audit
from .forms import ENTRY_FIELDS, CompareForm
from .presentation import present_comparison, present_workloads
from .selectors import compared_here, comparison_given, instead_of, over_workloads


@require_safe
@varies_for_htmx
def fair_play(request: HttpRequest, slug: str) -> HttpResponse:
    """Show which numbers of the case study may be compared with which."""
    case_study = get_object_or_404(visible.case_studies(), slug=slug)
    template = "_audit" if wants_fragment(request) else "audit"
    return render(request, f"modelling/{template}.html", {"case_study": case_study, "audit": audit(case_study)})


@require_safe
@varies_for_htmx
@private_with(HERE)
@at_permanent_addresses
def compare(request: HttpRequest) -> HttpResponse:
    """Show two to six entries of one axis side by side, and why the first stands where it does against the second; to
    members how they stand on their machine.

    htmx gets the lists of entries alone, which it asks for with nothing but an axis.
    """
    laboratory = laboratory_in(request)
    if request.GET.keys() <= {"axis"} and (axis := request.GET.get("axis") or "fs-pair") in AXES:
        template = "_entries" if wants_fragment(request) else "compare"
        return render(request, f"modelling/{template}.html", {"form": CompareForm(axis=axis), "explanation": None})
    form, as_of, method = CompareForm(request.GET), page_revision(request), page_method(request)
    if not form.is_valid():
        return render(request, "modelling/compare.html", {"form": form, "explanation": None}, status=400)
    question, keys = form.question(), form.cleaned_data["entries"]
    first, second = keys[:2] or (None, None)
    explanation = given = None
    if keys:  # what was given is looked up first: nothing that is worked out beside it withholds it
        given = comparison_given(question, keys, as_of, method, request.user)
    if given is None or given.is_of_today:
        explanation = explained(question, first, second, as_of=as_of)
        keys = keys or [side.key for side in (explanation.a, explanation.b) if side]
    if keys and given is None:
        given = comparison_given(question, keys, as_of, method, request.user)
    entries = dict(zip(ENTRY_FIELDS, keys, strict=False))
    comparison = cattrs.structure(given.result, Comparison) if given else None
    is_of_today = given is None or given.is_of_today
    workload = names.names()["workload"].get(question.workload, question.workload)
    context = {
        "form": CompareForm.showing_entries(question, keys),
        "explanation": explanation if is_of_today else None,
        "page": present_comparison(comparison, workload, as_of) if comparison else None,
        "instead": instead_of(comparison, as_of) if comparison and is_of_today else None,
        "workloads": present_workloads(comparison, over_workloads(comparison, as_of), settings.KDB_MARGIN)
        if comparison and is_of_today
        else None,
        "here": compared_here(question, keys, laboratory) if laboratory and as_of is None else None,
        "guides": guides_for(request.GET.get("text", "")),
        "as_of": as_of,
        "found": given,
        "permanent_address": words.compare_address(question, **entries, **given.named) if given and given.named else "",
        "current_address": words.compare_address(question, **entries),
        "api_address": words.comparison_api_address(question, keys, **(given.named if given and as_of else {})),
    }
    return render(request, "modelling/compare.html", context)
