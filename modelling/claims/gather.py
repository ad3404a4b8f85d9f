"""Gathers what claims are judged by: the one place where claims meet the published numbers and findings."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.db.models import Avg, Count, Exists, Max, Min, OuterRef, Q, QuerySet, Sum, Variance
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
from .needs import COORDINATES, Needs

UNIT = "MiB/s"
STUDIES_AT_ONCE = 20  # case studies whose rows are read together
READ_BY = ("workload", "operation", "block_size")  # coordinates that rows are chosen by
_COLUMNS = dict(zip(READ_BY, ("variant__workload__slug", "operation", "block_size_bytes"), strict=True))
_CELL = ("configuration_id", "variant_id", "operation", "block_size_bytes", "vm_count", "unit")


def counted(as_of: int | None = None) -> QuerySet[CaseStudy]:
    """Return published case studies, except those of publications without review.

    as_of : what counted at this knowledge revision, in place of what counts now
    """
    case_studies = CaseStudy.objects.published() if as_of is None else CaseStudy.objects.known_at(as_of)
    return case_studies.exclude(publication__is_reviewed=False)


def read_facts(
    case_studies: QuerySet[CaseStudy] | None = None, needs: Needs | None = None, as_of: int | None = None
) -> PublishedFacts:
    """Read what these case studies know, or all that count. A printed value without spread is taken as it stands.

    needs : only what these may ask for is wanted; more may be read
    as_of : with the rows that counted at this knowledge revision
    """
    case_studies = counted() if case_studies is None else case_studies
    if needs is None:
        needs = Needs(frozenset({(None,) * len(COORDINATES)}), takes_limits=True)
    batches = list(_batches(case_studies)) if needs.places else []
    names, workloads = labels(), dict(Workload.objects.values_list("variants__pk", "slug"))  # those of the batches, too
    ratios = tuple(_ratios(case_studies)) if needs.places else ()
    numbers: list[Number] = []
    last_counts: dict[object, int] = {}
    for some in batches:
        numbers += sorted(_numbers(some, workloads, needs, as_of), key=lambda number: str(number.at["case_study"]))
        if needs.takes_last:
            last_counts |= _last_counts(some, as_of)
    for ratio in ratios:
        last_counts[ratio.case_study] = max(last_counts.get(ratio.case_study, 0), *ratio.vm_counts, 0)
    return PublishedFacts(
        numbers=tuple(numbers),
        findings=tuple(_findings(case_studies)) if needs.places else (),
        ratios=ratios,
        limits=_limits(case_studies) if needs.takes_limits else {},
        labels=names,
        last_counts=last_counts if needs.takes_last else None,
    )


def read_studies(case_studies: QuerySet[CaseStudy]) -> Iterator[PublishedFacts]:
    """Yield facts of a few case studies at a time; lists of pairs by themselves, since several share a publication."""
    for some in _batches(case_studies):
        yield replace(read_facts(some), findings=())


def read_lists(case_studies: QuerySet[CaseStudy]) -> PublishedFacts:
    """Read the lists of pairs of these case studies alone."""
    return PublishedFacts(findings=tuple(_findings(case_studies)), labels=labels())


def sources(case_studies: QuerySet[CaseStudy]) -> set[str]:
    """Return slugs of the case studies as sources: themselves, and the publications of lists that mention them."""
    publications = OrdinalFinding.objects.filter(case_studies__in=case_studies)
    slugs = publications.values_list("publication__slug", flat=True)
    return {*case_studies.values_list("slug", flat=True), *slugs}


def with_lists_of(sources: set[str], case_studies: QuerySet[CaseStudy]) -> QuerySet[CaseStudy]:
    """Keep those of the case studies that a list of these publications speaks of."""
    lists = OrdinalFinding.objects.filter(publication__slug__in=sources, case_studies=OuterRef("pk"))
    return case_studies.filter(Exists(lists))


def _batches(case_studies: QuerySet[CaseStudy]) -> Iterator[QuerySet[CaseStudy]]:
    """Yield the case studies in the order of their short names, so that the order does not depend on others."""
    slugs = sorted(case_studies.values_list("slug", flat=True))
    for start in range(0, len(slugs), STUDIES_AT_ONCE):
        yield CaseStudy.objects.filter(slug__in=slugs[start : start + STUDIES_AT_ONCE])


def labels() -> dict[str, str]:
    """Return slug to name of everything that conditions mention."""
    return {
        slug: name
        for model in (Hypervisor, FileSystem, Workload)
        for slug, name in model._default_manager.values_list("slug", "name")
    }


def _counting(as_of: int | None) -> Q:
    """Return the condition that a measurement counts, or did at this knowledge revision."""
    counts = Q(excluded_because="")
    return counts if as_of is None else counts | Q(ending__revision__gt=as_of)


def _last_counts(case_studies: QuerySet[CaseStudy], as_of: int | None) -> dict[object, int]:
    greatest: dict[object, int] = {}
    measured = Measurement.objects.filter(_counting(as_of), metric="throughput")
    for rows in (measured, _derived()):
        rows = rows.filter(configuration__case_study__in=case_studies).order_by()
        for slug, count in rows.values_list("configuration__case_study__slug").annotate(Max("vm_count")):
            greatest[slug] = max(count, greatest.get(slug, 0))
    return greatest


def _numbers(
    case_studies: QuerySet[CaseStudy], workloads: dict[int, str], needs: Needs, as_of: int | None
) -> Iterator[Number]:
    """Yield the numbers of the case studies. `workloads` are slugs by the key of a variant."""
    configurations = Configuration.objects.filter(case_study__in=case_studies).select_related(
        "case_study", "hypervisor", "guest_fs", "host_fs"
    )
    at = {configuration.pk: _place(configuration) for configuration in configurations}
    taken = set()

    def coordinates(row: dict[str, Any]) -> dict[str, Any]:
        return {
            **at[row["configuration_id"]],
            "workload": workloads[row["variant_id"]],
            "variant": row["variant_id"],
            "operation": row["operation"],
            "block_size": row["block_size_bytes"],
            "vm_count": row["vm_count"],
        }

    wanted: dict[str, Any] = {f"{_COLUMNS[name]}__in": needs.values(name) for name in READ_BY if needs.values(name)}
    wanted["configuration__case_study__in"] = case_studies
    cells = (
        Measurement.objects.filter(_counting(as_of), metric="throughput", **wanted)
        .order_by(*_CELL)
        .values(*_CELL)
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
        taken.add(_cell(row))
        variance = _variance(row)
        span = number_span(row["mean_log"], variance)
        readings = [span]
        if row["rows"] == 1 and row["other_reading"]:
            factor = row["other_reading"] / row["any_value"]
            readings.append(Span(span.low * factor, span.high * factor))
        to_unit = convert(1.0, row["unit"], UNIT)
        yield Number(
            f"measurement:{row['first']}",
            coordinates(row),
            tuple(_scaled(reading, to_unit) for reading in readings),
            runs=0 if variance else max(row["rows"], row["runs"] or 1),
        )

    derived = _derived().filter(**wanted).order_by("-is_evidence", "pk")
    for row in derived.values("pk", "low", "high", "is_evidence", "quantity", *_CELL):
        is_bound = row["quantity"] == DerivedValue.Quantity.BOUND
        if _cell(row) in taken:
            continue
        taken.add(_cell(row))
        span = Span(row["low"] or 0.0, row["high"] if row["high"] is not None else float("inf"))
        span = _scaled(span, convert(1.0, row["unit"], UNIT))
        yield Number(f"derived:{row['pk']}", coordinates(row), (span,), is_bound, runs=0 if is_bound else 1)


def _derived() -> QuerySet[DerivedValue]:
    """Return the derived values that count as numbers: evidence, and bounds."""
    counts = Q(is_evidence=True) | Q(quantity=DerivedValue.Quantity.BOUND)
    return DerivedValue.objects.filter(counts, metric="throughput").exclude(quantity=DerivedValue.Quantity.MEAN)


# Fields of a configuration that two must agree in wherever a claim does not speak of them.
_MEDIUM = (
    *("cache_mode", "image_format", "disk_bus", "storage_kind", "allocation", "io_mode", "discard", "iothread"),
    *("host_io_scheduler", "guest_io_scheduler"),
)


def _place(configuration: Configuration) -> dict[str, Any]:
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
    return tuple(row[name] for name in _CELL if name != "unit")


def _variance(row: dict[str, Any]) -> float | None:
    """Return the variance of the cell's mean of ln(value), from its rows or the spread its source prints; else None."""
    if row["rows"] > 1:
        return row["log_variance"] / (row["rows"] - 1)
    return (row["deviation"] / row["any_value"]) ** 2 / (row["runs"] or 1) if row["deviation"] else None


def _scaled(span: Span, factor: float) -> Span:
    return Span(span.low * factor, span.high * factor)


def _findings(case_studies: QuerySet[CaseStudy]) -> Iterator[Finding]:
    rows = (
        OrdinalFinding.objects.filter(case_studies__in=case_studies)
        .order_by("pk", "case_studies__slug")
        .values_list(
            "pk",
            "case_studies__slug",
            "publication__slug",
            "variant__workload__slug",
            "hypervisor__slug",
            "guest_fs__slug",
            "host_fs__slug",
            "text_list",
            "table_list",
            "is_outstanding",
        )
    )
    slugs_of: dict[tuple[Any, ...], list[str]] = {}
    for pk, case_study, *rest in rows:
        slugs_of.setdefault((pk, *rest), []).append(case_study)
    for (pk, publication, *placed), slugs in slugs_of.items():
        yield Finding(f"finding:{pk}", publication, tuple(slugs), *placed)


def _ratios(case_studies: QuerySet[CaseStudy]) -> Iterator[Ratio]:
    """Yield printed ratios that hold at single VM counts: a ratio of sums is a claim, and its numbers are printed."""
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
    """Return what each storage can do at most, MiB/s: `disk` and `interface`, each where it is stated."""
    limits = {}
    for slug, read, write, interface in case_studies.order_by("slug").values_list(
        "slug", "storage__sequential_read_limit", "storage__sequential_write_limit", "storage__interface_limit"
    ):
        stated = {"disk": min(filter(None, (read, write)), default=None), "interface": interface}
        limits[slug] = {name: convert(value, "MB/s", UNIT) for name, value in stated.items() if value}
    return limits
