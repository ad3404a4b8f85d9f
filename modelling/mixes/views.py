"""A mix of workloads as a page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from modelling.evidence import names
from modelling.evidence.asking import page_revision

from .forms import MixForm
from .presentation import present_mix
from .selectors import mixed
from .words import mix_address, mix_api_address


@require_safe
def mix_page(request: HttpRequest) -> HttpResponse:
    """Which entry suits a mix of workloads, and how far the shares may move before another does."""
    if not request.GET:
        return render(request, "modelling/mix.html", {"form": MixForm(), "page": None})
    form = MixForm(request.GET)
    as_of = page_revision(request)
    if not form.is_valid():
        return render(request, "modelling/mix.html", {"form": form, "page": None}, status=400)
    question, weights = form.question(), form.cleaned_data["weights"]
    found = mixed(question, weights, as_of)
    shown = {
        "form": form,
        "page": present_mix(found, question, names.names(), as_of),
        "as_of": as_of,
        "current_address": mix_address(question, weights),
        "permanent_address": mix_address(question, weights, as_of=found.revision),
        "api_address": mix_api_address(question, weights, **({"as_of": as_of} if as_of else {})),
    }
    return render(request, "modelling/mix.html", shown)
