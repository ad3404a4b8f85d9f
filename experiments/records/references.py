"""Find the rows that case studies refer to: variants, catalogue entries and publications."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from experiments.models import (
    Benchmark,
    CaseStudy,
    Claim,
    Configuration,
    DerivedValue,
    FileSystem,
    HostStorage,
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

# Models whose rows several case studies may share. SharedRow.is_draft marks those that only drafts use.
SHARED: tuple[type[SharedRow], ...] = (
    *(Publication, Hypervisor, HostStorage, FileSystem, OperatingSystem, Benchmark, Workload),
)


def variants(case_studies: QuerySet[CaseStudy]) -> QuerySet[WorkloadVariant]:
    """Return the variants that a number, a printed ratio or a finding of these case studies was made with.

    The query starts at the configurations, which are few, so that the rows of other case studies are not read.
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
    """Return rows of a model of SHARED that these case studies, or rows that belong to them, refer to."""
    rows_of: tuple[QuerySet[Any], ...] = (
        case_studies,
        Configuration.objects.filter(case_study__in=case_studies),
        PrintedRatio.objects.filter(case_study__in=case_studies),
        OrdinalFinding.objects.filter(case_studies__in=case_studies),
        Claim.objects.filter(case_studies__in=case_studies),
        variants(case_studies),
    )
    used = Q(pk__in=[])
    if model is HostStorage:  # configurations keep its slug
        used = Q(slug__in=Configuration.objects.filter(case_study__in=case_studies).order_by().values("backend"))
    for rows in rows_of:
        for field in (*rows.model._meta.concrete_fields, *rows.model._meta.many_to_many):
            if field.related_model is model:
                used |= Q(pk__in=rows.order_by().values(field.name))
    return model._default_manager.filter(used)
