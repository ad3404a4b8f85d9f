"""Hosts and campaigns in the browser, for operators."""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from experiments.models import Campaign, CampaignRun, CaseStudy, Host, RunArtifact
from kdb.accounts.users import user_of
from kdb.web.addresses import site_of
from kdb.web.htmx import varies_for_htmx, wants_fragment

from . import checks, control, deletion, drafts, hosts, pages, plans, replication, statements
from .actions import CAMPAIGN_ACTIONS, HOST_ACTIONS, Action
from .control import CampaignError
from .downloads import artifact_response
from .forms import CampaignForm, HostForm, NightlyForm, ReplicationForm, TopUpForm, filled_in
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


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def host_list(request: HttpRequest) -> HttpResponse:
    """Show the user's hosts; administrators freeze all hosts here, and thaw them."""
    problem = ""
    if request.method == "POST":
        if not permissions.may_use_any_key(request.user):
            raise PermissionDenied
        try:
            if request.POST.get("do") == "thaw":
                hosts.thaw_all(user=user_of(request))
            else:
                hosts.freeze_all(request.POST.get("reason", "")[:300], user=user_of(request))
            return redirect("host-list")
        except HostError as error:
            problem = str(error)
    shown = {**pages.host_rows(request.user), "problem": problem}
    return render(request, "experiments/host_list.html", shown, status=409 if problem else 200)


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
            hosts.edit(
                form.save(commit=False), names, form.cleaned_data["pools"], user=user_of(request), any_key=any_key
            )
            return redirect("host-detail", slug)
        except HostError as error:
            form.add_error("pools", str(error))
    return render(
        request, "experiments/host_form.html", {"form": form, "host": host}, status=422 if form.errors else 200
    )


def _perform(request: HttpRequest, row: Host | Campaign, actions: Mapping[str, Action]) -> BaseForm | None:
    """Do what the pressed button names; return its form where that has errors.

    Raises Http404, PermissionDenied, HostError, CampaignError.
    """
    name, fields = request.POST.get("do", ""), request.POST.dict()
    if name not in actions:
        raise Http404(f"nothing is called {name}")
    user, action = user_of(request), actions[name]
    action.check_permission(row, user)
    if action.form:
        form: BaseForm = action.form(request.POST)
        if not form.is_valid():
            return form
        fields = form.cleaned_data
    elif name == "statement" and (file := request.FILES.get("file")):
        fields["text"] = statements.decode(file.read(statements.MOST_BYTES + 1))
    action.run(row, fields, user)
    return None


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
@varies_for_htmx
def host_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a host: its key, its facts, its campaigns. The page asks again while a worker talks to it."""
    related = ("job", "runs_on", "hypervisor", "registered_by")
    host = get_object_or_404(permissions.hosts_visible_to(request.user).select_related(*related), slug=slug)
    may_change, problem, key = permissions.may_change_host(request.user, host), "", ""
    if request.method == "POST":
        try:
            if request.POST.get("do") == "runner-token":
                if not may_change:
                    raise PermissionDenied
                key = hosts.make_runner_token(host, user=user_of(request))  # shown in this answer and nowhere else
            elif refused := _perform(request, host, HOST_ACTIONS):
                problem = " ".join(str(error) for errors in refused.errors.values() for error in errors)
            else:
                return redirect("host-detail", slug)
        except HostError as error:
            problem = str(error)
    may_take = permissions.may_take_host(request.user, host)
    shown = {"page": pages.host_page(host), "host": host, "may_change": may_change, "problem": problem}
    shown |= {"may_take": may_take, "key": key, "site": site_of(request)}
    template = "experiments/_host.html" if wants_fragment(request) else "experiments/host_detail.html"
    return render(request, template, shown, status=409 if problem else 200)


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
        deletion.host_deletion,
        deletion.remove_host,
        [reverse("host-list"), reverse("host-detail", args=[slug])],
    )


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def host_forget(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what becomes of what was observed on a host, and the button that forgets it."""
    host = _host_to_change(request, slug)
    where = reverse("host-detail", args=[slug])
    return _removal(request, host, deletion.observation_deletion, deletion.forget_observed, [where, where])


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def campaign_remove(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what becomes of a campaign, its runs and raw outputs, and the button that deletes or archives it."""
    campaigns = permissions.campaigns_visible_to(request.user).select_related("host", "case_study")
    campaign = get_object_or_404(campaigns, slug=slug)
    if not permissions.may_steer(request.user, campaign):
        raise PermissionDenied
    back = [reverse("campaign-list"), reverse("campaign-detail", args=[slug])]
    return _removal(request, campaign, deletion.campaign_deletion, deletion.remove_campaign, back)


def _removal(
    request: HttpRequest,
    row: Any,
    removal_of: Callable[[Any], deletion.Deletion],
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
    except (HostError, CampaignError, deletion.DeletionChanged) as error:
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
def case_study_again(request: HttpRequest, slug: str) -> HttpResponse:
    """Say what a host of the user's can measure again of a published case study, then plan that."""
    case_study = get_object_or_404(CaseStudy.objects.published(), slug=slug)
    form = ReplicationForm(request.POST or request.GET or None, user=request.user)
    outline, problem = None, ""
    if form.is_valid():
        host, is_short = form.cleaned_data["host"], form.cleaned_data["short"]
        campaigns, outline = replication.prepare(host, case_study, short=is_short)
        try:
            if request.method == "POST":
                replication.create(campaigns, outline, case_study.slug, user=user_of(request))
                return redirect("campaign-detail", campaigns[-1].slug)
        except CampaignError as error:
            problem = str(error)
    context = {"case_study": case_study, "form": form, "outline": outline, "problem": problem}
    status = 409 if problem else 422 if form.errors else 200
    return render(request, "experiments/case_study_again.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
@varies_for_htmx
def campaign_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the matrix with the state of every run, what is being done, and what may be done about it."""
    related = ("host", "pool", "owner", "case_study", "replicates")
    campaigns = permissions.campaigns_visible_to(request.user).select_related(*related)
    campaign = get_object_or_404(campaigns, slug=slug)
    may_steer, problem, top_up = permissions.may_steer(request.user, campaign), "", TopUpForm()
    if request.method == "POST":
        try:
            if request.POST.get("do") in ("draft", "retry", "retry-cell"):
                if not may_steer:
                    raise PermissionDenied
                return _draft_or_retry(request, campaign)
            refused = _perform(request, campaign, CAMPAIGN_ACTIONS)
            if refused is None:
                return redirect("campaign-detail", campaign.slug)
            if isinstance(refused, TopUpForm):
                top_up = refused
            else:
                problem = "A night takes 1 to 720 minutes."
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


def _draft_or_retry(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """File the campaign, or repeat one run or its cell. Raises CampaignError."""
    if request.POST["do"] == "draft":
        _, batch = drafts.create_draft(campaign, user=user_of(request))
        return redirect("import-detail", batch.pk)
    position = request.POST.get("run", "")
    run = campaign.runs.filter(position=position).first() if re.fullmatch(r"[0-9]{1,9}", position) else None
    if run is None:
        raise CampaignError(f"There is no run {position[:20]!r} in this campaign.")
    (control.retry if request.POST["do"] == "retry" else control.retry_cell)(campaign, run)
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
