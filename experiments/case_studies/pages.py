"""Selectors for the pages of case studies; each costs a constant number of queries."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, Model, OuterRef, QuerySet

from experiments.models import (
    AuditEntry,
    CaseStudy,
    Claim,
    Configuration,
    DerivedValue,
    ImportBatch,
    Measurement,
    OrdinalFinding,
    Publication,
    RawFile,
)
from experiments.records import references, visible
from experiments.records.checklist import protocol_of
from experiments.rules.protocol import BELOW_MINIMUM, Protocol

from .reviews import Obstacle, obstacles
from .tables import (
    Anchors,
    DerivedGroup,
    Environment,
    Facts,
    FindingGroup,
    SingleValue,
    SourceTable,
    configuration_labels,
    derived_groups,
    environment,
    finding_groups,
    protocol_facts,
    single_values,
    source_tables,
    testbed_facts,
)

MAX_VALUES = 2000  # on a page; the API has all of them


@dataclass(frozen=True)
class CaseStudyPage:
    case_study: CaseStudy
    testbed: Facts
    protocol_facts: Facts
    environment: Environment
    single_values: list[SingleValue]
    tables: list[SourceTable]
    is_cut: bool  # more values exist than the page shows
    derived: list[DerivedGroup]
    findings: list[FindingGroup]
    claims: int  # statements about its results
    labels: dict[int, str]  # of configurations, by primary key
    files: list[RawFile]  # that measurements were read from
    lint: list[dict[str, Any]]  # warnings that came in with them (experiments.imports.lint)
    protocol: Protocol


def case_study_list() -> QuerySet[CaseStudy]:
    """Return the visible case studies, joined with what a line of the list prints."""
    return visible.case_studies().select_related("publication", "server", "storage")


@dataclass(frozen=True)
class CaseStudyLine:
    """One case study in the list, with what it compared."""

    case_study: CaseStudy
    hypervisors: list[str]
    pairs: list[str]


def case_study_lines(case_studies: Iterable[CaseStudy]) -> list[CaseStudyLine]:
    """Return the lines of the list. One query, which reads only names, as a case study may have 100 configurations."""
    lines = {case_study.pk: CaseStudyLine(case_study, [], []) for case_study in case_studies}
    names = ("case_study", "hypervisor__name", "guest_fs__name", "host_fs__name")
    rows = Configuration.objects.filter(case_study__in=lines).order_by("pk").values_list(*names)
    for pk, hypervisor, guest_fs, host_fs in dict.fromkeys(rows):
        line = lines[pk]
        _add(line.hypervisors, hypervisor or "Native")
        if guest_fs and host_fs:
            _add(line.pairs, f"{guest_fs} on {host_fs}")
    return list(lines.values())


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


def case_study_page(case_study: CaseStudy) -> CaseStudyPage:
    """Return the page of a case study, published or not, that the user may see."""
    configurations = list(
        Configuration.objects.filter(case_study=case_study)
        .select_related("hypervisor", "guest_fs", "host_fs", "guest_os", "host_os")
        .order_by("pk")
    )
    labels = configuration_labels(configurations)
    anchors = Anchors()
    measurements = list(
        Measurement.objects.filter(configuration__in=configurations)
        .select_related("variant__workload", "variant__benchmark", "raw_file")
        .order_by("pk")[: MAX_VALUES + 1]
    )
    values = DerivedValue.objects.filter(configuration__in=configurations).select_related("variant__workload")
    findings = OrdinalFinding.objects.filter(case_studies=case_study).select_related(
        "guest_fs", "host_fs", "variant__workload", "variant__benchmark"
    )
    shown = measurements[:MAX_VALUES]
    # Tables take their anchors first: a link to a source leads to its table, else to what was derived from it.
    tables = source_tables(shown, labels, anchors)
    derived = derived_groups(list(values.order_by("pk")), labels, anchors)
    return CaseStudyPage(
        case_study=case_study,
        testbed=testbed_facts(case_study),
        protocol_facts=protocol_facts(case_study),
        environment=environment(configurations, labels),
        single_values=single_values(shown, labels, anchors),
        tables=tables,
        is_cut=len(measurements) > MAX_VALUES,
        derived=derived,
        findings=finding_groups(
            list(findings.order_by("publication", "variant__workload__slug", "variant", "pk")), anchors
        ),
        claims=Claim.objects.filter(case_studies=case_study).count(),
        labels=labels,
        files=list(case_study.raw_files.filter(batch__state=ImportBatch.State.FILED)),
        lint=_lint(case_study),
        protocol=protocol_of(case_study),
    )


def _lint(case_study: CaseStudy) -> list[dict[str, Any]]:
    """Return the lint of the latest filed import, which checked the whole draft, without what the protocol shows."""
    filed = case_study.imports.filter(state=ImportBatch.State.FILED).order_by("-filed_at")
    findings = filed.values_list("report__lint", flat=True).first() or []
    return [finding for finding in findings if finding["rule"] != BELOW_MINIMUM]


@dataclass(frozen=True)
class DraftPage:
    """The content of a draft's page besides its own fields."""

    configurations: list[Configuration]
    measurements: int
    imports: list[ImportBatch]
    files: list[RawFile]
    audit: list[AuditEntry]
    brings: list["AddedRow"]
    obstacles: list[Obstacle]  # to its submission, while it is a draft
    protocol: Protocol

    @property
    def reading(self) -> list[ImportBatch]:
        return [batch for batch in self.imports if batch.is_being_read]

    @property
    def unfinished(self) -> list[ImportBatch]:
        return [obstacle.batch for obstacle in self.obstacles if obstacle.batch]

    @property
    def ready(self) -> list[ImportBatch]:
        return [batch for batch in self.imports if batch.state == ImportBatch.State.READY]


@dataclass(frozen=True)
class AddedRow:
    """A row that becomes public, or gets one more case study, when a draft is published."""

    row: Model
    kind: str
    is_new: bool  # nobody sees it yet
    stated: list[tuple[str, str]]  # name and text of each field that is not empty


def added_rows(draft: CaseStudy) -> list[AddedRow]:
    """Return the entries, publications and variants that only the draft uses, and all its claims and findings."""
    drafts = CaseStudy.objects.filter(pk=draft.pk)
    rows: list[Model] = []
    for model in references.SHARED:
        own = references.used_by(model, drafts)
        rows += own.exclude(pk__in=visible.publications()) if model is Publication else own.filter(is_draft=True)
    variants = references.variants(drafts).exclude(pk__in=visible.workload_variants())
    rows += variants.select_related("workload", "benchmark")
    claims = draft.claims.select_related("publication")
    rows += claims.annotate(is_public=Exists(visible.claims().filter(pk=OuterRef("pk"))))
    findings = draft.findings.select_related(
        "publication", "variant__workload", "variant__benchmark", "hypervisor", "guest_fs", "host_fs"
    )
    rows += findings.annotate(is_public=Exists(visible.findings().filter(pk=OuterRef("pk"))))
    return [
        AddedRow(row, str(row._meta.verbose_name), not getattr(row, "is_public", False), _stated(row)) for row in rows
    ]


def _stated(row: Model) -> list[tuple[str, str]]:
    fields = [field for field in row._meta.concrete_fields if field.editable and not field.primary_key]
    values = [(str(field.verbose_name), getattr(row, field.name)) for field in fields]
    return [
        (name, json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value))
        for name, value in values
        if value not in (None, "", [], {})
    ]


def draft_page(draft: CaseStudy) -> DraftPage:
    configurations = draft.configurations.select_related("hypervisor", "guest_fs", "host_fs").order_by("pk")
    return DraftPage(
        configurations=list(configurations.annotate(measurements=Count("measurement"))),
        measurements=Measurement.objects.filter(configuration__case_study=draft).count(),
        imports=list(draft.imports.select_related("uploaded_by", "case_study", "job")),
        files=list(draft.raw_files.filter(batch__state=ImportBatch.State.FILED)),
        audit=list(draft.audit_entries.select_related("actor")),
        brings=added_rows(draft),
        obstacles=obstacles(draft) if draft.status == CaseStudy.Status.DRAFT else [],
        protocol=protocol_of(draft),
    )
