"""Export and import case studies as bundles: a ZIP with one JSON document, two tables and the raw files.

Another KDB imports a bundle without loss, as a draft that is reviewed there; its export is the same again.
"""

import csv
import hashlib
import io
import json
import logging
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from functools import partial
from itertools import chain, islice
from typing import IO, Any, TypeVar

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from django.utils.timezone import now

from experiments import permissions
from experiments.models import (
    AuditEntry,
    CaseStudy,
    Claim,
    Configuration,
    DerivedValue,
    HostStorage,
    ImportBatch,
    Measurement,
    OrdinalFinding,
    PrintedRatio,
    Publication,
    RawFile,
    Server,
    Storage,
    WorkloadVariant,
)
from experiments.models.catalogue import SharedRow
from experiments.models.fields import column, related
from experiments.readers.bundle import DERIVED, DOCUMENT, FILES, MEASUREMENTS, BundleError
from experiments.readers.reading_process import BUNDLES, NotRead, ReadingProcess, StoredBundle, keep_waiting
from experiments.records.files import raw_files

from . import measurement_rows, ownership
from .bundle_schema import (
    CATALOGUE,
    FORMAT,
    LIFE,
    VERSION,
    derived_columns,
    field_names,
    measurement_columns,
    schema,
)
from .lifecycle import audit, slug_taken_message
from .measurement_rows import MeasurementRow

logger = logging.getLogger(__name__)
Shared = TypeVar("Shared", bound=SharedRow)

_CHUNK_ROWS = 5_000
_SECONDS, _MEMORY_BYTES = 10, 2**30  # of the process that reads a bundle
_MAX_BROWSER_LINES = 50_000  # of both tables: more take longer than a page may
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of every member, so that the same case study is the same bytes


# Export


def export(case_study: CaseStudy, file: IO[bytes]) -> None:
    """Write the case study's bundle. Work and size grow with its rows; memory does not."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with _member(archive, DOCUMENT) as text:
            json.dump(document(case_study), text, ensure_ascii=False, indent=1)
        for name, rows in tables(case_study):
            with _member(archive, name) as text:
                csv.writer(text).writerows(rows)
        for raw in case_study.raw_files.order_by("sha256"):
            with archive.open(zipfile.ZipInfo(f"{FILES}{raw.sha256}", _EPOCH), "w") as content:
                for chunk in raw_files.chunks(raw):
                    content.write(chunk)


def digest(case_study: CaseStudy) -> str:
    """Return the SHA-256 of the content of its bundle: document, tables, and the digests of its files."""
    checksum = hashlib.sha256(json.dumps(document(case_study), sort_keys=True).encode())
    for _, rows in tables(case_study):
        checksum.update(b"\0")
        csv.writer(_Digested(checksum)).writerows(rows)
    return checksum.hexdigest()


class _Digested:
    """A file to write to that only updates a digest."""

    def __init__(self, checksum: Any) -> None:
        self.checksum = checksum

    def write(self, line: str) -> None:
        self.checksum.update(line.replace("\r\n", "\n").encode())


def tables(case_study: CaseStudy) -> Iterator[tuple[str, Iterator[list[Any]]]]:
    """Yield name and lines of each table, the first with the names of its columns."""
    keys = _variant_keys(case_study)
    digests = dict(RawFile.objects.filter(case_study=case_study).values_list("pk", "sha256"))
    for name, model, columns in (
        (MEASUREMENTS, Measurement, measurement_columns()),
        (DERIVED, DerivedValue, derived_columns()),
    ):
        yield name, chain([list(columns)], _table_rows(model, case_study, columns, keys, digests))


def _member(archive: zipfile.ZipFile, name: str) -> io.TextIOWrapper:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    return io.TextIOWrapper(archive.open(info, "w", force_zip64=True), "utf-8", newline="")


def _table_rows(
    model: type[Measurement] | type[DerivedValue],
    case_study: CaseStudy,
    columns: list[str],
    keys: dict[int, str],
    digests: dict[int, str],
) -> Iterator[list[Any]]:
    paths = {"configuration": "configuration__slug", "variant": "variant_id", "raw_file": "raw_file_id"}
    rows = model.objects.filter(configuration__case_study=case_study).order_by("pk")
    variant_at = columns.index("variant")
    file_at = columns.index("raw_file") if "raw_file" in columns else None
    for row in rows.values_list(*(paths.get(name, name) for name in columns)).iterator(_CHUNK_ROWS):
        cells = list(row)
        cells[variant_at] = keys[cells[variant_at]]
        if file_at is not None:
            cells[file_at] = digests.get(cells[file_at])
        yield ["" if cell is None else repr(cell) if isinstance(cell, float) else cell for cell in cells]


def _variant_keys(case_study: CaseStudy) -> dict[int, str]:
    """Return primary key to key in the bundle of each variant used, numbered in an order that any database gives."""
    configurations = case_study.configurations.all()
    used = WorkloadVariant.objects.filter(
        models.Exists(Measurement.objects.filter(configuration__in=configurations, variant=models.OuterRef("pk")))
        | models.Exists(DerivedValue.objects.filter(configuration__in=configurations, variant=models.OuterRef("pk")))
        | models.Exists(case_study.findings.filter(variant=models.OuterRef("pk")))
        | models.Exists(case_study.printed_ratios.filter(variant=models.OuterRef("pk")))
    ).order_by("workload__slug", "benchmark__slug", "benchmark_version", "digest")
    return {pk: str(number) for number, pk in enumerate(used.values_list("pk", flat=True), start=1)}


def document(case_study: CaseStudy) -> dict[str, Any]:
    keys = _variant_keys(case_study)
    references = ("hypervisor", "host_os", "host_fs", "guest_os", "guest_fs")
    configurations = list(case_study.configurations.order_by("slug").select_related(*references))
    variants = list(WorkloadVariant.objects.filter(pk__in=keys).select_related("workload", "benchmark"))
    findings = list(
        case_study.findings.order_by("pk").select_related("publication", "hypervisor", "guest_fs", "host_fs")
    )
    ratios = list(case_study.printed_ratios.order_by("pk").select_related("numerator", "denominator", "guest_fs"))
    claims = list(case_study.claims.order_by("code").select_related("publication").prefetch_related("workloads"))
    cited = [case_study.publication, *(row.publication for row in findings), *(row.publication for row in claims)]
    publications = {publication for publication in cited if publication}
    entries = _catalogue_entries([*configurations, *variants, *findings, *ratios], claims)
    return {
        "format": FORMAT,
        "version": VERSION,
        "catalogue": {
            name: [_row(entry) for entry in sorted(entries[model], key=lambda entry: entry.slug)]
            for name, model in CATALOGUE.items()
        },
        "publications": [_row(row) for row in sorted(publications, key=lambda row: row.slug)],
        "server": _row(case_study.server),
        "storage": _row(case_study.storage, ("server",)),
        "case_study": _row(case_study, LIFE),
        "configurations": [_row(row, ("case_study",)) for row in configurations],
        "workload_variants": [
            {"key": keys[row.pk], **_row(row)} for row in sorted(variants, key=lambda row: int(keys[row.pk]))
        ],
        "findings": [{**_row(row, ("variant",)), "variant": keys[row.variant_id]} for row in findings],
        "printed_ratios": [{**_row(row, ("case_study", "variant")), "variant": keys[row.variant_id]} for row in ratios],
        "claims": [{**_row(row), "workloads": sorted(w.slug for w in row.workloads.all())} for row in claims],
        "files": [
            {"name": row.name, "sha256": row.sha256, "size_bytes": row.size_bytes, "format": row.format}
            for row in case_study.raw_files.order_by("sha256")
        ],
    }


def _catalogue_entries(rows: list[models.Model], claims: list[Claim]) -> dict[type, set[Any]]:
    """Return the catalogue entries that these rows refer to, by model."""
    entries: dict[type, set[Any]] = {model: set() for model in CATALOGUE.values()}
    for row in rows:
        for field in row._meta.concrete_fields:
            if field.is_relation and field.related_model in entries and getattr(row, field.attname) is not None:
                entries[field.related_model].add(getattr(row, field.name))
    backends = {row.backend for row in rows if isinstance(row, Configuration)}
    entries[HostStorage] = set(HostStorage.objects.filter(slug__in=backends))
    for claim in claims:
        entries[CATALOGUE["workloads"]].update(claim.workloads.all())
    return entries


def _row(row: models.Model, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the row's fields that are not at their default; references by slug."""
    fields = {}
    for name in field_names(type(row), without):
        field, value = column(type(row), name), getattr(row, name)
        if field.is_relation:
            value = value.slug if value else None
        if value is not None and value != field.get_default():
            fields[name] = value.isoformat() if isinstance(value, date) else value
    return fields


# Import


def import_bundle(
    data: bytes, *, user: User | None, door: ImportBatch.Door, wait: Callable[[], None] = keep_waiting
) -> tuple[CaseStudy, bool]:
    """Make a draft of a bundle; return it and whether it is new, as the same bundle again adds nothing.

    Raises BundleError, and changes nothing, where the bundle is broken or its name belongs to another case study.
    """
    with ReadingProcess(seconds=_SECONDS, memory_bytes=_MEMORY_BYTES) as process:
        try:
            bundle = process.bundle(process.read([data], wait, BUNDLES, schema=schema()))
        except NotRead as limit:
            what, _ = limit.args
            raise BundleError(f"To read the bundle takes {what}.") from limit
        if door == ImportBatch.Door.BROWSER and bundle.lines > _MAX_BROWSER_LINES:
            raise BundleError(
                f"The tables have {bundle.lines:,} lines; up to {_MAX_BROWSER_LINES:,} are taken here, more by "
                "`manage.py import_results` on the server."
            )
        return _import_bundle(bundle, user, door)


def _import_bundle(bundle: StoredBundle, user: User | None, door: ImportBatch.Door) -> tuple[CaseStudy, bool]:
    slug = bundle.document["case_study"]["slug"]
    existing = permissions.seen_by(user).filter(slug=slug).first()
    if existing is not None and digest(existing) == bundle.digest:
        return existing, False
    if CaseStudy.objects.filter(slug=slug).exists():
        raise BundleError(slug_taken_message(slug))
    try:
        with transaction.atomic():
            case_study = BundleImport(bundle, user, door).run()
            ownership.delete_unused()  # entries of the bundle that nothing in it refers to
    except (IntegrityError, ValidationError) as error:
        raise BundleError(f"The bundle breaks a rule of the knowledge base: {error_text(error)}") from error
    logger.info("took in a bundle case_study=%s door=%s", case_study.slug, door)
    return case_study, True


def error_text(error: Exception) -> str:
    """Return what a ValidationError says of each field, or the first line of another error."""
    if isinstance(error, ValidationError):
        by_field = getattr(error, "message_dict", {"": error.messages})
        return "; ".join(f"{name}: {' '.join(texts)}".removeprefix(": ") for name, texts in by_field.items())
    return str(error).partition("\n")[0]


class BundleImport:
    """Writes one bundle to the database, inside a transaction; the caller then runs ownership.delete_unused."""

    def __init__(self, bundle: StoredBundle, user: User | None, door: ImportBatch.Door) -> None:
        self.document, self.open, self.user, self.door = bundle.document, bundle.open, user, door
        self.rows: dict[type[models.Model], dict[str, models.Model]] = {}

    def run(self) -> CaseStudy:
        for name, model in CATALOGUE.items():
            self.rows[model] = {
                fields["slug"]: self.get_or_create_entry(model, fields)
                for fields in self.document["catalogue"].get(name, ())
            }
        backends = {fields.get("backend", "") for fields in self.document["configurations"]}
        for slug in sorted(backends - {"", *self.rows[HostStorage]}):  # an earlier bundle has no more than its slug
            self.get_or_create_entry(HostStorage, {"slug": slug, "name": slug})
        self.rows[Publication] = {fields["slug"]: self.publication(fields) for fields in self.document["publications"]}
        server = self.create_own(Server, self.document["server"])
        storage = self.create_own(Storage, self.document["storage"], server=server)
        case_study = self.create(
            CaseStudy, self.document["case_study"], owner=self.user, server=server, storage=storage
        )
        audit(case_study, self.user, AuditEntry.Action.CREATED, "from a bundle")
        self.rows[Configuration] = {
            fields["slug"]: self.create(Configuration, fields, case_study=case_study)
            for fields in self.document["configurations"]
        }
        self.variants = {fields["key"]: self.variant(fields) for fields in self.document["workload_variants"]}
        files = self.store_files(case_study)
        count = self.write_measurements(files)
        self.write_derived_values()
        for fields in self.document["printed_ratios"]:
            self.create(PrintedRatio, fields, case_study=case_study, variant=self.variant_of(fields))
        for fields in self.document["findings"]:
            self.finding(fields).case_studies.add(case_study)
        for fields in self.document["claims"]:
            self.claim(fields).case_studies.add(case_study)
        audit(case_study, self.user, AuditEntry.Action.IMPORTED, f"bundle: {count:,} measurements")
        return case_study

    def get_or_create_entry(self, model: type[Shared], fields: dict[str, Any]) -> Shared:
        """Return the catalogue's entry of this slug, else a new one. Raises BundleError where a draft's differs."""
        row = model._default_manager.filter(slug=fields["slug"]).first()
        if row and row.is_draft:
            self.refuse_different(row, fields)
        return row if row else self.create(model, fields, is_draft=True)

    def publication(self, fields: dict[str, Any]) -> Publication:
        publication = self.get_or_create_entry(Publication, fields)
        if publication.title != fields["title"]:
            raise BundleError(f"publications: {fields['slug']!r} is another publication here ({publication.title}).")
        return publication

    def refuse_different(self, row: models.Model, fields: dict[str, Any]) -> None:
        """Raise BundleError where another draft's row differs: no draft gets unreviewed words of another."""
        without = ("aliases", "source", "variant")
        ours = _row(row, without)
        for name in field_names(type(row), without):
            default = column(type(row), name).get_default()
            if ours.get(name, default) != fields.get(name, default):
                named = fields.get("slug") or fields.get("code") or fields["guest_fs"]
                raise BundleError(
                    f"{row._meta.verbose_name} {named!r}: an unpublished case study here brings one of this name "
                    f"with another {name}; rename it, or wait until that one is published or deleted."
                )

    def create_own(self, model: type[models.Model], fields: dict[str, Any], **fixed: models.Model) -> models.Model:
        """Add a server or storage of the case study; its slug gets a number where another has it here."""
        slug, number = fields["slug"], 1
        while model._default_manager.filter(slug=slug).exists():
            number += 1
            slug = f"{fields['slug'][:50]}-{number}"
        return self.create(model, {**fields, "slug": slug}, **fixed)

    def create(self, model: type[models.Model], fields: dict[str, Any], **fixed: Any) -> Any:
        values = {}
        for name in field_names(model):
            if name not in fields or name in fixed:
                continue
            field = column(model, name)
            values[name] = self.resolve(field, fields[name]) if field.is_relation else fields[name]
        row = model(**values, **fixed)
        row.full_clean()
        row.save()
        return row

    def resolve(self, field: "models.Field[Any, Any]", slug: str | None) -> Any:
        if slug is None:
            return None
        try:
            return self.rows[related(field)][slug]
        except KeyError:
            raise BundleError(
                f"{field.model._meta.verbose_name}, {field.name}: {slug!r} is not in the bundle."
            ) from None

    def variant_of(self, fields: dict[str, Any]) -> WorkloadVariant:
        try:
            return self.variants[fields["variant"]]
        except KeyError:
            raise BundleError(f"variant {fields['variant']!r} is not among workload_variants.") from None

    def variant(self, fields: dict[str, Any]) -> WorkloadVariant:
        return WorkloadVariant.objects.for_parameters(
            workload=self.resolve(column(WorkloadVariant, "workload"), fields["workload"]),
            benchmark=self.resolve(column(WorkloadVariant, "benchmark"), fields["benchmark"]),
            benchmark_version=fields.get("benchmark_version", ""),
            parameters=fields.get("parameters", {}),
        )

    def finding(self, fields: dict[str, Any]) -> OrdinalFinding:
        """Return the finding, an existing one if there is any, as a finding may be of several case studies."""
        place = {
            name: self.resolve(column(OrdinalFinding, name), fields[name])
            for name in ("publication", "hypervisor", "guest_fs", "host_fs")
        }
        variant = self.variant_of(fields)
        finding = OrdinalFinding.objects.filter(**place, variant=variant).first()
        if finding and not finding.case_studies.visible().exists():
            self.refuse_different(finding, fields)
        return finding or self.create(OrdinalFinding, fields, variant=variant)

    def claim(self, fields: dict[str, Any]) -> Claim:
        claim = Claim.objects.filter(code=fields["code"]).first()
        if claim is None:
            claim = self.create(Claim, fields)
            link = Claim._meta.get_field("workloads")
            claim.workloads.set([self.resolve(link, slug) for slug in fields["workloads"]])
        elif not claim.case_studies.visible().exists():
            self.refuse_different(claim, fields)
        return claim

    def store_files(self, case_study: CaseStudy) -> dict[str, RawFile]:
        if not self.document["files"]:
            return {}
        batch = ImportBatch.objects.create(
            case_study=case_study,
            uploaded_by=self.user,
            door=self.door,
            state=ImportBatch.State.FILED,
            is_confirmed=True,
            filed_at=now(),
            report={"files": [], "new_configurations": []},
        )
        kept = {}
        for listed in self.document["files"]:
            content = self.open(f"{FILES}{listed['sha256']}")
            chunks = iter(partial(content.read, raw_files.CHUNK_BYTES), b"")
            with closing(raw_files.take(listed["name"], chunks)) as upload:
                kept[listed["sha256"]] = raw_files.store(batch, upload)
            RawFile.objects.filter(pk=kept[listed["sha256"]].pk).update(format=listed["format"])
        return kept

    def write_measurements(self, files: dict[str, RawFile]) -> int:
        columns, lines = self.read_table(MEASUREMENTS, Measurement, measurement_columns())
        order = [columns.index(name.removesuffix("_id")) for name in measurement_rows.COLUMNS]
        parsers = [self.cell_parser(Measurement, columns[index], files) for index in order]
        count = 0

        def rows() -> Iterator[MeasurementRow]:
            for line, cells in lines:
                yield MeasurementRow._make(
                    self.parse_cell(MEASUREMENTS, line, columns[index], check, cells[index])
                    for index, check in zip(order, parsers, strict=True)
                )

        stream = rows()
        while chunk := list(islice(stream, _CHUNK_ROWS)):
            count += len(chunk)
            measurement_rows.write(chunk)
        return count

    def write_derived_values(self) -> None:
        columns, lines = self.read_table(DERIVED, DerivedValue, derived_columns())
        parsers = [self.cell_parser(DerivedValue, name, {}) for name in columns]
        names = [column(DerivedValue, name).attname for name in columns]
        rows = []
        for line, cells in lines:
            values = [
                self.parse_cell(DERIVED, line, name, check, cell)
                for name, check, cell in zip(columns, parsers, cells, strict=True)
            ]
            rows.append(DerivedValue(**dict(zip(names, values, strict=True))))
        DerivedValue.objects.bulk_create(rows, batch_size=1000)

    def read_table(
        self, name: str, model: type[models.Model], expected: list[str]
    ) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
        """Return columns and lines; columns that may be empty may be missing, as in bundles of earlier versions."""
        reader = csv.reader(io.TextIOWrapper(self.open(name), "utf-8", newline=""), strict=True)
        try:
            columns = next(reader, [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise BundleError(f"{name}, line 1: {error}") from error
        missing = [name for name in expected if name not in columns and column(model, name).blank]
        if sorted([*columns, *missing]) != sorted(expected):
            raise BundleError(f"{name}, line 1: the columns are {', '.join(expected)}.")

        def lines() -> Iterator[tuple[int, list[str]]]:
            try:
                for cells in reader:
                    if len(cells) != len(columns):
                        raise BundleError(
                            f"{name}, line {reader.line_num}: found {len(cells)} cells, not {len(columns)}"
                        )
                    yield reader.line_num, cells + [""] * len(missing)
            except (csv.Error, UnicodeDecodeError) as error:
                raise BundleError(f"{name}, line {reader.line_num}: {error}") from error

        return columns + missing, lines()

    def cell_parser(self, model: type[models.Model], name: str, files: dict[str, RawFile]) -> Callable[[str], Any]:
        """Return the function from a cell to the value of this column; it raises ValueError or KeyError."""
        field = column(model, name)
        if name == "configuration":
            return lambda text: self.rows[Configuration][text].pk
        if name == "variant":
            return lambda text: self.variants[text].pk
        if name == "raw_file":
            return lambda text: files[text].pk if text else None

        def value(text: str) -> Any:
            if text == "" and field.null:
                return None
            if isinstance(field, models.BooleanField):
                return {"True": True, "False": False}[text]
            cleaned = field.clean(text, None)
            if isinstance(cleaned, float) and not -1e300 < cleaned < 1e300:
                raise ValueError(text)
            return cleaned

        return value

    @staticmethod
    def parse_cell(table: str, line: int, name: str, check: Callable[[str], Any], text: str) -> Any:
        try:
            return check(text)
        except (KeyError, ValueError, ValidationError) as error:
            raise BundleError(f"{table}, line {line}, {name}: {text[:80]!r} is not allowed there.") from error
