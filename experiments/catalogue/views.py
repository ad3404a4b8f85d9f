"""Pages of the catalogue: file systems, hypervisors, workloads, abilities, and the model of seven components."""

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from experiments.models import Benchmark, FileSystem, HostStorage, Hypervisor, Workload
from experiments.published_evidence.abilities import ABILITIES
from experiments.published_evidence.result_sets import result_sets
from experiments.records import visible

from . import pages
from .glossary import glossary


@require_safe
def knowledge(request: HttpRequest) -> HttpResponse:
    context = {
        "file_systems": visible.entries(FileSystem),
        "hypervisors": visible.entries(Hypervisor),
        "host_storages": visible.entries(HostStorage),
        "workloads": visible.entries(Workload),
        "benchmarks": visible.entries(Benchmark),
        "publications": pages.publications(),
        "cost_matrix": pages.cost_matrix(),
        "component_map": pages.component_map(),
    }
    return render(request, "experiments/knowledge.html", context)


@require_safe
def glossary_page(request: HttpRequest) -> HttpResponse:
    return render(request, "experiments/glossary.html", {"sections": glossary()})


@require_safe
def abilities(request: HttpRequest) -> HttpResponse:
    return render(
        request, "experiments/abilities.html", {"abilities": ABILITIES.values(), "tables": pages.ability_tables()}
    )


@require_safe
def result_set_list(request: HttpRequest) -> HttpResponse:
    """Show public result sets that are not in the evidence yet."""
    return render(request, "experiments/result_set_list.html", {"result_sets": result_sets()})


@require_safe
def file_system_detail(request: HttpRequest, slug: str) -> HttpResponse:
    file_system = get_object_or_404(visible.entries(FileSystem), slug=slug)
    context = {
        "file_system": file_system,
        "mechanisms": file_system.mechanisms.order_by("operation"),
        "configurations": pages.configurations_with(Q(guest_fs=file_system) | Q(host_fs=file_system)),
    }
    return render(request, "experiments/file_system_detail.html", context)


@require_safe
def hypervisor_detail(request: HttpRequest, slug: str) -> HttpResponse:
    hypervisor = get_object_or_404(visible.entries(Hypervisor), slug=slug)
    configurations = pages.configurations_with(Q(hypervisor=hypervisor))
    context = {"hypervisor": hypervisor, "configurations": configurations}
    return render(request, "experiments/hypervisor_detail.html", context)


@require_safe
def workload_detail(request: HttpRequest, slug: str) -> HttpResponse:
    workload = get_object_or_404(visible.entries(Workload), slug=slug)
    variants = list(visible.workload_variants().filter(workload=workload).select_related("benchmark"))
    context = {"workload": workload, "variants": variants, "case_studies": pages.case_studies_with(variants)}
    return render(request, "experiments/workload_detail.html", context)
