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


def servers() -> QuerySet[Server]:
    return Server.objects.filter(Exists(case_studies().filter(server=OuterRef("pk"))))


def storage() -> QuerySet[Storage]:
    return Storage.objects.filter(Exists(case_studies().filter(storage=OuterRef("pk"))))


def publications() -> QuerySet[Publication]:
    """Those with something published; one that no case study stands on is cited for the model alone."""
    return _unless_hidden(Publication.objects, CaseStudy.objects.filter(publication=OuterRef("pk")))


def findings() -> QuerySet[OrdinalFinding]:
    return _unless_hidden(OrdinalFinding.objects, CaseStudy.objects.filter(findings=OuterRef("pk"))).filter(
        publication__in=publications()
    )


def claims() -> QuerySet[Claim]:
    return _unless_hidden(Claim.objects, CaseStudy.objects.filter(claims=OuterRef("pk"))).filter(
        publication__in=publications()
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


def _unless_hidden(objects, case_studies_of_row: QuerySet[CaseStudy]) -> QuerySet:
    """Rows with a visible case study, or with none at all."""
    return objects.filter(Exists(case_studies_of_row.visible()) | ~Exists(case_studies_of_row))
