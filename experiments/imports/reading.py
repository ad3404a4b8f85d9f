"""Read one import: from stored bytes to a report and, where it was confirmed, to rows.

Reading and filing are the same walk over the files. What differs is that filing keeps the rows, and writes them where
the report has no faults.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from time import monotonic
from typing import IO, Any, NamedTuple

from django.conf import settings
from django.db.models import Count, Max

from experiments.case_studies import measurement_rows, ownership
from experiments.case_studies.lifecycle import audit
from experiments.case_studies.measurement_rows import MeasurementRow
from experiments.catalogue import services
from experiments.models import (
    AuditEntry,
    Benchmark,
    CaseStudy,
    Configuration,
    HostStorage,
    ImportBatch,
    Measurement,
    RawChunk,
    RawFile,
    Workload,
    WorkloadVariant,
)
from experiments.models.catalogue import CatalogueEntry
from experiments.readers.base import Part, Reading, Run, text_of
from experiments.readers.reading_process import NotRead, ReadingProcess
from experiments.readers.table import Fault, Table
from experiments.records.checklist import disks_of
from experiments.records.files import raw_files
from experiments.rules.entry_names import Names, Spelled, fold
from experiments.rules.names import spelled

from . import lint
from .cells import Cells
from .normalise import (
    EMPTY,
    KINDS,
    NAMED,
    REFERENCES,
    Normaliser,
    Row,
    Source,
    Unknown,
    Values,
    Variant,
    figures_of,
    first_few,
    source_of_reading,
    source_of_rows,
)
from .report import MAX_FAULTS, FoundFault, ListedPart, NewName, ReadFile, Report, UnknownName

ROWS_AT_ONCE = 5_000
SAMPLE_ROWS = 50  # shown in the report
_VARIANT = Row._fields.index("variant")
COLUMN = "column"  # a kind of unknown name, in addition to the kinds of the catalogue

State = ImportBatch.State


class NoLongerWanted(Exception):  # noqa: N818 - an event, not a mistake
    """The import was discarded, or given to another job, during the reading."""


class FileContents:
    """The content of an import's files, parsed in a process with limits; files that came with rows are not parsed.

    Used as a context manager, inside the attempt of the job that reads.
    """

    def __init__(
        self, batch: ImportBatch, job_id: int, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> None:
        """progress : called with the number of files read and their total"""
        self.batch, self.job_id, self.progress = batch, job_id, progress
        self.deadline = monotonic() + settings.KDB_READ_SECONDS
        self.outcomes: dict[int, int | NotRead] = {}
        self.process = ReadingProcess()

    def __enter__(self) -> "FileContents":
        """Read every file that is not left out. Raises NoLongerWanted."""
        with ExitStack() as stack:
            stack.enter_context(self.process)
            files = list(self.batch.files.order_by("pk"))
            for number, file in enumerate(files):
                self.progress(number, len(files))
                if file.rows or is_left_out(self.batch, file):
                    continue
                try:
                    self.check()
                    columns = self.batch.answers.get("columns")
                    self.outcomes[file.pk] = self.process.read(raw_files.chunks(file), self.check, columns=columns)
                except RawChunk.DoesNotExist as gone:
                    raise NoLongerWanted from gone
                except NotRead as problem:
                    self.outcomes[file.pk] = problem
            self.check_wanted()
            stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self.process.__exit__(*error)

    def check(self) -> None:
        """Raise NotRead where the time is used up, NoLongerWanted where nobody needs the result."""
        if monotonic() > self.deadline:
            raise NotRead(
                f"more than {settings.KDB_READ_SECONDS} s for all files of the import",
                "an import that is read in that time: divide it",
            )
        self.check_wanted()

    def check_wanted(self) -> None:
        """Raise NoLongerWanted where the import was discarded or given to another job."""
        if not ImportBatch.objects.filter(pk=self.batch.pk, job_id=self.job_id, state=State.READING).exists():
            raise NoLongerWanted

    def content_of(self, file: RawFile) -> Reading | Table:
        """Return the content of a file that was read. Raises NotRead."""
        place = self.outcomes[file.pk]
        if isinstance(place, NotRead):
            raise place
        return self.process.content(place)


def is_left_out(batch: ImportBatch, file: RawFile) -> bool:
    return batch.answers.get("files", {}).get(file.sha256, {}).get("leave_out", False)


class ImportReader:
    """One walk over the files of one import, from what they hold to a report. Writes nothing."""

    def __init__(self, batch: ImportBatch, contents: FileContents, progress: Callable[[int], None]) -> None:
        self.batch, self.case_study, self.contents, self.progress = batch, batch.case_study, contents, progress
        self.basis = _read_basis(self.case_study)  # first: what changes from here on makes the walk outdated
        self.report = Report()
        self.faults: dict[tuple[Any, ...], FoundFault] = {}
        self.unknown: dict[tuple[Any, ...], UnknownName] = {}
        self.cells = Cells(self.case_study)
        # Files by the line and the figures of their first run: only such can have the same text.
        self.alike: dict[tuple[Any, ...], list[RawFile]] = {}
        self.texts: dict[int, bytes] = {}
        answers = batch.answers
        known = {kind: spelled(kind, names) for kind, names in self.basis.names.items()}
        self.volumes = HostStorage.volumes()
        self.names = Names(known, self._mapped_names(answers), self.volumes)
        self.normaliser = Normaliser(self.names, self.basis.configurations)

    def _mapped_names(self, answers: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        """Return kind to folded name to slug, of the names that the user mapped or wants created."""
        mapped: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
        slugs = {kind: {slug for slug, *_ in names} for kind, names in self.basis.names.items()}
        for kind, names in answers.get("names", {}).items():
            for name, slug in names.items():
                if slug in slugs[kind]:
                    mapped[kind][fold(name)] = slug
                else:
                    self.fault("", Fault(None, kind, slug, f"a slug of the catalogue, for {name}"))
        for kind, wanted in answers.get("create", {}).items():
            for name, fields in wanted.items():
                try:
                    entry = services.new_entry(kind, name, fields, source=f"{self.case_study.slug}, {self.batch}")
                except services.EntryError as error:
                    self.fault("", Fault(None, kind, name, str(error)))
                    continue
                mapped[kind][fold(name)] = entry.slug
                if isinstance(entry, HostStorage) and entry.kind == HostStorage.Kind.VOLUME:
                    self.volumes.add(entry.slug)
                self.new_name(kind, entry)
        return mapped

    def new_name(self, kind: str, entry: CatalogueEntry) -> None:
        self.report.new_names.append(NewName(kind, entry.slug, entry.name))

    def read(self) -> Report:
        """Read every file that is not left out, and return the report of what would be imported."""
        for file in self.batch.files.order_by("pk"):
            self.read_file(file)
        report = self.report
        report.faults = list(self.faults.values())
        report.unknown = list(self.unknown.values())
        report.suggested = self.suggest_context()
        report.new_configurations = list(self.normaliser.new)
        if not report.fault_count and not report.unknown:
            report.lint = lint.check(self.draft_facts())
        return report

    def suggest_context(self) -> dict[str, str]:
        """Return the context that facts in the files suggest, where they agree and the catalogue knows the name."""
        values: dict[str, set[str]] = {}
        for about in self.report.files:
            for fact in about.facts:
                if (name := fact["fills"]) in NAMED:
                    text = self.names.find(NAMED[name], str(fact["value"])) or ""
                else:
                    text = f"{fact['value']:g}" if isinstance(fact["value"], float) else str(fact["value"])
                if name:
                    values.setdefault(name, set()).add(text)
        return {name: value for name, agreed in values.items() if len(agreed) == 1 and (value := min(agreed))}

    def read_file(self, file: RawFile) -> None:
        about = ReadFile(file.name, file.sha256, file.size_bytes, left_out=is_left_out(self.batch, file))
        self.report.files.append(about)
        if about.left_out:
            return
        context = {**self.batch.answers.get("context", {}), **self.answers_about(file).get("context", {})}
        try:
            self.read_rows(file, context, about)
        except NotRead as problem:
            self.fault(file.name, Fault(None, "file", *problem.args))

    def answers_about(self, file: RawFile) -> dict[str, Any]:
        answers: dict[str, Any] = self.batch.answers.get("files", {}).get(file.sha256, {})
        return answers

    def read_rows(self, file: RawFile, context: Mapping[str, str], about: ReadFile) -> None:
        """Read the rows of a file into the report. Raises NotRead."""
        lines = chain.from_iterable(map(self.normaliser.rows, self.sources(file, context, about)))
        while chunk := list(islice(lines, ROWS_AT_ONCE)):
            rows = [item for item in chunk if isinstance(item, Row)]
            for item in chunk if len(rows) < len(chunk) else ():
                if isinstance(item, Fault):
                    self.fault(file.name, item)
                elif isinstance(item, Unknown):
                    self.unknown_name(file.name, item)
            self.number_repetitions(file, rows)
            about.rows += len(rows)
            self.report.rows += len(rows)
            self.progress(self.report.rows)
            self.contents.check()

    def sources(self, file: RawFile, context: Mapping[str, str], about: ReadFile) -> Iterator[Source]:
        if file.rows:
            about.format = "campaign" if self.batch.door == ImportBatch.Door.CAMPAIGN else "table"
            yield source_of_rows(file.rows, context)
            return
        content = self.contents.content_of(file)
        if isinstance(content, Table):
            about.format = content.format
            for fault in content.faults:
                self.fault(file.name, fault)
            for fault in content.unknown:
                self.unknown_name(file.name, Unknown(fault.line, COLUMN, fault.found))
            if not content.faults:
                yield Source(content.fields, content.rows, context)
            return
        parts = content.parts or ((Part("", 1, content),) if content.runs else ())
        about.describe(content, parts)
        if content.facts:
            return
        if not parts:
            for refusal in content.refused:
                self.fault(file.name, Fault(refusal.line, "file", refusal.reason, "a result, or leave the file out"))
            return
        if twin := self.find_twin(file, content.format, parts[0].reading.runs[0]):
            expected = "each result once: leave this file out"
            self.fault(file.name, Fault(None, "file", f"the text of {twin} again", expected))
            return
        about.parts = [ListedPart(part.name, part.line, len(part.reading.runs)) for part in content.parts]
        yield from self.sources_of_parts(file.name, parts, context, self.answers_about(file))

    def sources_of_parts(
        self, file_name: str, parts: Sequence[Part], context: Mapping[str, str], answers: Mapping[str, Any]
    ) -> Iterator[Source]:
        """Yield each part as a source; the context of a run overrides its part's, and that the file's."""
        runs, of_parts, known = dict(answers.get("runs", {})), answers.get("parts", {}), list[str]()
        for name in of_parts.keys() - {part.name for part in parts}:
            self.fault(file_name, Fault(None, "parts", name, f"one of {', '.join(part.name for part in parts)}"))
        for part in parts:
            lines = dict.fromkeys(str(run.line) for run in part.reading.runs)
            known += lines
            own = {line: runs.pop(line) for line in lines if line in runs}
            of_part = of_parts.get(part.name, {})
            if of_part.get("leave_out"):
                continue
            if part.name and not of_part.get("context") and own.keys() != lines.keys():
                count = len(part.reading.runs)
                printed = f"{part.name}, with {count:,} run{'s' if count != 1 else ''}"
                self.fault(file_name, Fault(part.line, "part", printed, "what it ran on, said of it; or leave it out"))
                continue
            yield source_of_reading(part.reading, {**context, **of_part.get("context", {})}, own)
        for line in runs:
            self.fault(
                file_name, Fault(None, "runs", f"line {line}", f"a line on which a run stands: {first_few(known)}")
            )

    def find_twin(self, file: RawFile, format_name: str, run: Run) -> str | None:
        """Return the name of a file with the same text but other line ends or encoding. run : the first of the file"""
        figures = [*figures_of(run)]
        metric, value = figures[0]
        rows = Measurement.objects.filter(line=run.line, metric=metric, value=value)
        rows = rows.filter(raw_file__case_study=self.case_study, raw_file__format=format_name)
        filed = RawFile.objects.filter(pk__in=rows.values("raw_file")).exclude(batch=self.batch)
        alike = self.alike.setdefault((run.line, *figures), [])
        others = [*alike, *filed]
        alike.append(file)
        return next((other.name for other in others if self.text_of(other) == self.text_of(file)), None)

    def text_of(self, file: RawFile) -> bytes:
        """Return the SHA-256 of a file's text, the same for all line ends and encodings; each file is read once."""
        if file.pk not in self.texts:
            lines = text_of(raw_files.content(file)).splitlines()
            self.texts[file.pk] = hashlib.sha256("\n".join(lines).encode(errors="replace")).digest()
        return self.texts[file.pk]

    def number_repetitions(self, file: RawFile, rows: list[Row]) -> list[tuple[Row, int]]:
        """Add the rows to their cells; return each with its repetition number, but for those that do not fit."""
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
            self.faults[key].count += 1
        elif len(self.faults) < MAX_FAULTS:
            self.faults[key] = FoundFault(file_name, fault.line, fault.field, fault.found, fault.expected)

    def unknown_name(self, file_name: str, unknown: Unknown) -> None:
        key = (unknown.kind, unknown.name if unknown.kind == COLUMN else fold(unknown.name))
        if key in self.unknown:
            self.unknown[key].count += 1
        elif len(self.unknown) < MAX_FAULTS:
            self.unknown[key] = UnknownName(file=file_name, **unknown._asdict())

    def draft_facts(self) -> lint.DraftFacts:
        return lint.DraftFacts(
            cells=tuple(self.cells.counted()),
            configurations=self.normaliser.configurations,
            server_ram_gib=self.case_study.server.ram_gib,
            disks=disks_of(self.case_study),
            value_scope=self.case_study.value_scope,
            run_seconds=self.case_study.run_seconds,
            repetitions=self.case_study.repetitions,
            is_described=bool(self.case_study.procedure.strip()),
            whole_seconds=settings.KDB_WHOLE_RUN_SECONDS,
        )


class Outdated(Exception):  # noqa: N818
    """The draft or the catalogue changed during the reading: it has to be done again."""


class ImportFiler(ImportReader):
    """A reader that spools its rows to a temporary file, so that the transaction which stores them is short.

    On SQLite, all other writers wait for that transaction.
    """

    def __init__(
        self, batch: ImportBatch, contents: FileContents, progress: Callable[[int], None], row_file: IO[bytes]
    ) -> None:
        """row_file : an empty file, for the rows"""
        self.new_entries: list[CatalogueEntry] = []
        self.row_file = row_file
        super().__init__(batch, contents, progress)

    def new_name(self, kind: str, entry: CatalogueEntry) -> None:
        super().new_name(kind, entry)
        self.new_entries.append(entry)

    def number_repetitions(self, file: RawFile, rows: list[Row]) -> list[tuple[Row, int]]:
        numbered = super().number_repetitions(file, rows)
        if not self.report.fault_count and not self.unknown:
            self.row_file.write(json.dumps([file.pk, numbered]).encode() + b"\n")
        return numbered

    def write(self, case_study: CaseStudy) -> None:
        """Write the rows of a reading without faults. Raises Outdated.

        case_study : locked by the caller's transaction
        """
        if _read_basis(case_study) != self.basis:
            raise Outdated
        self.case_study = case_study
        for entry in self.new_entries:
            if entry.pk is None:
                entry.save()
        configuration_ids = dict(self.case_study.configurations.values_list("slug", "pk"))
        for slug in self.normaliser.new:
            configuration_ids[slug] = self.add_configuration(slug)
        variant_ids: dict[Variant, int] = {}
        vm_counts = set(self.case_study.vm_counts)
        self.row_file.seek(0)
        for line in self.row_file:
            file_id, rows = json.loads(line)
            numbered = [(Row._make(row)._replace(variant=Variant._make(row[_VARIANT])), number) for row, number in rows]
            for variant in dict.fromkeys(row.variant for row, _ in numbered):  # in the order of the files, on every run
                if variant not in variant_ids:
                    variant_ids[variant] = self.variant_id(variant)
            vm_counts.update(row.vm_count for row, _ in numbered)
            measurement_rows.write(
                _stored_row(row, repetition, file_id, configuration_ids[row.configuration], variant_ids[row.variant])
                for row, repetition in numbered
            )
        CaseStudy.objects.filter(pk=self.case_study.pk).update(vm_counts=sorted(vm_counts - {0}))
        ownership.delete_unused()  # names to be created that no row has
        detail = f"{self.batch}: {self.report.rows:,} measurements from {len(self.report.files):,} files"
        audit(self.case_study, self.batch.uploaded_by, AuditEntry.Action.IMPORTED, detail)

    def add_configuration(self, slug: str) -> int:
        values = dict(self.normaliser.configurations[slug])
        if backend := values.get("backend"):  # locked, so that nobody deletes it as unused meanwhile
            HostStorage.objects.select_for_update().get(slug=backend)
        for name, kind in REFERENCES.items():
            if name in values:
                values[name] = services.MODELS[kind]._default_manager.get(slug=values[name]) if values[name] else None
        return Configuration.objects.create(case_study=self.case_study, slug=slug, **values).pk

    @staticmethod
    def variant_id(variant: Variant) -> int:
        return WorkloadVariant.objects.for_parameters(
            workload=Workload.objects.get(slug=variant.workload),
            benchmark=Benchmark.objects.get(slug=variant.benchmark),
            benchmark_version=variant.benchmark_version,
            parameters=json.loads(variant.parameters),
        ).pk


class _Basis(NamedTuple):
    """What a walk over files depends on besides them. names : by kind; rows, last : of the measurements"""

    names: dict[str, list[Spelled]]
    configurations: dict[str, Values]
    study: Mapping[str, Any]
    rows: int
    last: int | None


def _read_basis(case_study: CaseStudy) -> _Basis:
    rows = Measurement.objects.filter(configuration__case_study=case_study)
    study = CaseStudy.objects.values("value_scope", "storage_id", "vm_counts").get(pk=case_study.pk)
    counted = rows.order_by().aggregate(rows=Count("pk"), last=Max("pk"))
    return _Basis(services.known_names(case_study), _configurations(case_study), study, **counted)


def _stored_row(row: Row, repetition: int, file_id: int, configuration_id: int, variant_id: int) -> MeasurementRow:
    columns = row._asdict()
    for name in ("configuration", "variant", "working_set_bytes"):
        del columns[name]
    ids = {"configuration_id": configuration_id, "variant_id": variant_id, "raw_file_id": file_id}
    return MeasurementRow(**columns | ids | {"repetition": repetition})


def _configurations(case_study: CaseStudy) -> dict[str, Values]:
    """Return slug to values of the case study's configurations, in the form that the normaliser compares."""
    paths = {name: f"{name}__slug" if name in REFERENCES else name for name in EMPTY}
    rows = case_study.configurations.order_by("pk").values_list("slug", *paths.values())
    return {slug: dict(zip(paths, values, strict=True)) for slug, *values in rows}
