"""The pages of series, of what changed in them, and of one change: for members of their laboratory alone."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_cache_control
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from kdb.web.addresses import site_of
from kdb.web.badges import render_badge
from modelling.models import Laboratory, SharedSeries
from modelling.own_lab.selectors import laboratories_of

from . import bisection, causes, detection, gather, presentation, reruns, selectors, shared, words
from .content import History, Series
from .forms import HandlingForm, MonthForm

CACHED_SECONDS = 600  # of a badge, and of the page of a shared series


@require_safe
@never_cache
@login_required
def series_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what is measured again and again in a laboratory."""
    laboratory = get_object_or_404(laboratories_of(request.user), slug=slug)
    counts = selectors.change_counts(laboratory)
    lines = [(line, counts.get(line.key, 0)) for line in gather.series_lines(laboratory)]
    return render(request, "modelling/series_list.html", {"laboratory": laboratory, "lines": lines})


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def series_detail(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Show one series over time, with its changes marked; let others see it, or no longer."""
    laboratory = get_object_or_404(laboratories_of(request.user), slug=slug)
    history = selectors.history_of(laboratory, key)
    if history is None:
        raise Http404(f"no series {key} in {slug}")
    if request.method == "POST":
        if request.POST.get("do") == "stop":
            shared.stop_sharing(laboratory, key, user=request.user)
        elif not history.series.job:  # whose load names a machine that was observed
            shared.share_series(laboratory, history.series, history.name, user=request.user)
        return redirect(request.path)
    context = {
        "is_member": True,
        "title": words.title({"name": history.name, **vars(history.series)}),
        "changes": laboratory.changes.filter(series=key).select_related("handled_by"),
        "shared": laboratory.shared_series.filter(series=key).first(),
        "command": words.night_command(history.series, slug, history.series.machine),
    }
    return _render_series(request, laboratory, history, context)


@require_safe
def shared_series(request: HttpRequest, address: str, sitting: int | None = None) -> HttpResponse:
    """Show a series to whoever knows its address, without the name of its machine. sitting : the last one shown"""
    opened = get_object_or_404(SharedSeries, address=address)
    ended = opened.laboratory.sittings.filter(ended_at__isnull=False)
    until = get_object_or_404(ended, pk=sitting) if sitting else None
    history = selectors.history(opened.laboratory, Series.of(opened.about), opened.about["name"], until)
    if not history.points:
        raise Http404("no sitting of it is kept")
    context = {
        "shared": opened,
        "title": f"{history.name} under {history.series.load}",
        "command": words.night_command(history.series, "LABORATORY", "MACHINE"),
    }
    response = _render_series(request, opened.laboratory, history, context)
    who = "private" if request.user.is_authenticated else "public"  # the header has the user's name
    response["X-Robots-Tag"] = "noindex"
    patch_cache_control(response, max_age=CACHED_SECONDS, **{who: True})
    return response


def _render_series(
    request: HttpRequest, laboratory: Laboratory, history: History, context: dict[str, Any]
) -> HttpResponse:
    context |= {"laboratory": laboratory, "history": history, "site": site_of(request)}
    context |= {"rows": presentation.rows(history), "chart": presentation.chart(history)}
    return render(request, "modelling/series.html", context)


@require_safe
@cache_control(public=True, max_age=CACHED_SECONDS)
def badge(request: HttpRequest, address: str) -> HttpResponse:
    """Draw how fast a shared series is, for pages elsewhere."""
    opened = get_object_or_404(SharedSeries, address=address)
    (current,) = selectors.speeds_now(opened.laboratory, [(Series.of(opened.about), opened.about["name"])])
    return render_badge(request, *presentation.badge(current))


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
