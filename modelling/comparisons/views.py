"""The fair-play audit of a case study as a page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from experiments import visible
from kdb.web.htmx import varies_for_htmx, wants_fragment

from .fair_play_audit import audit


@require_safe
@varies_for_htmx
def fair_play(request: HttpRequest, slug: str) -> HttpResponse:
    """Show which numbers of the case study may be compared with which."""
    case_study = get_object_or_404(visible.case_studies(), slug=slug)
    template = "_audit" if wants_fragment(request) else "audit"
    return render(request, f"modelling/{template}.html", {"case_study": case_study, "audit": audit(case_study)})
