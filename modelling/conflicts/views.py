"""The page of conflicts."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from modelling.evidence import counts

from . import reports
from .rule import LIMIT


@require_safe
def conflicts_page(request: HttpRequest) -> HttpResponse:
    """Show where research groups disagree, with the settings in which they differ."""
    report = reports.KEPT.current()
    context = {
        "report": report,
        "limit": LIMIT,
        "is_behind": report is not None and report.revision < counts.revision(),
    }
    return render(request, "modelling/conflicts.html", context)
