"""A mix of workloads as a page."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from modelling.evidence import counts, names

from .forms import FILTERS, MixForm
from .presentation import present_mix
from .selectors import mixed


@require_safe
def mix_page(request: HttpRequest) -> HttpResponse:
    """Which entry suits a mix of workloads, and how far the shares may move before another does."""
    if not request.GET:
        return render(request, "modelling/mix.html", {"form": MixForm(), "page": None})
    form = MixForm(request.GET)
    if not form.is_valid():
        return render(request, "modelling/mix.html", {"form": form, "page": None}, status=400)
    question, weights = form.question(), form.cleaned_data["weights"]
    found = mixed(question, weights)
    page = present_mix(question.axis, found, weights, names.names())
    asked = {name: value for name in ("axis", *FILTERS) if (value := form.cleaned_data[name])}
    asked["weights"] = ",".join(f"{slug}:{weight:g}" for slug, weight in weights.items() if weight)
    shown = {"form": form, "page": page, "revision": counts.revision(), "api": f"/api/v1/mixes/?{urlencode(asked)}"}
    return render(request, "modelling/mix.html", shown)
