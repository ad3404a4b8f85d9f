"""Pages of observed hosts and machines with their detected loads, for operators."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from experiments import permissions
from experiments.campaigns.hosts import HostError
from experiments.campaigns.views import operators_only
from experiments.fleet import actions
from experiments.fleet import selectors as observation
from experiments.fleet.forms import MachineForm, ObserveForm, PoolPageForm
from experiments.models import Host, ObservedMachine
from kdb.accounts.users import user_of
from modelling.evidence import names

from . import selectors
from .persistence import current_model
from .presentation import SPANS, confusion_table, curves, describe_class, describe_mix


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def observed_host(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the machines and pools of a host; turn observation on and off."""
    host = get_object_or_404(
        permissions.hosts_visible_to(request.user).select_related("hypervisor", "runs_on"), slug=slug
    )
    problem = ""
    initial = {"every": host.observed_every}
    form = ObserveForm(request.POST if request.POST.get("do") == "on" else None, initial=initial)
    pools = {
        pool.pk: PoolPageForm(instance=pool, prefix=f"pool{pool.pk}") for pool in host.observed_pools.order_by("path")
    }
    if request.method == "POST":
        try:
            if _handle_button(request, host, form, pools):
                return redirect("observed-host", slug)
        except HostError as error:
            problem = str(error)
    rows = observation.machine_rows(ObservedMachine.objects.filter(host=host))
    mixes = selectors.mixes_of([row.machine.pk for row in rows])
    words = names.names()["workload"]
    shown = {
        "host": host,
        "may_forget": permissions.may_change_host(request.user, host),
        "problem": problem,
        "form": form,
        "pools": [(pool_form.instance, pool_form) for pool_form in pools.values()],
        "rows": [(row, describe_mix(mixes.get(row.machine.pk), words, _hypervisor(host), "")) for row in rows],
    }
    has_errors = form.errors or any(pool_form.is_bound and pool_form.errors for pool_form in pools.values())
    return render(request, "modelling/observed_host.html", shown, status=409 if problem else 422 if has_errors else 200)


def _handle_button(request: HttpRequest, host: Host, form: ObserveForm, pools: dict[int, PoolPageForm]) -> bool:
    """Perform the action of the pressed button; False where its form has errors. Raises HostError."""
    match request.POST.get("do", "").split("-"):
        case ["on"]:
            if form.is_valid():
                actions.turn_on(host, user=user_of(request), **form.cleaned_data)
            return form.is_valid()
        case ["list"]:
            actions.list_now(host)
            return True
        case ["off"]:
            actions.turn_off(host, user=user_of(request))
            return True
        case ["pool", key] if key.isdecimal() and int(key) in pools:
            pool = pools[int(key)].instance
            bound = pools[int(key)] = PoolPageForm(request.POST, instance=pool, prefix=f"pool{pool.pk}")
            if bound.is_valid():
                actions.change_pool(pool, bound.cleaned_data, user=user_of(request))
            return bound.is_valid()
    raise Http404("nothing is called so")


@require_http_methods(["GET", "HEAD", "POST"])
@operators_only
def observed_machine(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a machine's disks, their load and its mix, and save what its operator states."""
    machine = get_object_or_404(
        ObservedMachine.objects.select_related("host__hypervisor"),
        pk=pk,
        host__in=permissions.hosts_visible_to(request.user),
    )
    form = MachineForm(request.POST or None, instance=machine)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        actions.change_machine(ObservedMachine.objects.get(pk=pk), data, user=user_of(request))
        return redirect("observed-machine", pk)
    span = request.GET.get("span", "hour")
    if span not in SPANS:
        raise Http404(f"there is no span {span!r}")
    words = names.names()["workload"]
    hypervisor = _hypervisor(machine.host)
    known_fs = machine.guest_fs if machine.guest_fs in names.names()["file_system"] else ""
    hours = selectors.hours_of(machine, 48)
    (row,) = observation.machine_rows(ObservedMachine.objects.filter(pk=pk))
    shown = {
        "machine": row.machine,
        "row": row,
        "form": form,
        "span": span,
        "spans": list(SPANS),
        "curves": curves(span, observation.activity_by_span(machine, span)),
        "mix": describe_mix(selectors.mix_of(machine), words, hypervisor, known_fs),
        "hours": [(hour.starts_at, describe_mix(mix, words, hypervisor, known_fs)) for hour, mix in hours][::-1],
    }
    return render(request, "modelling/observed_machine.html", shown, status=422 if form.errors else 200)


@require_safe
@operators_only
def detection_model(request: HttpRequest) -> HttpResponse:
    """Show the data that detection was trained on, and its report."""
    model = current_model()
    shown: dict[str, object] = {"model": model, "why_not": selectors.NO_MODEL if model is None else model.why_not}
    if model is not None and not model.why_not:
        shown |= _report_tables(model.report)
    return render(request, "modelling/detection_model.html", shown)


def _report_tables(report: dict[str, Any]) -> dict[str, object]:
    """Return the context of a model's report."""
    words, classes = names.names()["workload"], [*report["workloads"], *report["others"]]
    return {
        "report": report,
        "training": [
            (
                describe_class(name, words),
                *(report[counted].get(name, 0) for counted in ("signatures", "runs", "idle", "cached")),
                report["sureness"].get(name),
            )
            for name in classes
        ],
        "tables": [
            confusion_table("About a minute", report["confusion_of_runs"], classes, words),
            confusion_table("Programs that taught nothing", report["held_back"], classes, words),
        ],
    }


def _hypervisor(host: Host) -> str:
    return host.hypervisor.slug if host.hypervisor else ""
