"""The rows that every reader may see: those of published and of retracted case studies, and the catalogue.

Drafts, submitted case studies and what only they refer to are left out, and so is what belongs to no case study. All
public pages and API views read through these functions.
"""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from experiments.models import (
    CaseStudy,
    Claim,
    ComponentName,
    Configuration,
    DerivedValue,
    Measurement,
    OrdinalFinding,
    PrintedRatio,
    Publication,
    RawFile,
    Server,
    Storage,
    WorkloadVariant,
)
from experiments.models.catalogue import CatalogueEntry


def case_studies() -> QuerySet[CaseStudy]:
    return CaseStudy.objects.visible()


def configurations() -> QuerySet[Configuration]:
    return Configuration.objects.filter(case_study__status__in=CaseStudy.VISIBLE)


def measurements() -> QuerySet[Measurement]:
    return Measurement.objects.filter(_not_of_drafts())


def _not_of_drafts() -> Q:
    """Return the condition that a row's configuration is of no draft."""
    # A subquery and no join: with a join PostgreSQL may scan all configurations first, not the rows in their order.
    drafts = Configuration.objects.exclude(case_study__status__in=CaseStudy.VISIBLE)
    return ~Q(Exists(drafts.filter(pk=OuterRef("configuration_id"))))


def raw_files() -> QuerySet[RawFile]:
    return RawFile.objects.filter(case_study__in=case_studies())


def derived_values() -> QuerySet[DerivedValue]:
    return DerivedValue.objects.filter(_not_of_drafts())


def printed_ratios() -> QuerySet[PrintedRatio]:
    return PrintedRatio.objects.filter(case_study__in=case_studies())


def servers() -> QuerySet[Server]:
    return Server.objects.filter(Exists(case_studies().filter(server=OuterRef("pk"))))


def storage() -> QuerySet[Storage]:
    return Storage.objects.filter(Exists(case_studies().filter(storage=OuterRef("pk"))))


def entries(model: type[CatalogueEntry]) -> QuerySet[Any]:
    """Return the catalogue's entries, without those that only drafts use."""
    return model._default_manager.filter(is_draft=False)


def publications(as_of: int | None = None) -> QuerySet[Publication]:
    """Return the publications that published case studies cite, and those of the model of components."""
    seen = _published_by(as_of)
    return Publication.objects.filter(
        Exists(seen.filter(publication=OuterRef("pk")))
        | Exists(seen.filter(claims__publication=OuterRef("pk")))
        | Exists(seen.filter(findings__publication=OuterRef("pk")))
        | Exists(ComponentName.objects.filter(publication=OuterRef("pk")))
    )


def findings() -> QuerySet[OrdinalFinding]:
    return OrdinalFinding.objects.filter(Exists(case_studies().filter(findings=OuterRef("pk"))))


def claims(as_of: int | None = None) -> QuerySet[Claim]:
    """Return the claims on published case studies; as_of : only those published by this knowledge revision"""
    return Claim.objects.filter(Exists(_published_by(as_of).filter(claims=OuterRef("pk"))))


def workload_variants() -> QuerySet[WorkloadVariant]:
    """Return the variants that visible numbers or findings have."""
    # Ordered, so that PostgreSQL takes the index to a variant's first measurement and does not scan the table.
    measured = measurements().filter(variant=OuterRef("pk")).order_by("configuration_id").values("pk")[:1]
    seen = Q(first_measured__isnull=False)
    for rows in (derived_values(), findings(), printed_ratios()):
        seen |= Q(Exists(rows.filter(variant=OuterRef("pk"))))
    return WorkloadVariant.objects.alias(first_measured=Subquery(measured)).filter(seen)


def _published_by(revision: int | None) -> QuerySet[CaseStudy]:
    """Return visible case studies; those published by the revision where one is given."""
    return case_studies() if revision is None else case_studies().filter(published_revision__lte=revision)
