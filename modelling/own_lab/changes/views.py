"""The pages of series, of what changed in them, and of one change: for members of their laboratory alone."""

from datetime import timedelta

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from modelling.own_lab.selectors import laboratories_of

from . import bisection, causes, detection, gather, presentation, reruns, selectors, words
from .forms import HandlingForm, MonthForm


@require_safe
@never_cache
@login_required
def series_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what is measured again and again in a laboratory."""
    laboratory = get_object_or_404(laboratories_of(request.user), slug=slug)
    counts = selectors.change_counts(laboratory)
    lines = [(line, counts.get(line.key, 0)) for line in gather.series_lines(laboratory)]
    return render(request, "modelling/series_list.html", {"laboratory": laboratory, "lines": lines})


@require_safe
@never_cache
@login_required
def series_detail(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Show one series over time, with its changes marked."""
    laboratory = get_object_or_404(laboratories_of(request.user), slug=slug)
    history = selectors.history_of(laboratory, key)
    if history is None:
        raise Http404(f"no series {key} in {slug}")
    context = {
        "laboratory": laboratory,
        "history": history,
        "rows": presentation.rows(history),
        "chart": presentation.chart(history),
        "changes": laboratory.changes.filter(series=key).select_related("handled_by"),
    }
    return render(request, "modelling/series.html", context)


@require_safe
@never_cache
@login_required
def change_list(request: HttpRequest) -> HttpResponse:
    """Show what changed in a month in the user's laboratories."""
    form = MonthForm(request.GET)
    is_valid = form.is_valid()
    month = form.cleaned_data["month"] if is_valid else ""
    first = selectors.month_of(month)
    context = {
        "form": form,
        "month": first,
        "before": f"{first - timedelta(days=1):%Y-%m}",
        "changes": [(change, words.title(change.about)) for change in selectors.changes_found_in(request.user, month)],
    }
    return render(request, "modelling/series_changes.html", context, status=200 if is_valid else 422)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def change_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a change, to members with its machine, to others if it is public; or note what a member says of it."""
    mine = selectors.changes_of(request.user).filter(pk=pk).first()
    change = mine or selectors.public_changes().filter(pk=pk).first()
    if (mine is None and request.method == "POST") or change is None:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        raise Http404(f"no change {pk}")
    form = HandlingForm(request.POST or None)
    if form.is_bound and form.is_valid():
        detection.handle(change, request.user, **form.cleaned_data)
        return redirect("series-change", pk)
    about = change.about if mine else words.without_machine(change.about, change.laboratory.name)
    context = {
        "change": change,
        "form": form if mine else None,
        "causes": causes.causes_of(change, is_member=True) if mine else causes.public_causes_of(change),
        "title": words.title(about),
        "bisections": bisection.bisections(change, permissions.hosts_visible_to(request.user)) if mine else [],
        "command": words.rerun_command(about, change.laboratory.slug),
        "rerun": reruns.compare_reruns(change) if mine and not change.confirmed_by_id else None,
        "sentence": selectors.sentence_of(change, about),
    }
    return render(request, "modelling/series_change.html", context, status=422 if form.is_bound else 200)
