"""What every reader may see: what belongs to published and to retracted case studies, and the catalogue.

Drafts and submitted case studies, and whatever only they refer to, are in none of these; nor is what belongs to
no case study at all. Every door that reads for everybody asks here.
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
    return Measurement.objects.filter(_is_of_no_draft())


def _is_of_no_draft() -> Q:
    """Of rows of configurations. Said so that what drafts have is left out while the rows are read in their own order;
    of an inner join PostgreSQL may begin with the configurations, all of them."""
    drafts = Configuration.objects.exclude(case_study__status__in=CaseStudy.VISIBLE)
    return ~Q(Exists(drafts.filter(pk=OuterRef("configuration_id"))))


def raw_files() -> QuerySet[RawFile]:
    return RawFile.objects.filter(case_study__in=case_studies())


def derived_values() -> QuerySet[DerivedValue]:
    return DerivedValue.objects.filter(_is_of_no_draft())


def printed_ratios() -> QuerySet[PrintedRatio]:
    return PrintedRatio.objects.filter(case_study__in=case_studies())


def servers() -> QuerySet[Server]:
    return Server.objects.filter(Exists(case_studies().filter(server=OuterRef("pk"))))


def storage() -> QuerySet[Storage]:
    return Storage.objects.filter(Exists(case_studies().filter(storage=OuterRef("pk"))))


def entries(model: type[CatalogueEntry]) -> QuerySet[Any]:
    """The catalogue's, without those that only drafts use."""
    return model._default_manager.filter(is_draft=False)


def publications(as_of: int | None = None) -> QuerySet[Publication]:
    """Those that something published is cited from, and those that the model of components is."""
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
    """Those on what is published; with a knowledge revision `as_of`, on what was published by then."""
    return Claim.objects.filter(Exists(_published_by(as_of).filter(claims=OuterRef("pk"))))


def workload_variants() -> QuerySet[WorkloadVariant]:
    """Measurements are asked for the first of each variant, which is as a rule a visible one: with that order
    PostgreSQL takes the index, and does not hope to meet one soon in the whole table."""
    measured = measurements().filter(variant=OuterRef("pk")).order_by("configuration_id").values("pk")[:1]
    seen = Q(first_measured__isnull=False)
    for rows in (derived_values(), findings(), printed_ratios()):
        seen |= Q(Exists(rows.filter(variant=OuterRef("pk"))))
    return WorkloadVariant.objects.alias(first_measured=Subquery(measured)).filter(seen)


def _published_by(revision: int | None) -> QuerySet[CaseStudy]:
    """Visible case studies; those published by the revision where one is given."""
    return case_studies() if revision is None else case_studies().filter(published_revision__lte=revision)
