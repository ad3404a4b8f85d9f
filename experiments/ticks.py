"""A case study held against the protocol that a result needs to count (experiments.protocol)."""

from collections.abc import Iterator
from itertools import islice

from django.conf import settings
from django.db.models import Count, Q, Sum

from experiments import protocol
from experiments.models import CaseStudy, Configuration, DerivedValue, Measurement, WorkloadVariant
from experiments.protocol import Number, Protocol

MOST_NUMBERS = 5_000  # that are looked at, so that a page costs the same for a million rows

_CELL = ("configuration", "variant", "vm_count", "operation", "block_size_bytes", "metric", "unit", "reference")


def protocol_of(case_study: CaseStudy) -> Protocol:
    """Judge the numbers of a case study by the table, the first MOST_NUMBERS of them; four queries."""
    return protocol.held_against(islice(_numbers(case_study), MOST_NUMBERS), settings.KDB_WHOLE_RUN_SECONDS)


def _numbers(case_study: CaseStudy) -> Iterator[Number]:
    rows = Measurement.objects.filter(configuration__case_study=case_study, excluded_because="")
    cells = (
        rows.order_by()
        .values_list(*_CELL)
        .annotate(
            repeated=Count("repetition", distinct=True),
            stated=Sum("repetitions"),
            deviations=Count("pk", filter=Q(standard_deviation__isnull=False)),
        )
    )
    derived = DerivedValue.objects.filter(configuration__case_study=case_study, is_evidence=True).order_by()
    all_cells = [*cells[:MOST_NUMBERS], *((*row, 1, None, 0) for row in derived.values_list(*_CELL)[:MOST_NUMBERS])]
    configurations = case_study.configurations.select_related("host_fs").in_bulk({row[0] for row in all_cells})
    variants = WorkloadVariant.objects.in_bulk({row[1] for row in all_cells})
    for configuration, variant, vm_count, *_, repeated, stated, deviations in all_cells:
        runs = repeated if repeated >= protocol.LEAST_RUNS else stated or case_study.repetitions
        has_spread = repeated >= protocol.LEAST_RUNS or bool(deviations and runs)
        where = configurations[configuration]
        yield _number(case_study, where, variants[variant].parameters, vm_count, runs, has_spread)


def _number(
    case_study: CaseStudy,
    configuration: Configuration,
    parameters: dict[str, object],
    vm_count: int,
    runs: int | None,
    has_spread: bool,
) -> Number:
    seconds, warm_up = case_study.run_seconds, case_study.warm_up_seconds
    is_virtual = not configuration.is_native and configuration.virtualisation != Configuration.Virtualisation.CONTAINER
    return Number(
        runs=runs,
        has_spread=has_spread,
        seconds=protocol.seconds_of(parameters) if seconds is None else seconds,
        is_described=bool(case_study.procedure.strip()),
        warm_up_seconds=protocol.warm_up_of(parameters) if warm_up is None else warm_up,
        quiet=case_study.quiet_host,
        files_bytes=protocol.files_bytes(parameters),
        machines=vm_count,
        guest_bytes=None if configuration.vm_ram_gib is None else configuration.vm_ram_gib * 2**30,
        host_bytes=None if case_study.server.ram_gib is None else case_study.server.ram_gib * 2**30,
        is_direct=protocol.is_direct(parameters),
        cache_mode=configuration.cache_mode if is_virtual else None,
        unstated=tuple(_unstated(case_study, configuration)),
    )


def _unstated(case_study: CaseStudy, configuration: Configuration) -> Iterator[str]:
    """Yield, in words, each setting between load and disk that is not stated."""
    if not (configuration.storage_kind or case_study.storage.kind):
        yield "kind of disk"
    if configuration.is_native:
        if configuration.host_fs_id is None:
            yield "file system"
        return
    if configuration.host_storage is None:
        yield "host storage"
    if configuration.guest_fs_id is None and not configuration.guest_access:
        yield "guest file system"
    if configuration.virtualisation == Configuration.Virtualisation.CONTAINER:
        return
    if not configuration.hypervisor_release:
        yield "release of the hypervisor"
    if configuration.backend in ("", "file") and not configuration.image_format:
        yield "image format"
    if not configuration.disk_bus:
        yield "disk bus"
