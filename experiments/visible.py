"""What every reader may see: what belongs to published and to retracted case studies.

Drafts and submitted case studies, and whatever only they refer to, are in none of these.
"""

from django.db.models import Exists, OuterRef, Q, QuerySet

from experiments.models import (
    CaseStudy,
    Claim,
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


def case_studies() -> QuerySet[CaseStudy]:
    return CaseStudy.objects.visible()


def configurations() -> QuerySet[Configuration]:
    return Configuration.objects.filter(case_study__in=case_studies())


def measurements() -> QuerySet[Measurement]:
    return Measurement.objects.filter(configuration__in=configurations())


def raw_files() -> QuerySet[RawFile]:
    return RawFile.objects.filter(case_study__in=case_studies())


def derived_values() -> QuerySet[DerivedValue]:
    return DerivedValue.objects.filter(configuration__in=configurations())


def printed_ratios() -> QuerySet[PrintedRatio]:
    return PrintedRatio.objects.filter(case_study__in=case_studies())


def servers() -> QuerySet[Server]:
    return Server.objects.filter(Exists(case_studies().filter(server=OuterRef("pk"))))


def storage() -> QuerySet[Storage]:
    return Storage.objects.filter(Exists(case_studies().filter(storage=OuterRef("pk"))))


def publications(as_of: int | None = None) -> QuerySet[Publication]:
    """Those with something published; one that no case study stands on is cited for the model alone."""
    return _unless_hidden(Publication.objects, CaseStudy.objects.filter(publication=OuterRef("pk")), as_of)


def findings() -> QuerySet[OrdinalFinding]:
    return _unless_hidden(OrdinalFinding.objects, CaseStudy.objects.filter(findings=OuterRef("pk"))).filter(
        publication__in=publications()
    )


def claims(as_of: int | None = None) -> QuerySet[Claim]:
    """Those on what is published; with a knowledge revision `as_of`, on what was published by then."""
    return _unless_hidden(Claim.objects, CaseStudy.objects.filter(claims=OuterRef("pk")), as_of).filter(
        publication__in=publications(as_of)
    )


def workload_variants() -> QuerySet[WorkloadVariant]:
    """Those that a visible number or finding was made with.

    Asked by way of the configurations, which are few, so that a million rows of a draft cost nothing.
    """
    used = Q()
    for model in (Measurement, DerivedValue):
        rows = model.objects.filter(configuration=OuterRef("pk"), variant=OuterRef(OuterRef("pk")))
        used |= Q(Exists(configurations().filter(Exists(rows))))
    return WorkloadVariant.objects.filter(used | Q(Exists(findings().filter(variant=OuterRef("pk")))))


def _unless_hidden(objects, case_studies_of_row: QuerySet[CaseStudy], as_of: int | None = None) -> QuerySet:
    """Rows with a visible case study, published by the revision `as_of` where one is given, or with none at all."""
    seen = case_studies_of_row.visible()
    seen = seen if as_of is None else seen.filter(published_revision__lte=as_of)
    return objects.filter(Exists(seen) | ~Exists(case_studies_of_row))
