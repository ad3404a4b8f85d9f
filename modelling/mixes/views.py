"""A mix of workloads as a page."""

from functools import partial

import cattrs
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from modelling.evidence import names
from modelling.evidence.asking import explains_missing_answers, page_method, page_revision

from .content import MixAnswer
from .forms import MixForm
from .presentation import present_mix
from .selectors import mix_given
from .words import mix_address, mix_api_address


@require_safe
@explains_missing_answers
def mix_page(request: HttpRequest) -> HttpResponse:
    """Show which entry suits a mix of workloads, and how far the shares may move before another does."""
    if not request.GET:
        return render(request, "modelling/mix.html", {"form": MixForm(), "page": None})
    form = MixForm(request.GET)
    as_of = page_revision(request)
    if not form.is_valid():
        return render(request, "modelling/mix.html", {"form": form, "page": None}, status=400)
    question, weights = form.question(), form.cleaned_data["weights"]
    given = mix_given(question, weights, as_of, page_method(request), request.user)
    shown = {
        "form": form,
        "page": present_mix(cattrs.structure(given.result, MixAnswer), question, names.names(), as_of),
        "as_of": as_of,
        "current_address": mix_address(question, weights),
        "found": given,
        "addresses": given.addresses(partial(mix_address, question, weights)),
        "api_address": mix_api_address(question, weights, **(given.named if as_of else {})),
    }
    return render(request, "modelling/mix.html", shown)
