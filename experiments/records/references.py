"""The things that case studies refer to and bring along: variants, entries, publications, claims and findings."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from experiments.models import (
    Benchmark,
    CaseStudy,
    Claim,
    Configuration,
    DerivedValue,
    FileSystem,
    Hypervisor,
    Measurement,
    OperatingSystem,
    OrdinalFinding,
    PrintedRatio,
    Publication,
    Workload,
    WorkloadVariant,
)
from experiments.models.catalogue import SharedRow

# Models whose rows several case studies may name. A draft's own are marked as such (SharedRow.is_draft).
SHARED: tuple[type[SharedRow], ...] = (Publication, Hypervisor, FileSystem, OperatingSystem, Benchmark, Workload)


def variants(case_studies: QuerySet[CaseStudy]) -> QuerySet[WorkloadVariant]:
    """Return the variants that a number, a printed ratio or a finding of these case studies was made with.

    Asked by way of the configurations, which are few, so that a million rows of another case study cost nothing.
    """
    configurations = Configuration.objects.filter(case_study__in=case_studies)
    used = Q()
    for model in (Measurement, DerivedValue):
        rows = model.objects.filter(configuration=OuterRef("pk"), variant=OuterRef(OuterRef("pk")))
        used |= Q(Exists(configurations.filter(Exists(rows))))
    used |= Q(Exists(OrdinalFinding.objects.filter(case_studies__in=case_studies, variant=OuterRef("pk"))))
    used |= Q(Exists(PrintedRatio.objects.filter(case_study__in=case_studies, variant=OuterRef("pk"))))
    return WorkloadVariant.objects.filter(used)


def used_by(model: type[SharedRow], case_studies: QuerySet[CaseStudy]) -> QuerySet[Any]:
    """Return rows of one of SHARED that these case studies refer to, themselves or by what belongs to them."""
    rows_of: tuple[QuerySet[Any], ...] = (
        case_studies,
        Configuration.objects.filter(case_study__in=case_studies),
        PrintedRatio.objects.filter(case_study__in=case_studies),
        OrdinalFinding.objects.filter(case_studies__in=case_studies),
        Claim.objects.filter(case_studies__in=case_studies),
        variants(case_studies),
    )
    used = Q(pk__in=[])
    for rows in rows_of:
        for field in (*rows.model._meta.concrete_fields, *rows.model._meta.many_to_many):
            if field.related_model is model:
                used |= Q(pk__in=rows.order_by().values(field.name))
    return model._default_manager.filter(used)
