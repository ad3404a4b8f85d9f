"""Pages of plans, moves and policies, for operators."""

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from experiments.campaigns.views import operators_only
from experiments.models import ObservedMachine, ObservedPool
from kdb.accounts.users import user_of
from kdb.web.htmx import varies_for_htmx, wants_fragment
from modelling.models import PlacementMove

from . import manual, moves, pages, plans, policies, trail
from .forms import EmptyForm, MixForm, MoveForm, PlanForm, PolicyForm
from .plans import PlacementError

ENTRIES_PER_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def placement(request: HttpRequest) -> HttpResponse:
    """Show all plans and moves, and the form of a new plan."""
    form = PlanForm(request.user, request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            plan = plans.make_plan(form.cleaned_data["hosts"], user=user_of(request), rules=form.rules())
            return redirect("placement-plan", plan.pk)
        except PlacementError as error:
            form.add_error(None, str(error))
    context = {"page": pages.home(request.user), "form": form}
    return render(request, "modelling/placement.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def plan_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a plan, and confirm moves of it."""
    plan = get_object_or_404(plans.visible_to(request.user).select_related("made_by"), pk=pk)
    page, problem = pages.plan_page(plan), ""
    if request.method == "POST":
        try:
            moves.confirm(plan, request.POST.getlist("machine"), user=user_of(request))
            return redirect("placement-plan", plan.pk)
        except PlacementError as error:
            problem = str(error)
    context = {"plan": plan, "page": page, "problem": problem}
    return render(request, "modelling/plan.html", context, status=409 if problem else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
@varies_for_htmx
def move_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one move with its progress, plan and outcome; cancel it, move back or remove the old image."""
    move = get_object_or_404(
        PlacementMove.objects.select_related(
            "host", "job", "plan", "from_pool", "to_pool", "asked_by", "approved_by", "back_of"
        ),
        pk=pk,
        host__in=permissions.hosts_visible_to(request.user),
    )
    problem = ""
    if request.method == "POST":
        try:
            return redirect("placement-move", _handle_move_button(request, move).pk)
        except PlacementError as error:
            problem = str(error)
    shown = {"move": move, "page": pages.move_page(move, request.user), "problem": problem}
    template = "modelling/_move.html" if wants_fragment(request) else "modelling/move.html"
    return render(request, template, shown, status=409 if problem else 200)


def _handle_move_button(request: HttpRequest, move: PlacementMove) -> PlacementMove:
    """Perform the action of the pressed button; return the move to show next."""
    match request.POST.get("do"):
        case "approve":
            moves.approve(move, user=user_of(request))
        case "call-off":
            moves.call_off(move, user=user_of(request))
        case "back":
            return moves.move_back(move, user=user_of(request))
        case "remove":
            moves.remove_old(move, user=user_of(request))
        case other:
            raise Http404(f"nothing is called {other}")
    return move


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def move_disk(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the form to move a disk of a machine, and request the move."""
    machine = get_object_or_404(
        ObservedMachine.objects.select_related("host"), pk=pk, host__in=permissions.hosts_visible_to(request.user)
    )
    form = MoveForm(machine, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            move = manual.move_disk(**form.cleaned_data, user=user_of(request))
            return redirect("placement-move", move.pk)
        except PlacementError as error:
            form.add_error(None, str(error))
    context = {"machine": machine, "host": machine.host, "form": form}
    return render(request, "modelling/move_disk.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def empty_pool(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the form to empty a pool, request the moves, and show which disks stay."""
    pool = get_object_or_404(
        ObservedPool.objects.select_related("host"), pk=pk, host__in=permissions.hosts_visible_to(request.user)
    )
    form = EmptyForm(pool, request.POST if request.method == "POST" else None)
    context = {"pool": pool, "host": pool.host, "form": form}
    if request.method == "POST" and form.is_valid():
        try:
            context["moves"], context["stay"] = manual.empty_pool(pool, form.cleaned_data["to"], user=user_of(request))
        except PlacementError as error:
            form.add_error(None, str(error))
    context["disks"] = pages.disks_on(pool)
    return render(request, "modelling/empty_pool.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def policy(request: HttpRequest, slug: str) -> HttpResponse:
    """Show or set the policy of a host."""
    host = get_object_or_404(permissions.hosts_visible_to(request.user), slug=slug)
    form = PolicyForm(request.user, request.POST if request.method == "POST" else None, instance=moves.policy_of(host))
    if request.method == "POST" and form.is_valid():
        policies.set_policy(form.save(commit=False), user=user_of(request))
        return redirect("placement")
    context = {"host": host, "form": form}
    return render(request, "modelling/policy.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def machine_mix(request: HttpRequest, pk: int) -> HttpResponse:
    """Show or store a machine's mix as its operator states it."""
    own = ObservedMachine.objects.filter(host__in=permissions.hosts_visible_to(request.user))
    machine = get_object_or_404(own.select_related("host", "stated_mix"), pk=pk)
    stated = getattr(machine, "stated_mix", None)
    shares = stated.shares if stated else {}
    initial = {"shares": "\n".join(f"{name} {share:g}" for name, share in shares.items())}
    form = MixForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        plans.state_mix(machine, form.cleaned_data["shares"], user=user_of(request))
        return redirect("placement")
    context = {"machine": machine, "form": form}
    return render(request, "modelling/stated_mix.html", context, status=422 if form.errors else 200)


@require_safe
@operators_only
def audit_trail(request: HttpRequest) -> HttpResponse:
    """Show who did what on the user's hosts, the latest first."""
    form = trail.TrailForm(request.GET)
    entries = trail.entries(request.user, **form.cleaned_data) if form.is_valid() else []
    page = Paginator(entries, ENTRIES_PER_PAGE).get_page(request.GET.get("page"))
    context = {"form": form, "page": page, "entries": trail.in_words(page)}
    return render(request, "modelling/trail.html", context, status=200 if form.is_valid() else 400)
