"""Count what is published, and return the knowledge revision."""

import hashlib
import re
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, Sum

from experiments.models import (
    CaseStudy,
    Claim,
    Configuration,
    DerivedValue,
    KnowledgeRevision,
    Measurement,
    OrdinalFinding,
)
from modelling.models import Arm

_SECONDS = 60


def revision() -> int:
    """Return the current knowledge revision; 0 before the first publication."""
    return KnowledgeRevision.now()


def published(revision: int) -> dict[str, int]:
    """Count what is published at this revision, by kind; drafts and retracted case studies do not count.

    Measurements are counted from the arms, whose number does not grow with them. Cached for a minute under the
    revision, so that a publication shows at once.
    """
    numbers: Any = cache.get_or_set(f"modelling.evidence.counts.{revision}", _count, _SECONDS)
    return numbers


def _count() -> dict[str, int]:
    case_studies = CaseStudy.objects.published()
    measured = Arm.objects.filter(origin=Arm.Origin.MEASURED, configuration__case_study__in=case_studies)
    return {
        "case_studies": case_studies.count(),
        "configurations": Configuration.objects.filter(case_study__in=case_studies).count(),
        "measurements": measured.aggregate(rows=Sum("measurements"))["rows"] or 0,
        "derived": DerivedValue.objects.filter(configuration__case_study__in=case_studies).count(),
        "findings": OrdinalFinding.objects.filter(case_studies__in=case_studies).distinct().count(),
        "claims": Claim.objects.filter(case_studies__in=case_studies).distinct().count(),
    }


def parse_revision(text: str) -> int | None:
    """Return the knowledge revision that a text gives; None where it is no number of one."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        return None
    return int(text) if int(text) <= revision() else None


def has_more_arms_than(number: int) -> bool:
    """Tell whether more arms are published than this."""
    published = Arm.objects.filter(configuration__case_study__in=CaseStudy.objects.published())
    return published[number : number + 1].exists()


def workloads_of(case_study_id: int) -> list[str]:
    """Return the slugs of all workloads of which a case study, published or not, ever had numbers or findings."""
    arms = Arm.ever.filter(configuration__case_study=case_study_id)
    findings = OrdinalFinding.objects.filter(case_studies=case_study_id)
    column = "variant__workload__slug"
    return sorted({*arms.values_list(column, flat=True), *findings.values_list(column, flat=True)})


def content_token(case_study_id: int) -> str:
    """Return a digest that changes with the case study's measurements and its statements on how it measured."""
    procedure = CaseStudy.objects.filter(pk=case_study_id).values_list("procedure", "run_seconds", "repetitions")
    rows = Measurement.objects.filter(configuration__case_study=case_study_id)
    seen = rows.aggregate(count=Count("pk"), last=Max("pk"), total=Sum("value"))
    return hashlib.sha256(repr((sorted(seen.items()), list(procedure))).encode()).hexdigest()
