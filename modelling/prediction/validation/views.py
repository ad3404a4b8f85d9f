"""The page on model quality."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from modelling.evidence import counts, names
from modelling.fleet.moving import selectors as moved

from . import reports, tables


@require_safe
def model_quality(request: HttpRequest) -> HttpResponse:
    """Show how well the model predicts held-out research groups."""
    report = reports.KEPT.current()
    if report is None:
        response = render(request, "modelling/model_quality.html", {"report": None, "moved": []}, status=503)
        response["Retry-After"] = 30
        return response
    context = {
        "report": report,
        "plots": tables.plots(report.result, names.names()),
        "tables": tables.tables(report.result, names.names()),
        "in_use": tables.describe_forecasts(report.result) + tables.describe_success(report.result, names.names()),
        "moved": moved.score_sentences(),
        "is_behind": report.revision < counts.revision(),
    }
    return render(request, "modelling/model_quality.html", context)
