"""A mix of workloads as a page."""

from dataclasses import replace
from typing import Any

import cattrs
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kdb.web.private import private_with
from modelling.evidence import names
from modelling.evidence.asking import page_method, page_revision
from modelling.evidence.question import Question
from modelling.here.selectors import HERE, laboratories_on, laboratory_in, mix_here
from modelling.kept_answers.views import at_permanent_addresses

from .content import MixAnswer
from .forms import MixForm
from .presentation import present_mix
from .selectors import mix_given
from .words import mix_address, mix_api_address


@require_safe
@private_with(HERE)
@at_permanent_addresses
def mix_page(request: HttpRequest) -> HttpResponse:
    """Show which entry suits a mix of workloads, and how far the shares may move before another does; to members what
    suits it on their machine."""
    laboratory = laboratory_in(request)
    if not request.GET.keys() - {HERE}:
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
        "here": mix_here(question, weights, laboratory) if laboratory and as_of is None else None,
        "on_machines": [] if HERE in request.GET else _on_machines(question, weights, request.user),
        "as_of": as_of,
        "current_address": mix_address(question, weights),
        "found": given,
        "permanent_address": mix_address(question, weights, **given.named) if given.named else "",
        "api_address": mix_api_address(question, weights, **(given.named if as_of else {})),
    }
    return render(request, "modelling/mix.html", shown)


def _on_machines(question: Question, weights: dict[str, float], user: Any) -> list[tuple[str, str]]:
    """Return the user's laboratories that measured something of the mix, each with the address of the mix there."""
    if not user.is_authenticated:
        return []
    laboratories = {
        laboratory: mix_address(question, weights, **{HERE: laboratory.slug})
        for workload, weight in weights.items()
        for laboratory in (laboratories_on(replace(question, workload=workload), user) if weight else ())
    }
    return [(laboratory.name, address) for laboratory, address in laboratories.items()]
