"""The fate of the things a draft brings: public with it, forgotten with it.

A catalogue entry or a publication that came with a draft is marked (SharedRow.is_draft) until one that uses it is
published. A variant, claim or finding has no mark: it is seen where a visible case study has it
(experiments.records.visible). Nothing is deleted that another case study, a host or anything else refers to by then.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, ForeignObjectRel, Model, OuterRef, QuerySet

from experiments.models import CaseStudy, Claim, OrdinalFinding, WorkloadVariant
from experiments.records.references import SHARED, used_by, variants


@dataclass(frozen=True)
class OwnedRows:
    """The keys of a case study's things that go when no case study has them any more."""

    variants: list[int]
    claims: list[int]
    findings: list[int]


def owned_by(case_study: CaseStudy) -> OwnedRows:
    return OwnedRows(
        list(variants(CaseStudy.objects.filter(pk=case_study.pk)).values_list("pk", flat=True)),
        list(case_study.claims.values_list("pk", flat=True)),
        list(case_study.findings.values_list("pk", flat=True)),
    )


def release(case_study_ids: list[int]) -> None:
    """Release what these case studies use from drafts; call it in the transaction that publishes them."""
    case_studies = CaseStudy.objects.filter(pk__in=case_study_ids)
    for model in SHARED:
        drafts = _locked(used_by(model, case_studies).filter(is_draft=True))
        model._default_manager.filter(pk__in=drafts).update(is_draft=False)


def delete_unused(left: OwnedRows | None = None) -> None:
    """Delete those of `left` that no case study has any more, and entries of drafts that nothing refers to.

    Rows are locked before they are looked at: whoever begins to use one meanwhile either is seen here, or is
    told by the database that it is gone.
    """
    if left:
        for rows in (Claim.objects.filter(pk__in=left.claims), OrdinalFinding.objects.filter(pk__in=left.findings)):
            rows.model._default_manager.filter(pk__in=_locked(rows), case_studies=None).delete()
        _unreferred(WorkloadVariant.objects.filter(pk__in=left.variants)).delete()
    for model in SHARED:
        _unreferred(model._default_manager.filter(is_draft=True)).delete()


def _locked(rows: QuerySet[Any]) -> list[int]:
    return list(rows.select_for_update().order_by("pk").values_list("pk", flat=True))


def _unreferred(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return those of the rows, locked, that no other row of any application refers to."""
    model: type[Model] = rows.model
    locked = _locked(rows)
    if not locked:  # mostly so, and the query below takes long to write
        return model._default_manager.none()
    unreferred = model._default_manager.filter(pk__in=locked)
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and not relation.many_to_many:
            others = relation.related_model._base_manager.filter(**{relation.field.name: OuterRef("pk")})
            unreferred = unreferred.filter(~Exists(others))
    return unreferred
