"""The pages of kits."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experiments.campaigns.kits.definitions import kits
from modelling.guidance.guide_texts import guides

from . import selectors


@require_safe
def kit_list(request: HttpRequest) -> HttpResponse:
    """Show every kit with who ran it."""
    return render(request, "modelling/kits.html", {"kits": selectors.summaries()})


@require_safe
def kit_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a kit: its plan, how to run it, who did, and what they measured."""
    if (kit := kits().get(slug)) is None:
        raise Http404(f"no kit {slug}")
    context = {"kit": selectors.report(kit), "guides": [guides()[name] for name in kit.guides]}
    return render(request, "modelling/kit.html", context)
