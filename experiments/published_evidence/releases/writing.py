"""Write a release: an RO-Crate in one ZIP. The same evidence, options and key give the same bytes.

Members are stored uncompressed, as zlib versions differ, and without the time of day.
"""

import csv
import hashlib
import json
import re
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.case_studies import bundle_schema, bundles
from experiments.models import CaseStudy, Host, KnowledgeRevision, LoadedCaseStudy, ObservedMachine, RawFile
from experiments.models.case_study import LICENCE
from experiments.readers.bundle import DERIVED, DOCUMENT, FILES, MEASUREMENTS
from experiments.records import visible
from experiments.records.files import raw_files
from kdb.models import Installation
from kdb.operations.atomic_files import atomic_file

from . import ReleaseError, manifest, measurement_table, ro_crate, signing
from .digests import digest
from .redaction import Redaction
from .ro_crate import CRATE, MANIFEST, SIGNATURE, ReleaseFile, Source

_EPOCH = (1980, 1, 1, 0, 0, 0)
_MEMBER_MODE = 0o100644 << 16
_CHUNK = 2**20
_MIN_NAME = 4  # characters of a machine's name to redact; "db" and "web" are common words


@dataclass(frozen=True)
class ReleaseOptions:
    """Options of a release. only : slugs of case studies; empty: all that are published
    drop : further words to redact; with_files : include the raw files, which are not redacted"""

    name: str = ""
    address: str = ""
    licence: str = "CC-BY-4.0"
    creators: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    with_files: bool = False


@dataclass
class Summary:
    """The content of a release. redacted : case study to each redacted text and its replacement"""

    number: int = 0
    case_studies: list[str] = field(default_factory=list)
    measurements: int = 0
    redacted: dict[str, dict[str, str]] = field(default_factory=dict)
    files_left_out: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    size_bytes: int = 0


def preview(options: ReleaseOptions) -> Summary:
    """Return what a release would hold, and write nothing. Raises ReleaseError."""
    with tempfile.TemporaryDirectory(prefix="kdb-release-") as folder:
        return _Writer(options, Path(folder)).write()


def write(file: Path, options: ReleaseOptions) -> Summary:
    """Write the release. Raises ReleaseError or OSError; what was at `file` is there then."""
    with tempfile.TemporaryDirectory(prefix="kdb-release-") as name:
        folder = Path(name)
        summary = _Writer(options, folder).write()
        listed, crate = ((folder / name).read_bytes() for name in (MANIFEST, CRATE))
        (folder / SIGNATURE).write_text(signing.sign(listed, crate, signing.own_key()))
        with atomic_file(file) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for name in _file_names(folder):
                info = zipfile.ZipInfo(name, _EPOCH)
                info.external_attr = _MEMBER_MODE
                info.create_system = 3  # Unix, wherever it is written
                with archive.open(info, "w", force_zip64=True) as member, (folder / name).open("rb") as source:
                    shutil.copyfileobj(source, member, _CHUNK)
        summary.size_bytes = file.stat().st_size
    return summary


def _file_names(folder: Path) -> list[str]:
    """Return the names of all files in the order of the archive: first those that are read first."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    first = [CRATE, "README.md", MANIFEST, SIGNATURE]
    return sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))


class _Writer:
    """Writes the files of a release into a folder."""

    def __init__(self, options: ReleaseOptions, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.summary = Summary()
        self.files: dict[str, ReleaseFile] = {}
        self.names = _known_names(options.drop)
        installation, _ = Installation.objects.get_or_create(pk=1)
        identity = str(installation.identity)
        self.origin = manifest.Publisher(identity, options.name or f"KDB {identity[:8]}", options.address)

    def write(self) -> Summary:
        case_studies = _released_case_studies(self.options.only)
        latest = KnowledgeRevision.objects.order_by("-number").first()
        if latest is None or not case_studies:
            raise ReleaseError("Nothing is published, so there is nothing to release.")
        if not re.fullmatch(LICENCE, self.options.licence):
            raise ReleaseError(f"{self.options.licence!r}: an identifier of the SPDX list is expected, as CC-BY-4.0.")
        self.summary.number = latest.number
        entries, sources = [], []
        with self._place("measurements.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(measurement_table.COLUMNS)
            for case_study in case_studies:
                entry, source = self._case_study(case_study, table)
                entries.append(entry)
                sources.append(source)
        if KnowledgeRevision.now() != latest.number:
            raise ReleaseError("Something was published or retracted meanwhile; write the release again.")
        release = ro_crate.Release(
            identity=self.origin.identity,
            name=self.origin.name,
            address=self.origin.address,
            number=latest.number,
            made_on=latest.created_at.date(),
            licence=self.options.licence,
            creators=self.options.creators,
            sources=sources,
            files=[
                self._describe("measurements.csv", "text/csv", "All measurements, a row a number."),
                self._json(
                    "case-study.schema.json", bundle_schema.schema(), "JSON Schema of each case study's document."
                ),
                self._json("release.schema.json", manifest.SCHEMA, f"JSON Schema of {MANIFEST}."),
                self._text("README.md", _README, "text/markdown", "What the files are, for people."),
            ],
        )
        listing = manifest.Manifest(
            origin=self.origin,
            number=latest.number,
            made_on=release.made_on.isoformat(),
            case_studies=entries,
            files={name: file.sha256 for name, file in sorted(self.files.items())},
        )
        data = manifest.to_json(listing)
        manifest.parse(data)  # raises where the manifest could not be loaded again
        self._place(MANIFEST).write_bytes(data)
        listed = self._describe(MANIFEST, "application/json", "Origin, revision, and SHA-256 of every file.")
        self._json(CRATE, ro_crate.metadata(replace(release, files=[*release.files, listed])), "")
        return self.summary

    def _case_study(self, case_study: CaseStudy, table: Any) -> tuple[manifest.Entry, Source]:
        """Write the folder of a case study, and its rows of the table of all measurements."""
        redaction = Redaction(self.names)
        document = redaction.redact_document(bundles.document(case_study))
        raw = list(case_study.raw_files.order_by("sha256"))
        if not self.options.with_files:
            document["files"] = []
            self.summary.files_left_out[case_study.slug] += len(raw)
        path = f"case-studies/{case_study.slug}/"
        for name, lines in bundles.tables(case_study):
            rows = redaction.redact_rows(lines if self.options.with_files else _without_files(lines, raw, redaction))
            self._table(path + name, rows)
        self._json(path + DOCUMENT, document, "The case study: configurations, workloads, findings, claims, sources.")
        for file in raw if self.options.with_files else []:
            with self._place(f"{path}{FILES}{file.sha256}").open("wb") as place:
                place.writelines(raw_files.chunks(file))
            self._describe(f"{path}{FILES}{file.sha256}", "application/octet-stream", f"{file.name}, as it came.")
        measurements = 0
        for row in measurement_table.rows(case_study, document, self._read(path + MEASUREMENTS)):
            table.writerow(row)
            measurements += 1
        publications = {row["slug"]: row for row in document["publications"]}
        source = Source(
            slug=case_study.slug,
            title=document["case_study"]["title"],
            description=document["case_study"].get("procedure", ""),
            status=case_study.status,
            publication=publications.get(document["case_study"].get("publication")),
            measurements=measurements,
            files=[file for name, file in self.files.items() if name.startswith(path)],
        )
        self.summary.case_studies.append(case_study.slug)
        self.summary.measurements += measurements
        self.summary.licences[source.licence or "none stated"] += 1
        if redaction.replaced:
            self.summary.redacted[case_study.slug] = redaction.replaced
        facts = digest(document, (self._read(path + name) for name in (MEASUREMENTS, DERIVED)))
        return self._entry(case_study, path, facts, redaction), source

    def _entry(self, case_study: CaseStudy, path: str, facts: str, redaction: Redaction) -> manifest.Entry:
        ended = None
        if case_study.status != CaseStudy.Status.PUBLISHED:
            ending = case_study.endings.filter(is_whole=True).select_related("replaced_by__loaded").last()
            by = ending.replaced_by if ending else None
            replaced_by = "" if by is None else by.loaded.slug if hasattr(by, "loaded") else by.slug
            ended = manifest.Ending(case_study.status, redaction.redact(case_study.retraction_reason), replaced_by)
        if not hasattr(case_study, "loaded"):
            return manifest.Entry(case_study.slug, self.origin, self.summary.number, path, facts, ended)
        loaded = case_study.loaded
        origin = manifest.Publisher(str(loaded.origin.identity), loaded.origin.name, loaded.origin.address)
        return manifest.Entry(loaded.slug, origin, loaded.number, path, facts, ended)

    def _place(self, name: str) -> Path:
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _table(self, name: str, rows: Iterable[list[Any]]) -> None:
        with self._place(name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        kind = "Derived values" if name.endswith(DERIVED) else "Measurements"
        self._describe(name, "text/csv", f"{kind}, losslessly.")

    def _read(self, name: str) -> Iterator[list[Any]]:
        with self._place(name).open(encoding="utf-8", newline="") as file:
            yield from csv.reader(file)

    def _json(self, name: str, content: Any, description: str) -> ReleaseFile:
        text = json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        return self._text(name, text, "application/json", description)

    def _text(self, name: str, text: str, media_type: str, description: str) -> ReleaseFile:
        self._place(name).write_text(text, encoding="utf-8")
        return self._describe(name, media_type, description)

    def _describe(self, name: str, media_type: str, description: str) -> ReleaseFile:
        """List a file that is written, with its digest and size."""
        with self._place(name).open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        self.files[name] = ReleaseFile(name, checksum, size, media_type, description)
        return self.files[name]


def _released_case_studies(only: Collection[str]) -> list[CaseStudy]:
    """Return the case studies to release, in order of publication. Raises ReleaseError where one is not published."""
    case_studies = visible.case_studies().select_related("publication", "server", "storage", "loaded__origin")
    if only:
        case_studies = case_studies.filter(slug__in=only)
        missing = sorted(set(only) - set(case_studies.values_list("slug", flat=True)))
        if missing:
            raise ReleaseError(f"{missing[0]}: no published case study has this short name.")
    return [row for row in case_studies.order_by("published_revision_id", "pk") if not _is_outdated(row)]


def _is_outdated(case_study: CaseStudy) -> bool:
    """Tell whether a later release of its origin has a newer version of the case study, which is released instead."""
    if not hasattr(case_study, "loaded"):
        return False
    same = LoadedCaseStudy.objects.filter(origin=case_study.loaded.origin, slug=case_study.loaded.slug)
    return same.filter(pk__gt=case_study.loaded.pk).exists()


def _known_names(drop: Iterable[str]) -> dict[str, str]:
    """Return the names of machines that this installation knows, and the words given, by what they are."""
    hosts = Host.objects.values_list("slug", "name", "address")
    names = {name for row in hosts for name in row} | set(ObservedMachine.objects.values_list("name", flat=True))
    known = {name: "host" for name in names if len(name) >= _MIN_NAME and re.search(r"[\d.-]", name)}
    return known | {word: "name" for word in drop if word.strip()}


def _without_files(lines: Iterator[list[Any]], raw: Collection[RawFile], redaction: Redaction) -> Iterator[list[Any]]:
    """Yield the lines of a table without references to raw files; their names become the source of the numbers."""
    names = {file.sha256: file.name for file in raw}
    columns = next(lines)
    yield columns
    if "raw_file" not in columns:
        yield from lines
        return
    file_at, line_at, source_at = (columns.index(name) for name in ("raw_file", "line", "source"))
    for cells in lines:
        if cells[file_at]:
            name = redaction.redact(names[cells[file_at]])
            where = f"{name}, line {cells[line_at]}" if cells[line_at] else name
            cells[source_at] = cells[source_at] or where[:120]
            cells[file_at] = cells[line_at] = ""
        yield cells


_README = """# Published evidence of a KDB

- `measurements.csv`: every number in one table, with its configuration, workload and source.
- `case-studies/NAME/`: each case study as KDB loads it again: `case-study.json` (by `case-study.schema.json`),
  `measurements.csv`, `derived.csv`.
- `release.json`: where it comes from, the knowledge revision, SHA-256 of every file. `release.sig`: its signature.
- `ro-crate-metadata.json`: the same for machines, with the licence of each source.

Numbers are comparable only inside one case study, where benchmark, version, parameters, operation, block size, number
of machines, metric and unit agree. Cells that a spreadsheet would run begin with an apostrophe in the table of all
measurements.

To load it into another KDB: `manage.py load_release FILE.zip`.
"""
