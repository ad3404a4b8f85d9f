"""Load the published evidence from its files into the database.

Loading a file again adds nothing. Changed descriptions are updated; a changed value that rankings use is an error.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.db import models, transaction

from experiments.case_studies import lifecycle
from experiments.models import (
    Benchmark,
    CaseStudy,
    Claim,
    ComponentName,
    Configuration,
    DerivedValue,
    FileSystem,
    HostStorage,
    Hypervisor,
    Measurement,
    MechanismCost,
    ModelComponent,
    OperatingSystem,
    OrdinalFinding,
    PrintedRatio,
    Publication,
    Server,
    Storage,
    Workload,
    WorkloadVariant,
)
from experiments.models.catalogue import CatalogueEntry, SharedRow
from experiments.rules import entry_names
from experiments.rules.claim_conditions import CheckError, parse_checks
from experiments.signals import claims_changed
from kdb.jobs.locks import exclusive_lock

from . import studies
from .files import Entry, EvidenceError, as_entries, read_csv, read_json
from .rows import Saved, WantedRow, resolve, resolve_list, save, values_of

logger = logging.getLogger(__name__)

DIRECTORY = Path(settings.BASE_DIR) / "fixtures"

# section of the file: its model, and the field that makes an entry the same when loaded again
CATALOGUE: dict[str, tuple[type[models.Model], str]] = {
    "hypervisors": (Hypervisor, "slug"),
    "file_systems": (FileSystem, "slug"),
    "host_storages": (HostStorage, "slug"),
    "mechanisms": (MechanismCost, "code"),
    "operating_systems": (OperatingSystem, "slug"),
    "benchmarks": (Benchmark, "slug"),
    "workloads": (Workload, "slug"),
    "components": (ModelComponent, "slug"),
}
SOURCES: dict[str, tuple[type[models.Model], str]] = {
    "publications": (Publication, "slug"),
    "servers": (Server, "slug"),
    "storages": (Storage, "slug"),
}

# columns of the CSV files: where a value belongs, then the model's own fields
OWNERS = ("case_study", "configuration", "workload")
COORDINATES = ("operation", "block_size_bytes", "vm_count", "metric")
MEASURED = ("value", "alternative_value", "unit", "quality", "repetitions")
DERIVED = ("quantity", "value", "low", "high", "unit", "is_evidence")
FINDING_KEY = ("publication", "hypervisor", "guest_fs", "host_fs")
FINDING = ("text_list", "is_outstanding", "table_list")
RATIO_KEY = ("case_study", "numerator", "denominator", "guest_fs")
RATIO = ("vm_counts", "is_overall", "least", "least_rounding", "greatest", "greatest_rounding", "trend", "printed")
CLAIM = ("code", "publication", "location", "kind", "scope", "statement", "predicate", "checkable_from")

# Fields that the files do not govern: they change after a case study was loaded.
LIFE = ("owner", "status", "published_revision", "retracted_revision", "retraction_reason")

# The fields of a configuration that rankings hold equal or compare.
COMPARED = (
    *("hypervisor", "virtualisation", "host_os", "backend", "host_fs", "storage_kind", "allocation"),
    *("guest_os", "guest_fs", "guest_access"),
)


@dataclass
class Report:
    """The rows that one load added and changed, by model, and the revision it published.

    passed_over : case studies that were not loaded, as a draft has their slug
    """

    added: Counter[type[models.Model]] = field(default_factory=Counter)
    updated: Counter[type[models.Model]] = field(default_factory=Counter)
    published: int = 0  # case studies
    revision: int | None = None
    passed_over: list[str] = field(default_factory=list)

    def touched(self, model: type[models.Model]) -> int:
        return self.added[model] + self.updated[model]

    def lines(self) -> list[str]:
        """Return one plain line a model, in the order of loading; a single one where nothing changed."""
        lines = [
            f"{verb} {count} {model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural}"
            for verb, counts in (("added", self.added), ("updated", self.updated))
            for model, count in counts.items()
            if count
        ]
        if self.published:
            case_studies = "case study" if self.published == 1 else "case studies"
            lines.append(f"published {self.published} {case_studies} as revision {self.revision}")
        return lines or ["nothing to add: the database holds all of the published evidence"]


def load(directory: Path = DIRECTORY) -> Report:
    """Load the papers' files in `directory`, all or nothing; new case studies become one revision.

    Raises EvidenceError where a file is wrong or contradicts what is published already.
    """
    with _loader() as loader:
        loader.load_papers(directory)
        loader.publish("The published evidence was loaded")
        report = loader.report
        if loader.known and any(report.touched(model) for model in (Claim, PrintedRatio)):
            claims_changed.send(sender=Claim)
    return report


def load_outside(directory: Path) -> Report:
    """Load what others published, after `load` has loaded the papers. Raises EvidenceError."""
    with _loader() as loader:
        loader.load_studies(studies.read(directory, DIRECTORY))
        loader.publish("The published evidence was loaded")
    return loader.report


def load_new(directory: Path, outside_directory: Path | None, *, reason: str) -> Report:
    """Publish the case studies of both folders that the database lacks, as one revision, and change nothing else.

    Stored rows stay even where the files differ, as answers were computed from them. Raises EvidenceError where a new
    row contradicts a stored one.
    """
    files = read_json(directory / "case_studies.json", [*SOURCES, "case_studies"])["case_studies"]
    others = studies.read(outside_directory, directory) if outside_directory else None
    files += others.sources["case_studies"] if others else []
    slugs = {entry.fields["slug"] for entry in files}
    stored = dict(CaseStudy.objects.filter(slug__in=slugs).values_list("slug", "published_revision"))
    of_drafts = sorted(slug for slug, revision in stored.items() if revision is None)
    if stored.keys() == slugs:
        return Report(passed_over=of_drafts)
    with _loader(only_new=True) as loader:
        loader.load_papers(directory)
        if others:
            loader.load_studies(others)
        loader.publish(reason)
        loader.report.passed_over = of_drafts
    return loader.report


@contextmanager
def _loader(*, only_new: bool = False) -> Iterator["_Loader"]:
    """Provide a loader inside a transaction, in one process at a time."""
    with exclusive_lock("load"), transaction.atomic():
        loader = _Loader(only_new=only_new)
        yield loader
    report = loader.report
    logger.info("loaded evidence added=%s updated=%s", report.added.total(), report.updated.total())


def _case_studies_of(entry: Entry) -> set[str]:
    return {*entry.fields.get("case_studies", entry.fields.get("case_study", "")).split()}


def _check_names(model: type[CatalogueEntry], wanted: list[WantedRow], *, only_new: bool) -> None:
    """Raise EvidenceError where an entry's name is not allowed, or is that of another entry of its kind.

    only_new : stored entries keep their names, except those of drafts
    """
    spelled: dict[str, tuple[str, str, list[str]]] = {
        row[0]: row for row in model._default_manager.values_list("slug", "name", "aliases")
    }
    if only_new:
        kept = set(model._default_manager.filter(is_draft=False).values_list("slug", flat=True))
        wanted = [want for want in wanted if want.values["slug"] not in kept]
    spelled |= {v["slug"]: (v["slug"], v["name"], v["aliases"]) for v in (want.values for want in wanted)}
    for want in wanted:
        slug = want.values["slug"]
        others = entry_names.owners(row for other, row in spelled.items() if other != slug)
        for name, fault in entry_names.faults(*spelled[slug], others).items():
            raise EvidenceError(f"{want.entry.place}, {name}: {fault}")


class _Loader:
    """One load: the rows that later entries refer to, and the report.

    only_new : stored rows are not changed, and entries of stored case studies are skipped
    """

    def __init__(self, *, only_new: bool = False) -> None:
        self.only_new = only_new
        self.report = Report()
        self.rows: dict[type[models.Model], dict[str, Any]] = {}  # by model and slug
        self.configurations: dict[str, dict[str, Configuration]] = {}  # by slugs of case study and configuration
        self.variants: dict[str, dict[str, WorkloadVariant]] = {}  # by slugs of case study and workload
        self.known = set(CaseStudy.objects.values_list("slug", flat=True))

    def load_papers(self, directory: Path) -> None:
        catalogue = read_json(directory / "catalogue.json", [*CATALOGUE, "component_names"])
        sources = read_json(directory / "case_studies.json", [*SOURCES, "case_studies"])
        measurements = read_csv(directory / "measurements.csv", (*OWNERS, *COORDINATES, *MEASURED, "source", "note"))
        derived = read_csv(
            directory / "derived.csv", (*OWNERS, *COORDINATES, "route", *DERIVED, "formula", "source", "note")
        )
        findings = read_csv(
            directory / "ordinal_findings.csv",
            ("case_studies", "workload", *FINDING_KEY, *FINDING, "text_source", "table_source"),
        )
        ratios = read_csv(directory / "ratios.csv", ("workload", *RATIO_KEY, *RATIO, "source", "note"))
        claims = read_csv(directory / "claims.csv", ("case_studies", "workloads", *CLAIM))
        checks = read_json(directory / "claim_checks.json", ["claims"])["claims"]
        for name, (model, key) in CATALOGUE.items():
            self.save_described(model, catalogue[name], key)
        for name, (model, key) in SOURCES.items():
            self.save_described(model, sources[name], key)
        self.save_described(ComponentName, catalogue["component_names"], "component", "publication")
        self.save_case_studies(sources["case_studies"])
        self.save_observations(Measurement, measurements, key=("repetition",), fixed=MEASURED)
        self.save_observations(DerivedValue, derived, key=("route",), fixed=DERIVED)
        self.save_findings(findings)
        self.save_ratios(ratios)
        self.save_claims(claims, checks)

    def load_studies(self, published: studies.Studies) -> None:
        for name, entries in published.catalogue.items():
            model, key = CATALOGUE[name]
            self.rows[model] = {row.slug: row for row in cast(Any, model)._default_manager.all()}
            self.save_described(model, entries, key)
        for name, (model, key) in SOURCES.items():
            self.save_described(model, published.sources[name], key)
        self.save_case_studies(published.sources["case_studies"])
        self.save_observations(Measurement, published.measurements, key=("repetition",), fixed=MEASURED)

    def save_described(
        self, model: type[models.Model], entries: list[Entry], *key: str, without: Collection[str] = ()
    ) -> None:
        """Save rows that the files may correct at any time."""
        wanted = [WantedRow(entry, values_of(model, entry, self.rows, without=without)) for entry in entries]
        if issubclass(model, CatalogueEntry):
            _check_names(model, wanted, only_new=self.only_new)
        saved = save(model, wanted, key, only_new=self.only_new)
        self.count_saved(model, saved)
        self.rows.setdefault(model, {}).update({row.slug: row for row in saved.rows if hasattr(row, "slug")})
        if brought := [row.pk for row in saved.rows if isinstance(row, SharedRow) and row.is_draft]:
            model._default_manager.filter(pk__in=brought).update(is_draft=False)

    def save_case_studies(self, entries: list[Entry]) -> None:
        """Save case studies, each with its workloads and configurations."""
        parts = ("workloads", "shared_by_configurations", "configurations")
        entries = [entry for entry in entries if not (self.only_new and entry.fields["slug"] in self.known)]
        plain = [Entry(e.place, {name: e.fields[name] for name in e.fields if name not in parts}) for e in entries]
        self.save_described(CaseStudy, plain, "slug", without=LIFE)
        before = WorkloadVariant.objects.count()
        configurations = []
        for entry in entries:
            case_study = self.rows[CaseStudy][entry.fields["slug"]]
            self.variants[case_study.slug] = self.save_workloads(entry)
            configurations += self.wanted_configurations(entry, case_study)
        self.report.added[WorkloadVariant] = WorkloadVariant.objects.count() - before
        saved = save(Configuration, configurations, ("case_study", "slug"), fixed=COMPARED)
        self.count_saved(Configuration, saved)
        for want, row in zip(configurations, saved.rows, strict=True):
            self.configurations.setdefault(want.values["case_study"].slug, {})[row.slug] = row

    def save_workloads(self, case_study: Entry) -> dict[str, WorkloadVariant]:
        variants = {}
        for entry in as_entries(case_study, "workloads"):
            values = values_of(WorkloadVariant, entry, self.rows, others=("key",))
            key = entry.fields.get("key", values["workload"].slug)
            if key in variants:
                raise entry.error("workload", "each once in a case study")
            variants[key] = WorkloadVariant.objects.for_parameters(**values)
        return variants

    def wanted_configurations(self, entry: Entry, case_study: CaseStudy) -> list[WantedRow]:
        """Return the configurations; virtual ones get the fields that the file states once for all of them."""
        shared = entry.fields.get("shared_by_configurations", {})
        if not isinstance(shared, dict):
            raise entry.error("shared_by_configurations", "an object")
        wanted = []
        for part in as_entries(entry, "configurations"):
            if part.fields.get("virtualisation") != Configuration.Virtualisation.NONE:
                part = Entry(part.place, {**shared, **part.fields})
            values = values_of(Configuration, part, self.rows, without=("case_study",))
            wanted.append(WantedRow(part, {"case_study": case_study, **values}, is_closed=self.is_closed(case_study)))
        return wanted

    def save_observations(
        self, model: type[models.Model], entries: list[Entry], *, key: tuple[str, ...], fixed: Collection[str]
    ) -> None:
        """Save measured or derived values, filed under a configuration and a workload of their case study."""
        wanted = []
        for entry in self.without_known(entries):
            case_study = resolve(entry, "case_study", self.rows[CaseStudy])
            values = {
                "configuration": resolve(entry, "configuration", self.configurations[case_study.slug]),
                "variant": resolve(entry, "workload", self.variants[case_study.slug]),
                **values_of(model, entry, self.rows, without=("configuration", "variant"), others=OWNERS),
            }
            wanted.append(WantedRow(entry, values, is_closed=self.is_closed(case_study)))
        key = ("configuration", "variant", *COORDINATES, *key)
        published = model._default_manager.filter(configuration__case_study__in=self.loaded_case_studies())
        self.count_saved(model, save(model, wanted, key, fixed=fixed, all_of=published))

    def save_findings(self, entries: list[Entry]) -> None:
        wanted = []
        for entry in self.without_known(entries):
            case_studies = resolve_list(entry, "case_studies", self.rows[CaseStudy])
            variants = {resolve(entry, "workload", self.variants[case_study.slug]) for case_study in case_studies}
            if len(variants) > 1:
                raise entry.error("workload", "one that these case studies ran with the same parameters")
            values = values_of(
                OrdinalFinding, entry, self.rows, without=("variant",), others=("case_studies", "workload")
            )
            is_closed = any(map(self.is_closed, case_studies))
            wanted.append(
                WantedRow(entry, {"variant": variants.pop(), **values}, {"case_studies": case_studies}, is_closed)
            )
        published = OrdinalFinding.objects.filter(case_studies__in=self.loaded_case_studies()).distinct()
        key, fixed = (*FINDING_KEY, "variant"), (*FINDING, "case_studies")
        self.count_saved(
            OrdinalFinding, save(OrdinalFinding, wanted, key, fixed=fixed, all_of=published, linkable=self.linkable())
        )

    def save_ratios(self, entries: list[Entry]) -> None:
        """Save printed ratios, also of a published case study: only claims are checked with them."""
        wanted = []
        for entry in self.without_known(entries):
            case_study = resolve(entry, "case_study", self.rows[CaseStudy])
            counts = entry.fields["vm_counts"].split()
            if not counts or not all(count.isdecimal() for count in counts):
                raise entry.error("vm_counts", "whole numbers with spaces between")
            values = {
                **values_of(
                    PrintedRatio, entry, self.rows, without=("variant", "vm_counts"), others=("workload", "vm_counts")
                ),
                "variant": resolve(entry, "workload", self.variants[case_study.slug]),
                "vm_counts": sorted(map(int, counts)),
            }
            wanted.append(WantedRow(entry, values))
        key = ("case_study", "variant", "numerator", "denominator", "guest_fs")
        stored = PrintedRatio.objects.filter(case_study__in=self.loaded_case_studies())
        self.count_saved(PrintedRatio, save(PrintedRatio, wanted, key, all_of=stored))

    def save_claims(self, entries: list[Entry], checks: list[Entry]) -> None:
        """Save claims; they may be reworded, and added to a published case study: nothing rests on them."""
        check_of = self.parse_checks_of_claims(checks)
        wanted = []
        for entry in self.without_known(entries):
            links = {
                "case_studies": resolve_list(entry, "case_studies", self.rows[CaseStudy]),
                "workloads": resolve_list(entry, "workloads", self.rows[Workload]),
            }
            values = values_of(Claim, entry, self.rows, without=("checks",), others=tuple(links))
            wanted.append(WantedRow(entry, {**values, "checks": check_of.get(values["code"], {})}, links))
        self.count_saved(Claim, save(Claim, wanted, ("code",), linkable=self.linkable()))
        codes = {entry.fields["code"] for entry in entries}
        for entry in checks:
            if entry.fields["claim"] not in codes:
                raise entry.error("claim", "the code of a claim")

    def parse_checks_of_claims(self, entries: list[Entry]) -> dict[str, dict[str, Any]]:
        """Return the checks by the code of the claim. Raises EvidenceError where they cannot be read."""
        by_claim: dict[str, dict[str, Any]] = {}
        for entry in entries:
            code, checks = entry.fields.get("claim"), entry.fields.get("checks")
            if not isinstance(code, str) or code in by_claim:
                raise entry.error("claim", "the code of a claim, each once")
            if not isinstance(checks, dict) or not isinstance(checks.get("own"), dict):
                raise entry.error("checks", 'an object whose "own" is a condition')
            try:
                parse_checks(checks)
            except CheckError as error:
                raise EvidenceError(f"{entry.place}, checks: {error}") from error
            by_claim[code] = checks
        return by_claim

    def without_known(self, entries: list[Entry]) -> list[Entry]:
        """Return the entries, without those of stored case studies where only_new is set."""
        if not self.only_new:
            return entries
        return [entry for entry in entries if not self.known & _case_studies_of(entry)]

    def loaded_case_studies(self) -> list[CaseStudy]:
        return list(self.rows[CaseStudy].values())

    def linkable(self) -> dict[str, list[CaseStudy]]:
        """Return the rows whose links this load may change: other case studies may share a finding."""
        return {"case_studies": self.loaded_case_studies()}

    def publish(self, reason: str) -> None:
        """Publish what is new, as one revision."""
        new = [row for slug, row in self.rows[CaseStudy].items() if slug not in self.known]
        if new:
            reason = f"{reason}: {', '.join(row.slug for row in new)}."
            self.report.published = len(new)
            self.report.revision = lifecycle.publish(new, reason=reason).number

    def is_closed(self, case_study: CaseStudy) -> bool:
        return case_study.slug in self.known

    def count_saved(self, model: type[models.Model], saved: Saved) -> None:
        self.report.added[model] += saved.added
        self.report.updated[model] += saved.updated
