"""Entries side by side, and the fair-play audit of a case study, as pages."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from experiments import visible
from kdb.htmx import varies_for_htmx, wants_fragment
from modelling.evidence import counts, names
from modelling.evidence.asking import page_revision
from modelling.evidence.axes import AXES
from modelling.explanations.selectors import explained

from . import words
from .fair_play_audit import audit
from .forms import ENTRY_FIELDS, CompareForm
from .presentation import present_comparison
from .selectors import compared, instead_of


@require_safe
@varies_for_htmx
def fair_play(request: HttpRequest, slug: str) -> HttpResponse:
    """Which numbers of the case study may be compared with which."""
    case_study = get_object_or_404(visible.case_studies(), slug=slug)
    template = "_audit" if wants_fragment(request) else "audit"
    return render(request, f"modelling/{template}.html", {"case_study": case_study, "audit": audit(case_study)})


@require_safe
@varies_for_htmx
def compare(request: HttpRequest) -> HttpResponse:
    """Two to six entries of one axis side by side, and why the first stands where it does against the second.

    htmx gets the explanation alone; with nothing but an axis in the address, the lists of its entries.
    """
    if request.GET.keys() <= {"axis"} and (axis := request.GET.get("axis") or "fs-pair") in AXES:
        template = "_entries" if wants_fragment(request) else "compare"
        return render(request, f"modelling/{template}.html", {"form": CompareForm(axis=axis), "explanation": None})
    form, as_of = CompareForm(request.GET), page_revision(request)
    if not form.is_valid():
        status = 422 if wants_fragment(request) else 400
        return render(request, "modelling/compare.html", {"form": form, "explanation": None}, status=status)
    question, keys = form.question(), form.cleaned_data["entries"]
    explanation = explained(question, *keys[:2], as_of=as_of)
    if wants_fragment(request):
        return render(request, "modelling/_explanation.html", {"explanation": explanation})
    keys = keys or [side.key for side in (explanation.a, explanation.b) if side]
    entries = dict(zip(ENTRY_FIELDS, keys, strict=False))
    comparison = compared(question, keys, as_of) if keys else None
    workload = names.names()["workload"].get(question.workload, question.workload)
    context = {
        "form": CompareForm.showing(question, keys),
        "explanation": explanation,
        "page": present_comparison(comparison, workload, as_of) if comparison else None,
        "instead": instead_of(comparison, as_of) if comparison else None,
        "as_of": as_of,
        "revision": as_of or counts.revision(),
        "current_address": words.compare_address(question, **entries),
        "permanent_address": words.compare_address(question, **entries, as_of=as_of or counts.revision()),
        "api_address": words.comparison_api_address(question, keys, **({"as_of": as_of} if as_of else {})),
    }
    return render(request, "modelling/compare.html", context)
