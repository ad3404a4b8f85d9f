"""One reading of one import: from kept bytes to a report, and where it was confirmed to rows.

Reading and filing are the same walk over the files. What differs is that filing writes, inside a
transaction of its caller, who takes everything back where the report turns out faulty.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from experiments import importers, lint
from experiments.importers import table
from experiments.importers.table import Fault
from experiments.models import AuditEntry, CaseStudy, Configuration, ImportBatch, RawFile, WorkloadVariant
from experiments.normalise import (
    EMPTY,
    KINDS,
    REFERENCES,
    Names,
    Normaliser,
    Row,
    Source,
    Unknown,
    Values,
    Variant,
    fold,
    source_of_reading,
    source_of_table,
)
from experiments.services import belongings, catalogue, measurement_rows, raw_files
from experiments.services.case_studies import audit
from experiments.services.import_cells import Cells

ROWS_AT_ONCE = 5_000
SAMPLE_ROWS = 50  # shown in the report
MAX_FAULTS = 200  # listed in the report; all are counted

State = ImportBatch.State


@dataclass
class Report:
    """What one reading found, as plain values.

    rows : measurements that come in
    files : each {"name", "sha256", "size_bytes", "format", "tool_version", "rows", "refused", "warnings", "left_out"}
    faults : each {"file", "line", "field", "found", "expected", "count"}: the first line of each kind of fault
    unknown : each {"kind", "name", "file", "line", "count"}
    lint : each {"rule", "severity", "message", "places"}
    sample : the first rows, as the case study will have them
    """

    rows: int = 0
    files: list[dict] = field(default_factory=list)
    faults: list[dict] = field(default_factory=list)
    fault_count: int = 0
    unknown: list[dict] = field(default_factory=list)
    lint: list[dict] = field(default_factory=list)
    sample: list[dict] = field(default_factory=list)
    new_configurations: list[str] = field(default_factory=list)
    new_names: list[dict] = field(default_factory=list)

    @property
    def state(self) -> State:
        has_errors = any(finding["severity"] == "error" for finding in self.lint)
        return State.FAULTY if self.fault_count or self.unknown or has_errors or not self.rows else State.READY


class Reading:
    """One reading of one import: from bytes to a report. Writes nothing."""

    def __init__(self, batch: ImportBatch, progress: Callable[[int], None]) -> None:
        self.batch, self.case_study, self.progress = batch, batch.case_study, progress
        self.report = Report()
        self.faults: dict[tuple, dict] = {}
        self.unknown: dict[tuple, dict] = {}
        self.cells = Cells(self.case_study)
        answers = batch.answers
        self.names = Names(catalogue.spellings(self.case_study), self._mapped_names(answers))
        self.normaliser = Normaliser(self.names, _configurations(self.case_study))

    def _mapped_names(self, answers: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        """What the user mapped, and what is to be created, by folded name."""
        mapped: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
        slugs = catalogue.slugs(self.case_study)
        for kind, names in answers.get("names", {}).items():
            for name, slug in names.items():
                if slug in slugs[kind]:
                    mapped[kind][fold(name)] = slug
                else:
                    self.fault("", Fault(None, kind, slug, f"a slug of the catalogue, for {name}"))
        for kind, wanted in answers.get("create", {}).items():
            for name, fields in wanted.items():
                try:
                    entry = catalogue.new_entry(kind, name, fields, source=f"{self.case_study.slug}, {self.batch}")
                except catalogue.EntryError as error:
                    self.fault("", Fault(None, kind, name, str(error)))
                    continue
                mapped[kind][fold(name)] = entry.slug
                self.new_name(kind, entry)
        return mapped

    def new_name(self, kind: str, entry) -> None:
        self.report.new_names.append({"kind": kind, "slug": entry.slug, "name": entry.name})

    def do(self) -> Report:
        for file in self.batch.files.order_by("pk"):
            self.read_file(file)
        report = self.report
        report.faults = list(islice(self.faults.values(), MAX_FAULTS))
        report.unknown = list(self.unknown.values())
        report.new_configurations = list(self.normaliser.new)
        if not report.fault_count and not report.unknown:
            report.lint = [asdict(finding) for finding in lint.check(self.facts())]
        return report

    def read_file(self, file: RawFile) -> None:
        said = self.batch.answers.get("files", {}).get(file.sha256, {})
        about = {
            **{
                "name": file.name,
                "sha256": file.sha256,
                "size_bytes": file.size_bytes,
                "format": "",
                "tool_version": "",
            },
            **{"rows": 0, "refused": [], "warnings": [], "left_out": said.get("leave_out", False)},
        }
        self.report.files.append(about)
        if about["left_out"]:
            return
        context = {**self.batch.answers.get("context", {}), **said.get("context", {})}
        source = self.source(file, context, about)
        if source is None:
            return
        lines = self.normaliser.rows(source)
        while chunk := list(islice(lines, ROWS_AT_ONCE)):
            rows = [item for item in chunk if isinstance(item, Row)]
            for item in chunk if len(rows) < len(chunk) else ():
                if isinstance(item, Fault):
                    self.fault(file.name, item)
                elif isinstance(item, Unknown):
                    self.unknown_name(file.name, item)
            self.take(file, rows)
            about["rows"] += len(rows)
            self.report.rows += len(rows)
            self.progress(self.report.rows)

    def source(self, file: RawFile, context: Mapping[str, str], about: dict) -> Source | None:
        data = raw_files.content(file)
        if table.recognises(data):
            found = table.read_table(data)
            about["format"] = found.format
            for fault in found.faults:
                self.fault(file.name, fault)
            return None if found.faults else source_of_table(found, context)
        reading = importers.read(data)
        about["format"], about["tool_version"] = reading.format, reading.tool_version
        about["refused"] = [{"line": refusal.line, "reason": refusal.reason} for refusal in reading.refused]
        about["warnings"] = _warnings(reading)
        if not reading.runs:
            for refusal in reading.refused:
                self.fault(file.name, Fault(refusal.line, "file", refusal.reason, "a result, or leave the file out"))
            return None
        return source_of_reading(reading, context)

    def take(self, file: RawFile, rows: list[Row]) -> list[tuple[Row, int]]:
        """Count the rows into their cells; each with the number of its repetition."""
        numbered = []
        for row in rows:
            outcome = self.cells.add(row, file.name)
            if isinstance(outcome, Fault):
                self.fault(file.name, outcome)
            else:
                numbered.append((row, outcome))
        for row, repetition in numbered[: SAMPLE_ROWS - len(self.report.sample)]:
            shown = {**row._asdict(), **row.variant._asdict(), "repetition": repetition, "file": file.name}
            del shown["variant"], shown["working_set_bytes"]
            self.report.sample.append(shown)
        return numbered

    def fault(self, file_name: str, fault: Fault) -> None:
        self.report.fault_count += 1
        key = (file_name, fault.field, fault.found, fault.expected)
        if key in self.faults:
            self.faults[key]["count"] += 1
        elif len(self.faults) < MAX_FAULTS:
            self.faults[key] = {"file": file_name, **asdict(fault), "count": 1}

    def unknown_name(self, file_name: str, unknown: Unknown) -> None:
        key = (unknown.kind, fold(unknown.name))
        if key in self.unknown:
            self.unknown[key]["count"] += 1
        elif len(self.unknown) < MAX_FAULTS:
            self.unknown[key] = {"file": file_name, **unknown._asdict(), "count": 1}

    def facts(self) -> lint.Facts:
        storage, server = self.case_study.storage, self.case_study.server
        return lint.Facts(
            cells=tuple(self.cells.facts()),
            configurations=self.normaliser.configurations,
            server_ram_gib=server.ram_gib,
            sequential_read_limit=storage.sequential_read_limit,
            sequential_write_limit=storage.sequential_write_limit,
            interface_limit=storage.interface_limit,
            value_scope=self.case_study.value_scope,
        )


class Filing(Reading):
    """A reading that writes the rows; the caller's transaction takes them back where a fault turns up."""

    def __init__(self, batch: ImportBatch) -> None:
        # Nobody sees progress before the commit; the lease is renewed by its own thread.
        super().__init__(batch, progress=lambda rows: None)
        self.configuration_ids = dict(self.case_study.configurations.values_list("slug", "pk"))
        self.variant_ids: dict[Variant, int] = {}
        self.vm_counts = set(self.case_study.vm_counts)

    def new_name(self, kind: str, entry) -> None:
        super().new_name(kind, entry)
        if entry.pk is None:
            entry.save()

    def take(self, file: RawFile, rows: list[Row]) -> list[tuple[Row, int]]:
        numbered = super().take(file, rows)
        if self.report.fault_count or self.unknown:
            return numbered
        for slug in self.normaliser.new:
            if slug not in self.configuration_ids:
                self.configuration_ids[slug] = self.add_configuration(slug)
        for variant in {row.variant for row, _ in numbered} - self.variant_ids.keys():
            self.variant_ids[variant] = self.variant(variant)
        self.vm_counts.update(row.vm_count for row, _ in numbered)
        measurement_rows.write(
            (
                self.configuration_ids[row.configuration],
                self.variant_ids[row.variant],
                *row[3:11],
                repetition,
                *row[12:16],
                file.pk,
                row.line,
            )
            for row, repetition in numbered
        )
        return numbered

    def add_configuration(self, slug: str) -> int:
        values = dict(self.normaliser.configurations[slug])
        for name, kind in REFERENCES.items():
            if name in values:
                values[name] = catalogue.MODELS[kind].objects.get(slug=values[name]) if values[name] else None
        return Configuration.objects.create(case_study=self.case_study, slug=slug, **values).pk

    @staticmethod
    def variant(variant: Variant) -> int:
        return WorkloadVariant.objects.for_parameters(
            workload=catalogue.MODELS["workload"].objects.get(slug=variant.workload),
            benchmark=catalogue.MODELS["benchmark"].objects.get(slug=variant.benchmark),
            benchmark_version=variant.benchmark_version,
            parameters=json.loads(variant.parameters),
        ).pk

    def do(self) -> Report:
        report = super().do()
        CaseStudy.objects.filter(pk=self.case_study.pk).update(vm_counts=sorted(self.vm_counts - {0}))
        belongings.forget()  # names to be created that no row has
        detail = f"{self.batch}: {report.rows:,} measurements from {len(report.files):,} files"
        audit(self.case_study, self.batch.uploaded_by, AuditEntry.Action.IMPORTED, detail)
        return report


def _warnings(reading: importers.Reading) -> list[dict]:
    counts = Counter((run.line, warning) for run in reading.runs for warning in run.warnings)
    return [{"line": line, "warning": warning} for line, warning in islice(counts, MAX_FAULTS)]


def _configurations(case_study: CaseStudy) -> dict[str, Values]:
    """Slug to values of the case study's configurations, in the form that the normaliser compares."""
    paths = {name: f"{name}__slug" if name in REFERENCES else name for name in EMPTY}
    rows = case_study.configurations.order_by("pk").values_list("slug", *paths.values())
    return {slug: dict(zip(paths, values, strict=True)) for slug, *values in rows}
