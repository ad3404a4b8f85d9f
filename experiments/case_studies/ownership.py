"""Catalogue entries and other shared rows that a draft added: they are published with it, or deleted with it.

A catalogue entry or a publication that came with a draft is marked (SharedRow.is_draft) until one that uses it is
published. A variant, claim or finding has no mark: it is seen where a visible case study has it
(experiments.records.visible). Nothing is deleted that another case study, a host or anything else refers to by then.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, ForeignObjectRel, Model, OuterRef, QuerySet

from experiments.models import CaseStudy, Claim, Configuration, HostStorage, OrdinalFinding, WorkloadVariant
from experiments.records.references import SHARED, used_by, variants


@dataclass(frozen=True)
class OwnedRows:
    """Primary keys of a case study's rows that are deleted once no case study uses them."""

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
    """Make the entries that these case studies use public; call it in the transaction that publishes them."""
    case_studies = CaseStudy.objects.filter(pk__in=case_study_ids)
    for model in SHARED:
        drafts = _lock_rows(used_by(model, case_studies).filter(is_draft=True))
        model._default_manager.filter(pk__in=drafts).update(is_draft=False)


def delete_unused(candidates: OwnedRows | None = None) -> None:
    """Delete those of `candidates` that no case study uses, and entries of drafts that nothing refers to.

    Rows are locked before they are checked: a transaction that begins to use one is either seen here, or gets an
    IntegrityError.
    """
    if candidates:
        for rows in (
            Claim.objects.filter(pk__in=candidates.claims),
            OrdinalFinding.objects.filter(pk__in=candidates.findings),
        ):
            rows.model._default_manager.filter(pk__in=_lock_rows(rows), case_studies=None).delete()
        _lock_unreferenced(WorkloadVariant.objects.filter(pk__in=candidates.variants)).delete()
    for model in SHARED:
        _lock_unreferenced(model._default_manager.filter(is_draft=True)).delete()


def _lock_rows(rows: QuerySet[Any]) -> list[int]:
    return list(rows.select_for_update().order_by("pk").values_list("pk", flat=True))


def _lock_unreferenced(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Lock the rows; return those that no row of any model refers to."""
    model: type[Model] = rows.model
    locked = _lock_rows(rows)
    if not locked:  # mostly so, and the query below takes long to write
        return model._default_manager.none()
    unreferenced = model._default_manager.filter(pk__in=locked)
    if model is HostStorage:  # configurations keep its slug
        unreferenced = unreferenced.filter(~Exists(Configuration.objects.filter(backend=OuterRef("slug"))))
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and not relation.many_to_many:
            others = relation.related_model._base_manager.filter(**{relation.field.name: OuterRef("pk")})
            unreferenced = unreferenced.filter(~Exists(others))
    return unreferenced
