"""Check the numbers of a case study against the protocol, and against what its disks can do."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.conf import settings
from django.db.models import Avg, Count, Max, Q, Sum

from experiments.models import CaseStudy, Configuration, DerivedValue, Measurement, WorkloadVariant
from experiments.rules import plausibility, protocol
from experiments.rules.protocol import Number, Protocol
from kdb.fair_play import MEASUREMENT_FIELDS

MAX_NUMBERS = 5_000  # that are checked: a page must not slow down with a million rows

_CELL = ("configuration_id", *MEASUREMENT_FIELDS)


def protocol_of(case_study: CaseStudy) -> Protocol:
    """Judge the first MAX_NUMBERS numbers of a case study by protocol and plausibility; five queries."""
    numbers, flagged = numbers_of(case_study)
    return protocol.judge(numbers, settings.KDB_WHOLE_RUN_SECONDS, flagged)


def numbers_of(case_study: CaseStudy) -> tuple[list[Number], tuple[plausibility.FlaggedNumber, ...]]:
    """Return the first MAX_NUMBERS numbers of a case study, and the implausible ones; five queries."""
    numbers = list(islice(_numbers(case_study), MAX_NUMBERS))
    flagged = [
        plausibility.FlaggedNumber(**value.key, value=value.value, unit=value.unit, flag=flag.kind, reason=flag.reason)
        for value, flag in plausibility.implausible(value for _, value in numbers)
    ]
    return [number for number, _ in numbers], tuple(sorted(flagged, key=repr))


def disks_of(case_study: CaseStudy) -> plausibility.Disks:
    """Return a case study's disks for plausibility checks; a query for the reference loads of its campaigns."""
    storage = case_study.storage
    loads = [load for loads in case_study.campaigns.values_list("calibrations", flat=True) for load in loads or ()]
    return plausibility.Disks(
        kind=storage.kind,
        description=storage.description,
        raid=storage.raid,
        year=case_study.year,
        interface_limit=storage.interface_limit,
        sequential_limit=max(storage.sequential_read_limit or 0.0, storage.sequential_write_limit or 0.0) or None,
        source=storage.source,
        reference_load=plausibility.reference_load(loads),
    )


def implausible_cells(case_study: CaseStudy) -> set[tuple[Any, ...]]:
    """Return configuration and MEASUREMENT_FIELDS of each implausible number of a case study."""
    flagged = plausibility.implausible(value for _, value in _numbers(case_study, most=None))
    return {(value.configuration, *value.load, *value.group) for value, _ in flagged}


def _numbers(
    case_study: CaseStudy, most: int | None = MAX_NUMBERS
) -> Iterator[tuple[Number, plausibility.MeasuredValue]]:
    rows = Measurement.objects.filter(configuration__case_study=case_study, excluded_because="")
    cells = (
        rows.order_by()
        .values_list(*_CELL)
        .annotate(
            repeated=Count("repetition", distinct=True),
            stated=Sum("repetitions"),
            deviations=Count("pk", filter=Q(standard_deviation__isnull=False)),
            mean=Avg("value"),
            of_one=Max("machine"),
        )
    )
    derived = DerivedValue.objects.filter(configuration__case_study=case_study, is_evidence=True).order_by()
    points = derived.values_list(*_CELL, "value")[:most]
    all_cells = [*cells[:most], *((*row, 1, None, 0, value, None) for *row, value in points)]
    configurations = case_study.configurations.select_related("host_fs").in_bulk({row[0] for row in all_cells})
    variants = WorkloadVariant.objects.select_related("workload").in_bulk({row[1] for row in all_cells})
    disks = disks_of(case_study) if all_cells else plausibility.Disks()
    for configuration, *group, repeated, stated, deviations, mean, of_one in all_cells:
        variant, operation, block_size, vm_count, metric, unit, reference = group
        runs = repeated if repeated >= protocol.LEAST_RUNS else stated or case_study.repetitions
        has_spread = repeated >= protocol.LEAST_RUNS or bool(deviations and runs)
        where, load = configurations[configuration], variants[variant]
        number = _number(case_study, where, load.parameters, vm_count, runs, has_spread)
        is_single_machine = of_one is not None or case_study.value_scope == CaseStudy.Scope.PER_VM
        value = plausibility.MeasuredValue(
            key={
                **{"case_study": case_study.slug, "configuration": where.slug, "workload": load.workload.slug},
                **{"operation": operation, "block_size_bytes": block_size, "vm_count": vm_count, "metric": metric},
            },
            configuration=configuration,
            load=(variant, operation, block_size),
            group=(vm_count, metric, unit, reference),
            value=mean,
            unit=unit,
            metric=metric,
            block_size_bytes=block_size,
            machines=max(vm_count, 1) if is_single_machine else 1,
            is_direct=number.passes_caches,
            fits=number.fits_memory,
            disks=disks.under(where.storage_kind, where.below),
        )
        yield number, value


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
    ram_gib = {"guest_gib": configuration.vm_ram_gib, "host_gib": case_study.server.ram_gib}
    guest, host = protocol.memory_of(parameters, is_native=not is_virtual, **ram_gib)
    return Number(
        runs=runs,
        has_spread=has_spread,
        seconds=protocol.seconds_of(parameters) if seconds is None else seconds,
        is_described=bool(case_study.procedure.strip()),
        warm_up_seconds=protocol.warm_up_of(parameters) if warm_up is None else warm_up,
        quiet=case_study.quiet_host,
        fits_cache=case_study.fits_cache,
        files_bytes=protocol.files_bytes(parameters),
        machines=vm_count,
        guest_bytes=guest,
        host_bytes=host,
        is_direct=protocol.is_direct(parameters),
        cache_mode=configuration.cache_mode if is_virtual else None,
        unstated=tuple(_unstated(case_study, configuration)),
    )


def _unstated(case_study: CaseStudy, configuration: Configuration) -> Iterator[str]:
    """Yield, in words, each setting between load and disk that is not stated."""
    if not (configuration.storage_kind or case_study.storage.kind):
        yield protocol.KIND_OF_DISK
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
