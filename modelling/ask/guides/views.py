"""The pages of guides."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from modelling.guidance.guide_texts import guides
from modelling.own_lab.kits.selectors import summaries

from . import selectors


@require_safe
def guide_list(request: HttpRequest) -> HttpResponse:
    """Show every guide with its recommendation."""
    return render(request, "modelling/guides.html", {"guides": guides().values()})


@require_safe
def guide_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a guide, what is recommended for each workload, the kits on it and who ran them, and what makers say."""
    if (guide := guides().get(slug)) is None:
        raise Http404(f"no guide {slug}")
    rows = selectors.workload_rows(guide.axis) if guide.axis else []
    context = {
        "guide": guide,
        "rows": [row for row in rows if row.recommended],
        "open_rows": [row for row in rows if not row.recommended],
        "measured": selectors.most_measured_workload(guide.axis, rows),
        "kits": summaries(guide.slug),
        "advised": selectors.makers_advice(guide),
    }
    return render(request, "modelling/guide.html", context)
