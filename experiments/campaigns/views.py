"""Hosts and campaigns in the browser, for operators."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from experiments.models import Campaign, CampaignRun, Host, RunArtifact
from kdb.accounts.users import user_of
from kdb.web.addresses import site_of
from kdb.web.htmx import varies_for_htmx, wants_fragment

from . import checks, cleanup, control, deletion, drafts, groups, hosts, nightly, pages, plans, statements
from .control import CampaignError
from .downloads import artifact_response
from .forms import CampaignForm, HostForm, NightlyForm, OperatorsForm, TopUpForm, filled_in
from .hosts import HostError


def operators_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @login_required
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not permissions.may_operate(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


# Hosts


@require_safe
@operators_only
def host_list(request: HttpRequest) -> HttpResponse:
    return render(request, "experiments/host_list.html", pages.host_rows(request.user))


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def host_new(request: HttpRequest) -> HttpResponse:
    form = HostForm(request.POST if request.method == "POST" else None, user=request.user)
    if form.is_valid():
        any_key = permissions.may_use_any_key(request.user)
        try:
            host, pools = form.save(commit=False), form.cleaned_data["pools"]
            hosts.register(host, pools, user=user_of(request), any_key=any_key)
            return redirect("host-detail", host.slug)
        except HostError as error:
            form.add_error("key_name", str(error))
    return render(request, "experiments/host_form.html", {"form": form}, status=422 if form.errors else 200)


def _host_to_change(request: HttpRequest, slug: str) -> Host:
    """Return the host. Raises Http404 where it is of another group, and PermissionDenied for who is not its owner."""
    host = get_object_or_404(permissions.hosts_visible_to(request.user).select_related("runs_on"), slug=slug)
    if not permissions.may_change_host(request.user, host):
        raise PermissionDenied
    return host


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def host_edit(request: HttpRequest, slug: str) -> HttpResponse:
    host = _host_to_change(request, slug)
    form = HostForm(request.POST if request.method == "POST" else None, instance=host, user=request.user)
    if form.is_valid():
        try:
            names = [name for name in form.fields if name != "pools"]
            any_key = permissions.may_use_any_key(request.user)
            hosts.edit(form.save(commit=False), names, form.cleaned_data["pools"], any_key=any_key)
            return redirect("host-detail", slug)
        except HostError as error:
            form.add_error("pools", str(error))
    return render(
        request, "experiments/host_form.html", {"form": form, "host": host}, status=422 if form.errors else 200
    )


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
@varies_for_htmx
def host_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a host: its key, its facts, its campaigns. The page asks again while a worker talks to it."""
    related = ("job", "runs_on", "hypervisor", "registered_by")
    host = get_object_or_404(permissions.hosts_visible_to(request.user).select_related(*related), slug=slug)
    may_change, problem, key = permissions.may_change_host(request.user, host), "", ""
    if request.method == "POST":
        if not may_change and request.POST.get("do") not in ("check", "clear"):
            raise PermissionDenied
        try:
            if request.POST.get("do") != "runner-token":
                _do_to_host(request, host)
                return redirect("host-detail", slug)
            key = hosts.make_runner_token(host, user=user_of(request))  # shown in this answer and nowhere else
        except HostError as error:
            problem = str(error)
    may_take = permissions.may_take_host(request.user, host)
    shown = {"page": pages.host_page(host), "host": host, "may_change": may_change, "problem": problem}
    shown |= {"may_take": may_take, "key": key, "site": site_of(request)}
    template = "experiments/_host.html" if wants_fragment(request) else "experiments/host_detail.html"
    return render(request, template, shown, status=409 if problem else 200)


def _do_to_host(request: HttpRequest, host: Host) -> None:
    posted = request.POST
    match posted.get("do"):
        case "contact":
            hosts.ask_contact(host)
        case "accept":
            any_key = permissions.may_use_any_key(request.user)
            hosts.accept_key(host, posted.get("fingerprint", ""), any_key=any_key)
        case "take":
            if not permissions.may_take_host(request.user, host):
                raise PermissionDenied
            hosts.take(host, user=user_of(request))
        case "bring-back":
            deletion.bring_host_back(host, user=user_of(request))
        case "check":
            hosts.ask_check(host, with_limits="limits" in posted)
        case "clear":
            cleanup.ask_clear(host)
        case "operators":
            form = OperatorsForm(posted)
            if not form.is_valid():
                raise HostError(" ".join(map(str, form.errors["operators"])))
            groups.choose_operators(host, form.cleaned_data["operators"], user=user_of(request))
        case "stop":
            groups.stop_everything(host, user=user_of(request))
        case "statement":
            file = request.FILES.get("file")
            text = statements.decoded(file.read(statements.MOST_BYTES + 1)) if file else posted.get("statement", "")
            statements.take(host, text)
        case other:
            raise Http404(f"nothing is called {other}")


@require_safe
@operators_only
def host_script(request: HttpRequest, name: str) -> HttpResponse:
    """Answer a script that an operator runs on a hypervisor that no worker reaches."""
    if name not in statements.SCRIPTS:
        raise Http404(f"there is no script {name}")
    answer = HttpResponse(statements.SCRIPTS[name].read_bytes(), content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def host_remove(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what becomes of a host and its evidence, and the button that deletes or archives it."""
    host = _host_to_change(request, slug)
    return _removal(
        request,
        host,
        deletion.of_host,
        deletion.remove_host,
        [reverse("host-list"), reverse("host-detail", args=[slug])],
    )


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def host_forget(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what becomes of what was observed on a host, and the button that forgets it."""
    host = _host_to_change(request, slug)
    where = reverse("host-detail", args=[slug])
    return _removal(request, host, deletion.of_observation, deletion.forget_observed, [where, where])


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def campaign_remove(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what becomes of a campaign, its runs and raw outputs, and the button that deletes or archives it."""
    campaigns = permissions.campaigns_visible_to(request.user).select_related("host", "case_study")
    campaign = get_object_or_404(campaigns, slug=slug)
    if not permissions.may_steer(request.user, campaign):
        raise PermissionDenied
    back = [reverse("campaign-list"), reverse("campaign-detail", args=[slug])]
    return _removal(request, campaign, deletion.of_campaign, deletion.remove_campaign, back)


def _removal(
    request: HttpRequest,
    row: Any,
    removal_of: Callable[[Any], deletion.Removal],
    remove: Callable[..., None],
    back: list[str],
) -> HttpResponse:
    """Show what becomes of it, or remove it where that is posted. back : where to go after it was deleted, and else"""
    outcome, problem = None, ""
    try:
        outcome = removal_of(row)
        if request.method == "POST":
            remove(row, request.POST.get("deed", ""), user=user_of(request))
            return redirect(back[outcome.deed != deletion.DELETE])
    except (HostError, CampaignError, deletion.Changed) as error:
        problem = str(error)
    shown = {"removal": outcome, "what": str(row), "problem": problem, "back": back[1]}
    status = 409 if problem and request.method == "POST" else 200
    return render(request, "experiments/removal.html", shown, status=status)


# Campaigns


@require_safe
@operators_only
def campaign_list(request: HttpRequest) -> HttpResponse:
    rows = pages.campaign_rows(request.user)
    shown = {
        "campaigns": [row for row in rows if row.archived_at is None],
        "archived": [row for row in rows if row.archived_at],
    }
    return render(request, "experiments/campaign_list.html", shown)


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def campaign_new(request: HttpRequest) -> HttpResponse:
    """Plan a campaign: look at what it takes first, then store it."""
    data = request.POST if request.method == "POST" else None
    form = CampaignForm(data, initial=filled_in(request.GET), user=request.user)
    estimate = None
    if form.is_valid():
        if request.POST.get("do") == "plan":
            try:
                return redirect("campaign-detail", control.create(form.instance, user=user_of(request)).slug)
            except control.PlanRefused as refused:  # somebody was quicker
                form.add_problems(refused.problems)
        estimate = checks.estimate(form.instance)
    context = {"form": form, "estimate": estimate}
    return render(request, "experiments/campaign_form.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
@varies_for_htmx
def campaign_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the matrix with the state of every run, what is being done, and what may be done about it."""
    campaigns = permissions.campaigns_visible_to(request.user).select_related("host", "pool", "owner", "case_study")
    campaign = get_object_or_404(campaigns, slug=slug)
    may_steer, problem = permissions.may_steer(request.user, campaign), ""
    top_up = TopUpForm(request.POST if request.POST.get("do") == "top-up" else None)
    if request.method == "POST":
        if not may_steer and request.POST.get("do") not in ("pause", "cancel"):
            raise PermissionDenied
        try:
            if (answer := _steer(request, campaign, top_up)) is not None:
                return answer
        except CampaignError as error:
            problem = str(error)
        campaign.refresh_from_db()
    shown = {
        "page": pages.campaign_page(campaign),
        "campaign": campaign,
        "may_steer": may_steer,
        "problem": problem,
        "top_up": top_up,
        "nightly": NightlyForm(initial={"minutes": campaign.nightly_minutes}),
    }
    template = "experiments/_campaign.html" if wants_fragment(request) else "experiments/campaign_detail.html"
    return render(request, template, shown, status=409 if problem else 422 if top_up.errors else 200)


def _steer(request: HttpRequest, campaign: Campaign, top_up: TopUpForm) -> HttpResponse | None:
    """Do what the pressed button says; None where its form has errors."""
    match request.POST.get("do"):
        case "start":
            control.start(campaign)
        case "pause":
            control.pause(campaign)
        case "cancel":
            control.cancel(campaign)
        case "retry" | "retry-cell" as which:
            position = request.POST.get("run", "")
            run = campaign.runs.filter(position=position).first() if re.fullmatch(r"[0-9]{1,9}", position) else None
            if run is None:
                raise CampaignError(f"There is no run {position[:20]!r} in this campaign.")
            (control.retry if which == "retry" else control.retry_cell)(campaign, run)
        case "top-up":
            if not top_up.is_valid():
                return None
            control.top_up(campaign, top_up.cleaned_data["repetitions"])
        case "nightly":
            form = NightlyForm(request.POST)
            if not form.is_valid():
                raise CampaignError("A night takes 1 to 720 minutes.")
            nightly.repeat(campaign, form.cleaned_data["minutes"])
        case "bring-back":
            deletion.bring_campaign_back(campaign, user=user_of(request))
        case "draft":
            _, batch = drafts.make(campaign, user=user_of(request))
            return redirect("import-detail", batch.pk)
        case other:
            raise Http404(f"nothing is called {other}")
    return redirect("campaign-detail", campaign.slug)


@require_safe
@operators_only
def campaign_plan(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer the plan as a file, for `manage.py run_campaign` and for other hosts."""
    campaign = get_object_or_404(permissions.campaigns_visible_to(request.user), slug=slug)
    response = HttpResponse(plans.text(campaign), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{campaign.slug}.json"'
    return response


@require_safe
@operators_only
def run_detail(request: HttpRequest, slug: str, position: int) -> HttpResponse:
    """Show one run: its log, its figures, what it left."""
    run = get_object_or_404(
        CampaignRun.objects.select_related("campaign__host", "host", "repeats", "repeated_by"),
        campaign__in=permissions.campaigns_visible_to(request.user),
        campaign__slug=slug,
        position=position,
    )
    shown = {"run": run, "page": pages.run_page(run), "may_steer": permissions.may_steer(request.user, run.campaign)}
    return render(request, "experiments/run_detail.html", shown)


@require_safe
@operators_only
def artifact(request: HttpRequest, pk: int) -> HttpResponse:
    own = RunArtifact.objects.filter(run__campaign__in=permissions.campaigns_visible_to(request.user))
    return artifact_response(get_object_or_404(own, pk=pk))
