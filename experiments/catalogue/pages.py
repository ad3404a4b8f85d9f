"""Selectors for the pages of the catalogue."""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from experiments.models import (
    CaseStudy,
    ComponentName,
    Configuration,
    DerivedValue,
    FileSystem,
    Measurement,
    MechanismCost,
    ModelComponent,
    OrdinalFinding,
    Publication,
    WorkloadVariant,
)
from experiments.published_evidence.abilities import ABILITIES, KINDS, Ability, Fact, facts
from experiments.records import visible


@dataclass(frozen=True)
class CostMatrix:
    """The cost matrix: a row for each operation, a column for each file system."""

    file_systems: list[FileSystem]
    rows: list[tuple[str, list[MechanismCost | None]]]
    sources: list[str]  # tables; equations that a cell also cites are left out


def cost_matrix() -> CostMatrix:
    """Return the cells C1.1 to C3.7, in two queries at most."""
    costs = list(MechanismCost.objects.select_related("file_system").order_by("code"))
    file_systems = list({cost.file_system_id: cost.file_system for cost in costs}.values())
    cells = {(cost.operation, cost.file_system_id): cost for cost in costs}
    rows = [
        (label, [cells.get((operation, file_system.pk)) for file_system in file_systems])
        for operation, label in MechanismCost.Operation.choices
    ]
    return CostMatrix(file_systems, rows, sorted({cost.source.partition(",")[0] for cost in costs}))


@dataclass(frozen=True)
class ComponentMap:
    """The names of the seven components in each publication: a row for each component."""

    publications: list[Publication]
    rows: list[tuple[ModelComponent, list[ComponentName | None]]]


def component_map() -> ComponentMap:
    """Return every component, whether a publication names it or not."""
    components = list(ModelComponent.objects.order_by("number"))
    names = list(ComponentName.objects.select_related("publication").order_by("publication__slug"))
    publications = list({name.publication_id: name.publication for name in names}.values())
    cells = {(name.component_id, name.publication_id): name for name in names}
    rows = [(c, [cells.get((c.pk, publication.pk)) for publication in publications]) for c in components]
    return ComponentMap(publications, rows)


@dataclass(frozen=True)
class ChoicesTable:
    """The choices of one kind, a row each, by abilities; None where it is not known."""

    kind: str
    title: str
    columns: list[Ability]
    rows: list[tuple[str, list[Fact | None]]]


def ability_tables() -> list[ChoicesTable]:
    """Return a table of documented abilities for each kind of choice."""
    tables = []
    for kind, title in KINDS.items():
        facts_of_kind = [of_choice for (of_kind, _), of_choice in facts().items() if of_kind == kind]
        columns = [
            ability for slug, ability in ABILITIES.items() if any(slug in of_choice for of_choice in facts_of_kind)
        ]
        rows = [
            (next(iter(of_choice.values())).name, [of_choice.get(ability.slug) for ability in columns])
            for of_choice in facts_of_kind
        ]
        tables.append(ChoicesTable(kind, title, columns, rows))
    return tables


def configurations_with(condition: Q) -> QuerySet[Configuration]:
    """Return the visible configurations that fulfil a condition, joined with what their lines print."""
    return (
        visible.configurations()
        .filter(condition)
        .select_related("case_study", "hypervisor", "guest_fs", "host_fs")
        .order_by("case_study__slug", "pk")
    )


def publications() -> QuerySet[Publication]:
    """Return every visible publication, with its visible case studies."""
    return visible.publications().prefetch_related(Prefetch("case_studies", visible.case_studies()))


def case_studies_with(variants: list[WorkloadVariant]) -> QuerySet[CaseStudy]:
    """Return case studies that measured, derived or state something about one of these variants.

    The query goes through configurations, because the numbers have an index by configuration.
    """
    configurations = Configuration.objects.filter(case_study=OuterRef("pk"))
    stated = OrdinalFinding.case_studies.through.objects.filter(
        casestudy=OuterRef("pk"), ordinalfinding__variant__in=variants
    )
    condition = Q(Exists(stated))
    for model in (Measurement, DerivedValue):
        rows = model.objects.filter(configuration=OuterRef("pk"), variant__in=variants)
        condition |= Q(Exists(configurations.filter(Exists(rows))))
    return visible.case_studies().filter(condition).select_related("publication")
