"""Lay out numbers as the tables and charts of a case study's page. No queries, no HTML."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import compress, groupby
from math import log
from statistics import fmean
from typing import Any
from urllib.parse import urlencode

from experiments.models import CaseStudy, Configuration, DerivedValue, Measurement, OrdinalFinding
from experiments.rules.concurrency import concurrency_of
from experiments.templatetags.kdb_format import anchor, block_size, decimals, number, quantity, vm_count
from kdb.api.pagination import PageByKey
from kdb.disk_path import SETTINGS, Setting
from kdb.shades import shades
from kdb.units import METRICS


@dataclass
class Cell:
    """One number of a table, or the mean of its repetitions; `marks` are numbers of footnotes."""

    value: float
    key: int  # of its row, or of the first of its repetitions
    provenance: str
    low: float | None = None  # smallest and largest of the repetitions
    high: float | None = None
    runs: int = 1
    is_ambiguous: bool = False
    marks: list[int] = field(default_factory=list)
    shade: int | None = None  # of a surface: 0, the worst of it, to 4, the best


@dataclass
class Row:
    """One line of a table; a cell is None where the source has no number."""

    label: str
    cells: list[Cell | None]
    marks: list[int] = field(default_factory=list)


@dataclass
class SourceTable:
    """One table as a publication prints it, or one load of an imported file; a surface (_surface) has no chart."""

    source: str
    anchor: str  # empty where another table of the page has it already
    title: str
    metric: str  # in words
    unit: str
    columns: list[str]
    rows: list[Row]
    decimals: int  # as many as any of its numbers needs
    footnotes: list[str]
    chart: dict[str, Any] | None
    points: str = ""  # of a surface, how the API is asked for its numbers


@dataclass
class SingleValue:
    """A number that stands alone in its source: a sentence, and no table."""

    source: str
    anchor: str
    title: str
    label: str  # of the configuration
    machines: str
    measurement: Measurement
    provenance: str


@dataclass
class DerivedGroup:
    """Values derived from one section of a text: those that rankings use, and the others."""

    source: str
    anchor: str
    used: list[DerivedValue]
    others: list[DerivedValue]
    chart: dict[str, Any] | None


@dataclass
class FindingGroup:
    """The tier lists of one workload."""

    workload: str
    benchmark: str
    text_source: str
    table_source: str
    anchors: list[str]
    findings: list[OrdinalFinding]


class Anchors:
    """Gives each source of a page its anchor once, for the first place that shows it."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def claim(self, source: str) -> str:
        name = anchor(source)
        if name in self._taken:
            return ""
        self._taken.add(name)
        return name


def configuration_labels(configurations: Iterable[Configuration]) -> dict[int, str]:
    """Return a label for each configuration that tells it from its neighbours, by primary key."""
    labels = {configuration.pk: str(configuration) for configuration in configurations}
    by_label: dict[str, list[Configuration]] = {}
    for configuration in configurations:
        by_label.setdefault(labels[configuration.pk], []).append(configuration)
    for label, same in by_label.items():
        if len(same) > 1:
            labels |= {configuration.pk: f"{label} ({configuration.slug})" for configuration in same}
    return labels


def source_tables(measurements: list[Measurement], labels: dict[int, str], anchors: Anchors) -> list[SourceTable]:
    """Return the measurements as their sources group them, in the order the sources have them."""
    groups = [group for group in _by_source(measurements) if len(group) > 1]
    return [
        _surface(group, labels, anchors) if _is_surface(group) else _source_table(number, group, labels, anchors)
        for number, group in enumerate(groups, start=1)
    ]


def single_values(measurements: list[Measurement], labels: dict[int, str], anchors: Anchors) -> list[SingleValue]:
    """Return the measurements that are no part of a table."""
    alone = [group[0] for group in _by_source(measurements) if len(group) == 1]
    return [
        SingleValue(
            source=_source(measurement),
            anchor=anchors.claim(_source(measurement)),
            title=_title(measurement),
            label=labels[measurement.configuration_id],
            machines=vm_count(measurement.vm_count),
            measurement=measurement,
            provenance=provenance([measurement]),
        )
        for measurement in alone
    ]


def derived_groups(values: list[DerivedValue], labels: dict[int, str], anchors: Anchors) -> list[DerivedGroup]:
    """Return derived values by the section they follow from."""
    groups: dict[str, list[DerivedValue]] = {}
    for value in values:
        groups.setdefault(value.source, []).append(value)
    derived = []
    for position, (source, group) in enumerate(groups.items(), start=1):
        used = [value for value in group if value.is_evidence]
        others = [value for value in group if not value.is_evidence]
        chart = _derived_chart(position, source, used, labels) if used else None
        derived.append(DerivedGroup(source, anchors.claim(source), used, others, chart))
    return derived


def finding_groups(findings: list[OrdinalFinding], anchors: Anchors) -> list[FindingGroup]:
    """Return tier lists by workload; inside, the best first."""
    tiers = list(OrdinalFinding.Tier.values)
    groups = []
    for _, members in groupby(findings, key=lambda f: (f.publication_id, f.variant_id)):
        group = sorted(members, key=lambda f: (tiers.index(f.text_list), not f.is_outstanding, f.pk))
        first = group[0]
        given = [anchors.claim(first.text_source), anchors.claim(first.table_source)]
        groups.append(
            FindingGroup(
                workload=first.variant.workload.name,
                benchmark=first.variant.benchmark.name,
                text_source=first.text_source,
                table_source=first.table_source,
                anchors=[name for name in given if name],
                findings=group,
            )
        )
    return groups


_LISTED_SETTINGS = [SETTINGS[column] for column in ("hypervisor_release", "host_kernel", "guest_kernel")]


def _stated(setting: Setting, configuration: Configuration) -> str:
    value = getattr(configuration, setting.column)
    return setting.value_label(str(value)) if value else ""


# The facts of a configuration, as a page lists them.
FACTS: tuple[tuple[str, Callable[[Configuration], str]], ...] = (
    ("Hypervisor", lambda c: " ".join(filter(None, [c.hypervisor.name, c.hypervisor_release])) if c.hypervisor else ""),
    ("Virtualisation", lambda c: c.get_virtualisation_display() if c.virtualisation else ""),
    ("Virtual devices", lambda c: c.virtual_devices),
    ("Guest system", lambda c: c.guest_os.name if c.guest_os else ""),
    ("Guest kernel", lambda c: c.guest_kernel),
    ("Guest file system", lambda c: c.guest_fs.name if c.guest_fs else ""),
    ("Load works on", lambda c: c.get_guest_access_display() if c.guest_access else ""),
    ("Guest mkfs options", lambda c: c.guest_mkfs_options),
    ("Guest mount options", lambda c: c.guest_mount_options),
    ("Guest I/O scheduler", lambda c: c.guest_io_scheduler),
    ("Host system", lambda c: c.host_os.name if c.host_os else ""),
    ("Host kernel", lambda c: c.host_kernel),
    ("Backend of the images", lambda c: c.backend_label),
    ("Below the backend", lambda c: c.below),
    ("Host file system", lambda c: c.host_fs.name if c.host_fs else ""),
    ("Host mkfs options", lambda c: c.host_mkfs_options),
    ("Host mount options", lambda c: c.host_mount_options),
    ("Host I/O scheduler", lambda c: c.host_io_scheduler),
    ("Kind of storage", lambda c: c.get_storage_kind_display() if c.storage_kind else ""),
    *((setting.label, partial(_stated, setting)) for setting in SETTINGS.values() if setting not in _LISTED_SETTINGS),
    ("Virtual processors", lambda c: "" if c.vm_vcpus is None else str(c.vm_vcpus)),
    ("Memory of a machine", lambda c: "" if c.vm_ram_gib is None else f"{number(c.vm_ram_gib)} GiB"),
    ("Disk of a machine", lambda c: c.vm_disk),
)
_NATIVE = {"Kind of storage", *(setting.label for setting in SETTINGS.values() if setting.is_native)}
NATIVE_FACTS = tuple(fact for fact in FACTS if fact[0].startswith("Host ") or fact[0] in _NATIVE)


@dataclass(frozen=True)
class Facts:
    """Facts in words, and the names of those that the source leaves open."""

    stated: list[tuple[str, str]]
    unstated: list[str]


def _facts(values: Iterable[tuple[str, object]]) -> Facts:
    texts = [(name, "" if value is None else str(value)) for name, value in values]
    return Facts([(name, text) for name, text in texts if text], [name for name, text in texts if not text])


def testbed_facts(case_study: CaseStudy) -> Facts:
    """Return the facts of the server and the storage that a case study was measured on."""
    server, storage = case_study.server, case_study.storage
    return _facts(
        [
            ("Server", server.model),
            ("Processor", server.cpu),
            ("Sockets", server.sockets),
            ("Cores", server.cores),
            ("Memory", " ".join(filter(None, [_with_unit(server.ram_gib, "GiB"), server.ram_kind]))),
            ("Network", server.network),
            ("Storage", storage.description),
            ("Kind", storage.kind and storage.get_kind_display()),
            ("Controller", storage.controller),
            ("RAID", storage.raid),
            ("Sequential read limit", _with_unit(storage.sequential_read_limit, "MB/s")),
            ("Sequential write limit", _with_unit(storage.sequential_write_limit, "MB/s")),
            ("Interface limit", _with_unit(storage.interface_limit, "MB/s")),
            ("Source of the limits", storage.source),
        ]
    )


def protocol_facts(case_study: CaseStudy) -> Facts:
    """Return how a case study was measured."""
    return _facts(
        [
            ("Research group", case_study.research_group or "whoever shares an author"),
            ("Length of a run", _with_unit(case_study.run_seconds, "s")),
            ("Runs averaged", case_study.repetitions),
            ("Uncounted warm-up", _with_unit(case_study.warm_up_seconds, "s")),
            ("Other load on the host", case_study.quiet_host and case_study.get_quiet_host_display()),
            ("Measured in", case_study.measured_year),
            ("Size of the files against memory", case_study.fits_cache and case_study.get_fits_cache_display()),
            ("Virtual machines at once", ", ".join(str(count) for count in case_study.vm_counts)),
            ("Value of several machines", case_study.value_scope and case_study.get_value_scope_display()),
        ]
    )


def _with_unit(value: float | None, unit: str) -> str:
    return "" if value is None else quantity(value, unit)


@dataclass
class Environment:
    """The fields that the configurations of a case study share, and those in which they differ."""

    shared: Facts
    differing: list[str]
    rows: list[tuple[Configuration, str, list[str]]]  # configuration, label, values of `differing`
    has_notes: bool


def environment(configurations: list[Configuration], labels: dict[int, str]) -> Environment:
    """Return shared and differing facts of virtual configurations; native ones, without a guest, are not compared."""
    virtual = [c for c in configurations if not c.is_native] or configurations
    values = {name: [fact(c) for c in virtual] for name, fact in FACTS}
    differing = [name for name, column in values.items() if len(set(column)) > 1]
    return Environment(
        shared=_facts((name, column[0]) for name, column in values.items() if name not in differing and column),
        differing=differing,
        rows=[(c, labels[c.pk], [fact(c) for name, fact in FACTS if name in differing]) for c in configurations],
        has_notes=any(c.note for c in configurations),
    )


def _source_table(position: int, group: list[Measurement], labels: dict[int, str], anchors: Anchors) -> SourceTable:
    first = group[0]
    by_block = len({m.block_size_bytes for m in group}) > 1
    by_vm = len({m.vm_count for m in group}) > 1 or not by_block

    def column(m: Measurement) -> int:
        return m.block_size_bytes or 0 if by_block else m.vm_count

    def row(m: Measurement) -> tuple[Any, ...]:
        return (m.configuration_id, m.vm_count if by_block and by_vm else None)

    columns, cells = _grid(group, row, column)
    footnotes: list[str] = []
    table_rows = [
        _row(labels[pk] + (f", {vm_count(count)}" if count is not None else ""), cells[pk, count], footnotes)
        for pk, count in cells
    ]
    title = _title(first) if by_vm or not by_block else f"{_title(first)}, {vm_count(first.vm_count)}"
    names = [block_size(name) if by_block else vm_count(name) for name in columns]
    source = _source(first)
    return SourceTable(
        source=source,
        anchor=anchors.claim(source),
        title=title,
        metric=METRICS[first.metric].label,
        unit=first.unit,
        columns=names,
        rows=table_rows,
        decimals=max(decimals(cell.value) for r in table_rows for cell in r.cells if cell),
        footnotes=footnotes,
        chart=_chart(
            f"chart-source-{position}",
            f"Bar chart of {source}: {title}, in {first.unit}. The table beside it has the same numbers.",
            first.unit,
            names,
            [(r.label, [(cell.value, cell.low, cell.high) if cell else None for cell in r.cells]) for r in table_rows],
        ),
    )


def _grid(
    group: list[Measurement], row: Callable[[Measurement], tuple[Any, ...]], column: Callable[[Measurement], int]
) -> tuple[list[int], dict[tuple[Any, ...], list[list[Measurement]]]]:
    """Return the columns of a table, in order, and the measurements of each cell by row, as they come."""
    columns = sorted({column(m) for m in group})
    cells: dict[tuple[Any, ...], dict[int, list[Measurement]]] = {}
    for m in group:
        cells.setdefault(row(m), {}).setdefault(column(m), []).append(m)
    return columns, {key: [of_row.get(name, []) for name in columns] for key, of_row in cells.items()}


def _surface(group: list[Measurement], labels: dict[int, str], anchors: Anchors) -> SourceTable:
    """Return a load at several depths or numbers of jobs: a column for each depth, or else for each number of jobs."""
    first, metric = group[0], METRICS[group[0].metric]
    by_depth = len({m.variant.concurrency.depth for m in group}) > 1

    def row(m: Measurement) -> tuple[int, ...]:
        jobs = m.variant.concurrency.jobs if by_depth else None
        return m.configuration_id, m.vm_count, m.block_size_bytes or 0, jobs or 0

    def words(key: tuple[int, ...], which: list[bool]) -> str:
        texts = labels[key[0]], vm_count(key[1]), key[2] and block_size(key[2]), key[3] and f"jobs: {key[3]}"
        return ", ".join(text for text in compress(texts, which) if text)

    differs = [len(set(values)) > 1 for values in zip(*map(row, group), strict=True)]
    differs[0] |= not any(differs)
    columns, grid = _grid(sorted(group, key=row), row, lambda m: m.variant.concurrency[not by_depth] or 0)
    footnotes: list[str] = []
    rows = [_row(words(key, differs), of_row, footnotes) for key, of_row in grid.items()]
    cells = [cell for line in rows for cell in line.cells if cell]
    for cell, shade in zip(cells, shades([metric.direction * log(cell.value) for cell in cells]), strict=True):
        cell.shade = shade
    asked = {"workload": first.variant.workload.slug, "operation": first.operation, "metric": metric.name}
    return SourceTable(
        source=_source(first),
        anchor=anchors.claim(_source(first)),
        title=f"{_title(first)}, {words(row(first), [not own for own in differs])}".removesuffix(", "),
        metric=metric.label,
        unit=first.unit,
        columns=[f"{'depth' if by_depth else 'jobs'} {name or 'not stated'}" for name in columns],
        rows=rows,
        decimals=max(decimals(cell.value) for cell in cells),
        footnotes=footnotes,
        chart=None,
        points=urlencode({**asked, "page_size": PageByKey.max_page_size, "format": "csv"}),
    )


def _by_source(measurements: list[Measurement]) -> list[list[Measurement]]:
    """Return the measurements of each table; those of a load at other depths and numbers of jobs stay together."""
    loads: dict[tuple[Any, ...], dict[int, list[Measurement]]] = {}
    for m in measurements:
        load = (m.variant.workload_id, m.variant.benchmark_id, m.variant.benchmark_version)
        others = str(sorted(concurrency_of(m.variant.parameters)[1].items()))
        variants = loads.setdefault((m.source, *load, others, m.operation, m.metric, m.unit), {})
        variants.setdefault(m.variant_id, []).append(m)
    tables: list[list[Measurement]] = []
    for variants in loads.values():
        whole = [m for group in variants.values() for m in group]
        tables += [whole] if _is_surface(whole) else variants.values()
    return tables


def _is_surface(group: list[Measurement]) -> bool:
    """Tell whether a configuration was measured at more than one depth or number of jobs."""
    return len({(m.configuration_id, m.variant_id) for m in group}) > len({m.configuration_id for m in group})


def _source(measurement: Measurement) -> str:
    return measurement.source or "Imported result"


def _title(measurement: Measurement) -> str:
    operation = "" if measurement.operation == "mixed" else f", {measurement.operation}"
    return f"{measurement.variant.workload.name}{operation}"


def _row(label: str, cells: list[list[Measurement]], footnotes: list[str]) -> Row:
    notes = {m.note for cell in cells for m in cell}
    shared = notes.pop() if len(notes) == 1 else ""
    marks = [_footnote(shared, footnotes)] if shared else []
    return Row(label, [_cell(cell, footnotes, skip=shared) if cell else None for cell in cells], marks)


def _cell(measurements: list[Measurement], footnotes: list[str], *, skip: str) -> Cell:
    values = [m.value for m in measurements]
    marks = []
    for m in measurements:
        if m.alternative_value is not None:
            other = f"The scan can also be read as {number(m.alternative_value)} {m.unit}."
            marks.append(_footnote(f"{other} {m.note}".strip() if m.note != skip else other, footnotes))
        if m.excluded_because:
            marks.append(_footnote(f"Not counted, by {m.excluded_by}: {m.excluded_because}", footnotes))
        elif m.note and m.note != skip and m.alternative_value is None:
            marks.append(_footnote(m.note, footnotes))
    several = len(values) > 1
    return Cell(
        value=fmean([m.value for m in measurements if not m.excluded_because] or values),
        key=measurements[0].pk,
        provenance=provenance(measurements),
        low=min(values) if several else None,
        high=max(values) if several else None,
        runs=len(values),
        is_ambiguous=any(m.alternative_value is not None for m in measurements),
        marks=sorted(set(marks)),
    )


def provenance(measurements: list[Measurement]) -> str:
    """Return where a number stands and how it came about: "Table V; Filebench 1.5; mean of 3 runs"."""
    first = measurements[0]
    where = first.source or "An imported result"
    if first.raw_file:
        where = f"{first.raw_file.name}, line {first.line}" if first.line else first.raw_file.name
    benchmark = f"{first.variant.benchmark.name} {first.variant.benchmark_version}".strip()
    machines = {m.machine for m in measurements}
    if len(measurements) > 1 and machines != {None}:
        counted = f"{len(measurements)} numbers of {len(machines)} of {first.vm_count} machines"
        runs = f"mean of {counted}, kept one by one, the first of them here"
    elif len(measurements) > 1:
        runs = f"mean of {len(measurements)} runs kept one by one, the first of them here"
    elif first.repetitions:
        runs = f"mean of {first.repetitions} runs" if first.repetitions > 1 else "one run"
    else:
        runs = "number of runs not stated"
    if len(measurements) == 1 and first.machine:
        runs = f"machine {first.machine} of {first.vm_count}, {runs}"
    deviation = first.standard_deviation
    ends = [f"{number(first.minimum)} to" if first.minimum else "up to"] if first.maximum else []
    ends += [f"{number(first.maximum)} {first.unit}"] if first.maximum else []
    ends += [f"at least {number(first.minimum)} {first.unit}"] if first.minimum and not first.maximum else []
    left_out = f"excluded by {first.excluded_by}: {first.excluded_because}" if first.excluded_because else ""
    spread = f"standard deviation {number(deviation)} {first.unit}" if deviation and len(measurements) == 1 else ""
    quality = "" if first.quality == Measurement.Quality.EXACT else first.get_quality_display()
    return "; ".join(filter(None, [where, benchmark, runs, spread, " ".join(ends), quality, left_out]))


def _footnote(text: str, footnotes: list[str]) -> int:
    if text not in footnotes:
        footnotes.append(text)
    return footnotes.index(text) + 1


def _derived_chart(position: int, source: str, values: list[DerivedValue], labels: dict[int, str]) -> dict[str, Any]:
    counts = sorted({v.vm_count for v in values if v.vm_count is not None})
    rows = list(dict.fromkeys(v.configuration_id for v in values))
    bars = {(v.configuration_id, v.vm_count): (v.value, v.low, v.high) for v in values}
    unit = values[0].unit
    if len(counts) == 1:  # a bar for each configuration reads better than one group of bars
        names = [labels[pk] for pk in rows]
        series = [(vm_count(counts[0]), [bars.get((pk, counts[0])) for pk in rows])]
    else:
        names = [vm_count(count) for count in counts]
        series = [(labels[pk], [bars.get((pk, count)) for count in counts]) for pk in rows]
    label = f"Bar chart of the values derived from {source} that rankings use, in {unit}, with their intervals."
    return _chart(f"chart-derived-{position}", label, unit, names, series, horizontal=len(counts) == 1)


def _chart(
    chart_id: str,
    label: str,
    unit: str,
    names: list[str],
    series: list[tuple[str, list[tuple[Any, ...] | None]]],
    *,
    horizontal: bool = False,
) -> dict[str, Any]:
    """Return the chart that templates/includes/_chart.html and static/js/kdb.js read."""
    return {
        "id": chart_id,
        "data_id": f"{chart_id}-data",
        "size": "short" if horizontal and len(names) < 6 else "",
        "label": label,
        "data": {
            "kind": "bar",
            "horizontal": horizontal,
            "unit": unit,
            "axis": unit,
            "labels": names,
            "series": [
                {
                    "name": name,
                    "points": [
                        None if point is None else {"value": point[0], "low": point[1], "high": point[2]}
                        for point in points
                    ],
                }
                for name, points in series
            ],
            "tones": None,
            "reference": None,
        },
    }
