"""Read the facts that claims are judged by from the database; no other module of claims queries evidence."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Avg, Count, Max, Min, Q, QuerySet, Sum, Variance
from django.db.models.functions import Ln

from experiments.models import (
    CaseStudy,
    Configuration,
    DerivedValue,
    FileSystem,
    Hypervisor,
    Measurement,
    OrdinalFinding,
    PrintedRatio,
    Workload,
)
from kdb.pairs import pair_key
from kdb.units import convert

from .facts import NATIVE, Finding, Number, PublishedFacts, Span, number_span
from .facts import PrintedRatio as Ratio

UNIT = "MiB/s"
_CELL = ("configuration_id", "variant_id", "operation", "block_size_bytes", "vm_count")
_COLUMNS = (*_CELL, "unit", "variant__workload__slug")
# Fields that two configurations must agree in unless a claim names them.
_MEDIUM = (
    *("cache_mode", "image_format", "disk_bus", "storage_kind", "allocation", "io_mode", "discard", "iothread"),
    *("host_io_scheduler", "guest_io_scheduler"),
)


def read_facts(as_of: int | None = None, *, of: str = "") -> PublishedFacts:
    """Read the facts of published case studies, except those of publications without review.

    as_of : use the evidence of this knowledge revision in place of the current one
    of : this case study alone, reviewed or not
    """
    counted = CaseStudy.objects.published() if as_of is None else CaseStudy.objects.known_at(as_of)
    wanted = counted.filter(slug=of) if of else counted.exclude(publication__is_reviewed=False)
    pks = list(wanted.values_list("pk", flat=True))
    case_studies = CaseStudy.objects.filter(pk__in=pks)  # the same in every query, whatever is published meanwhile
    return PublishedFacts(
        numbers=tuple(sorted(_numbers(case_studies, as_of), key=lambda number: str(number.at["case_study"]))),
        findings=tuple(_findings(case_studies)),
        ratios=tuple(_ratios(case_studies)),
        limits=_limits(case_studies),
        labels={
            slug: name
            for model in (Hypervisor, FileSystem, Workload)
            for slug, name in model._default_manager.values_list("slug", "name")
        },
    )


def _numbers(case_studies: QuerySet[CaseStudy], as_of: int | None) -> Iterator[Number]:
    """Yield a throughput for each cell of the case studies: the measured one, or else a derived one."""
    configurations = Configuration.objects.filter(case_study__in=case_studies)
    related = configurations.select_related("case_study", "hypervisor", "guest_fs", "host_fs")
    at = {configuration.pk: place(configuration) for configuration in related}
    cells_with_number = set()

    def coordinates(row: dict[str, Any]) -> dict[str, Any]:
        return {
            **at[row["configuration_id"]],
            "workload": row["variant__workload__slug"],
            "variant": row["variant_id"],
            "operation": row["operation"],
            "block_size": row["block_size_bytes"],
            "vm_count": row["vm_count"],
        }

    counts = Q(excluded_because="") if as_of is None else Q(excluded_because="") | Q(ending__revision__gt=as_of)
    of_these = {"metric": "throughput", "configuration__case_study__in": case_studies}
    cells = (
        Measurement.objects.filter(counts, **of_these)
        .order_by(*_COLUMNS)
        .values(*_COLUMNS)
        .annotate(
            rows=Count("pk"),
            first=Min("pk"),
            mean_log=Avg(Ln("value")),
            log_variance=Variance(Ln("value")),
            any_value=Max("value"),
            other_reading=Max("alternative_value"),
            deviation=Max("standard_deviation"),
            runs=Sum("repetitions"),
        )
    )
    for row in cells.iterator():
        cells_with_number.add(_cell(row))
        variance = _variance(row)
        span = number_span(row["mean_log"], variance)
        readings = [span]
        if row["rows"] == 1 and row["other_reading"]:
            factor = row["other_reading"] / row["any_value"]
            readings.append(_scaled(span, factor))
        to_unit = convert(1.0, row["unit"], UNIT)
        yield Number(
            f"measurement:{row['first']}",
            coordinates(row),
            tuple(_scaled(reading, to_unit) for reading in readings),
            runs=0 if variance else max(row["rows"], row["runs"] or 1),
        )

    bound = DerivedValue.Quantity.BOUND
    derived = DerivedValue.objects.filter(Q(is_evidence=True) | Q(quantity=bound), **of_these)
    derived = derived.exclude(quantity=DerivedValue.Quantity.MEAN).order_by("-is_evidence", "pk")
    for row in derived.values("pk", "low", "high", "quantity", *_COLUMNS):
        if _cell(row) in cells_with_number:
            continue
        cells_with_number.add(_cell(row))
        is_bound = row["quantity"] == bound
        span = Span(row["low"] or 0.0, row["high"] if row["high"] is not None else float("inf"))
        span = _scaled(span, convert(1.0, row["unit"], UNIT))
        yield Number(f"derived:{row['pk']}", coordinates(row), (span,), is_bound, runs=0 if is_bound else 1)


def place(configuration: Configuration) -> dict[str, Any]:
    """Return the coordinates that a number has from its configuration."""
    hypervisor = configuration.hypervisor
    guest_fs = configuration.guest_fs.slug if configuration.guest_fs else None
    host_fs = configuration.host_fs.slug if configuration.host_fs else None
    return {
        "case_study": configuration.case_study.slug,
        "hypervisor": hypervisor.slug if hypervisor else NATIVE,
        "hypervisor_kind": hypervisor.kind if hypervisor else None,
        "virtualisation": configuration.virtualisation,
        "medium": tuple(getattr(configuration, column) for column in _MEDIUM),
        "machine": (configuration.guest_os_id, configuration.vm_vcpus, configuration.vm_ram_gib),
        "guest_fs": guest_fs,
        "host_fs": host_fs,
        "pair": pair_key(str(guest_fs), str(host_fs)),  # None for a side that is absent or not stated
    }


def _cell(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _CELL)


def _variance(row: dict[str, Any]) -> float | None:
    """Return the variance of the cell's mean of ln(value), from its rows or its printed deviation; None: not known."""
    if row["rows"] > 1:
        return row["log_variance"] / (row["rows"] - 1)
    return (row["deviation"] / row["any_value"]) ** 2 / (row["runs"] or 1) if row["deviation"] else None


def _scaled(span: Span, factor: float) -> Span:
    return Span(span.low * factor, span.high * factor)


def _findings(case_studies: QuerySet[CaseStudy]) -> Iterator[Finding]:
    rows = OrdinalFinding.objects.filter(case_studies__in=case_studies).order_by("pk", "case_studies__slug")
    slugs_of: dict[tuple[Any, ...], list[str]] = {}
    for pk, case_study, *rest in rows.values_list(
        *("pk", "case_studies__slug", "publication__slug", "variant__workload__slug", "hypervisor__slug"),
        *("guest_fs__slug", "host_fs__slug", "text_list", "table_list", "is_outstanding"),
    ):
        slugs_of.setdefault((pk, *rest), []).append(case_study)
    for (pk, publication, *placed), slugs in slugs_of.items():
        yield Finding(f"finding:{pk}", publication, tuple(slugs), *placed)


def _ratios(case_studies: QuerySet[CaseStudy]) -> Iterator[Ratio]:
    """Yield printed ratios at single VM counts; a ratio of sums is a claim, and the numbers in it are printed."""
    rows = PrintedRatio.objects.filter(case_study__in=case_studies, is_overall=False).select_related(
        "case_study", "variant__workload", "numerator", "denominator"
    )
    for row in rows.order_by("pk"):
        yield Ratio(
            f"ratio:{row.pk}",
            row.case_study.slug,
            row.variant.workload.slug,
            row.numerator.slug if row.numerator else NATIVE,
            row.denominator.slug,
            tuple(row.vm_counts),
            Span(row.least - row.least_rounding, row.least + row.least_rounding),
            Span(row.greatest - row.greatest_rounding, row.greatest + row.greatest_rounding),
            row.trend,
        )


def _limits(case_studies: QuerySet[CaseStudy]) -> dict[str, dict[str, float]]:
    """Return case study to the stated limits of its storage, MiB/s: `disk`, the slower direction, and `interface`."""
    limits = {}
    for slug, read, write, interface in case_studies.order_by("slug").values_list(
        "slug", "storage__sequential_read_limit", "storage__sequential_write_limit", "storage__interface_limit"
    ):
        stated = {"disk": min(filter(None, (read, write)), default=None), "interface": interface}
        limits[slug] = {name: convert(value, "MB/s", UNIT) for name, value in stated.items() if value}
    return limits
