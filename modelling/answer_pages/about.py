"""Pages about KDB itself, and the summary of all choices for a workload."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from kdb import __version__
from kdb.operations import status
from kdb.web.addresses import site_of
from modelling.answer_store.selectors import answer_in, snapshot_or_none
from modelling.answer_store.versions import current_answers
from modelling.answers import words
from modelling.ask.selectors import FACTS_OF_MACHINE, facts_in_words
from modelling.evidence import names
from modelling.evidence.axes import AXES, NATIVE
from modelling.evidence.forms import QuestionForm
from modelling.evidence.question import choices_for
from modelling.own_lab.selectors import measure_command

from .api import FIGURES
from .forms import VisitorForm
from .layout.standing import summarize_choices
from .views import describe_reading, known_address


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """Show how an answer comes about, and where to check it."""
    return render(request, "modelling/about.html")


@require_safe
def measure(request: HttpRequest) -> HttpResponse:
    """Show how to measure on one's own machine, for a question in the address or in general, and how to share it."""
    axis, site = request.GET.get("axis", ""), site_of(request)
    form = QuestionForm(request.GET, axis=axis) if axis in AXES else None
    answered = snapshot_or_none(form.question()) if form and form.is_valid() else None
    command = measure_command(answer_in(answered), server=site) if answered else None
    return render(request, "modelling/measure.html", {"command": command, "site": site})


@require_safe
def api_page(request: HttpRequest) -> HttpResponse:
    """Show what programs may ask, and where the schema is."""
    return render(request, "modelling/api.html", {"site": request.build_absolute_uri("/").removesuffix("/")})


@require_safe
def status_page(request: HttpRequest) -> HttpResponse:
    """Show whether the parts of KDB answer, and what is published: /api/v1/status/ for people."""
    sight, health = status.health(FIGURES)
    published = sight.value["published"] if sight.value else None
    context = {"parts": health.items(), "published": published, "version": __version__}
    response = render(request, "modelling/status.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_safe
def known(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what to choose for a workload, choice by choice, under a hypervisor where one is named.

    Answers that a worker has to compute first are listed as such.
    """
    workloads, hypervisors = names.names()["workload"], names.names()["hypervisor_or_native"]
    form = VisitorForm({**{name: request.GET.get(name, "") for name in (*FACTS_OF_MACHINE, "text")}, "workload": slug})
    if slug not in workloads or not form.is_valid():
        raise Http404(f"no workload {slug} on such a machine")
    facts, hypervisor = form.given, form.cleaned_data["hypervisor"] or None
    address = known_address(slug, facts)
    if request.get_full_path() != address:
        return redirect(address)
    beside = {name: facts[name] for name in FACTS_OF_MACHINE[1:] if name in facts}
    snapshots = current_answers(choices_for(slug, hypervisor))
    answers = {question: answer_in(snapshot) for question, snapshot in snapshots.items() if snapshot}
    choices = summarize_choices(answers, beside)
    chosen = {choice.axis for choice in choices}
    under = f" on {hypervisors[hypervisor]}" if hypervisor else ""
    under = " without a hypervisor" if hypervisor == NATIVE else under
    context = {
        "understood": describe_reading(form),
        "beside": facts_in_words(beside),
        "title": f"{workloads[slug]}{under}: what to choose",
        "workload": slug,
        "choices": choices,
        "unknown": [words.THING[question.axis] for question, answer in answers.items() if question.axis not in chosen],
        "waiting": [words.THING[question.axis] for question, snapshot in snapshots.items() if not snapshot],
        "others": [(other, label) for other, label in hypervisors.items() if other != hypervisor],
        "hypervisor": hypervisor,
    }
    return render(request, "modelling/known.html", context)
