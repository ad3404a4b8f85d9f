"""The life cycle of a case study up to its publication; how it ends is in experiments.case_studies.retraction.

Each step locks the case study, checks its status, and writes its audit entry in the same transaction. Where it makes a
revision, it locks that second. Callers ask experiments.permissions before whether the user may take the step.
"""

import logging
import secrets
from collections.abc import Collection, Iterable

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Model

from experiments.models import AuditEntry, CaseStudy, KnowledgeRevision, Measurement, Server, Storage
from experiments.signals import knowledge_changed

from . import ownership

logger = logging.getLogger(__name__)


class CaseStudyError(Exception):
    """The step is not possible in the case study's present status; the message may be shown to users."""


def slug_taken_message(slug: str) -> str:
    """Return the message for a slug in use; it does not tell by what, as that may be somebody's unpublished draft."""
    return f"The short name {slug} is not available; {slug[:70]}-{secrets.token_hex(2)} probably is."


def create_draft(case_study: CaseStudy, server: Server, storage: Storage, *, user: User | None) -> CaseStudy:
    """Store a new draft with the server and the storage it was measured on; all three are unsaved and checked.

    Raises CaseStudyError where the short name is in use.
    """
    try:
        with transaction.atomic():
            server.slug = storage.slug = case_study.slug
            server.save()
            storage.server = server
            storage.save()
            case_study.server, case_study.storage, case_study.owner = server, storage, user
            case_study.save()
            audit(case_study, user, AuditEntry.Action.CREATED)
    except IntegrityError as error:
        raise CaseStudyError(slug_taken_message(case_study.slug)) from error
    logger.info("created draft case_study=%s", case_study.pk)
    return case_study


def edit_draft(case_study: CaseStudy, changed: Iterable[tuple[Model, Collection[str]]], *, user: User) -> None:
    """Save these fields of a draft, of its server and of its storage. Raises CaseStudyError where it is no draft."""
    with transaction.atomic():
        lock(case_study, CaseStudy.Status.DRAFT, "Only a draft can be changed.")
        for row, fields in changed:
            row.save(update_fields=fields)
        audit(case_study, user, AuditEntry.Action.EDITED)


def give_back(case_study: CaseStudy, *, reason: str, user: User) -> None:
    """Make a submitted case study a draft again. Raises CaseStudyError where it is not submitted."""
    with transaction.atomic():
        lock(case_study, CaseStudy.Status.SUBMITTED, "Only a submitted case study can be given back.")
        CaseStudy.objects.filter(pk=case_study.pk).update(status=CaseStudy.Status.DRAFT, submitted_digest="")
        audit(case_study, user, AuditEntry.Action.RETURNED, reason)


def delete_draft(case_study: CaseStudy, *, user: User | None = None) -> None:
    """Delete a draft and everything that it alone uses; its audit trail stays, under its short name.

    Raises CaseStudyError where it is no draft.
    """
    with transaction.atomic():
        why_not = "Only a draft can be deleted; what was published is retracted instead."
        draft = lock(case_study, CaseStudy.Status.DRAFT, why_not)
        owned = ownership.owned_by(draft)
        Measurement.objects.filter(configuration__case_study=draft)._raw_delete(using="default")
        audit(draft, user, AuditEntry.Action.DELETED, draft.title)
        draft.audit_entries.update(case_study=None, deleted_case_study=draft.slug)
        draft.delete()
        server = draft.server
        if not server.case_studies.exists():
            server.delete()  # and its storage
        ownership.delete_unused(owned)
    logger.info("deleted draft case_study=%s", case_study.pk)


def publish(case_studies: Iterable[CaseStudy], *, reason: str, user: User | None = None) -> KnowledgeRevision:
    """Publish drafts together, as one new revision, without a review: reviewers use reviews.publish.

    Raises CaseStudyError, and changes nothing, where one of them is published or retracted already.
    """
    ids = [case_study.pk for case_study in case_studies]
    with transaction.atomic():
        list(CaseStudy.objects.select_for_update().filter(pk__in=ids).order_by("pk").values_list("pk"))
        revision = next_revision(KnowledgeRevision.Action.PUBLISHED, reason)
        changed = CaseStudy.objects.filter(
            pk__in=ids, status__in=[CaseStudy.Status.DRAFT, CaseStudy.Status.SUBMITTED]
        ).update(status=CaseStudy.Status.PUBLISHED, published_revision=revision)
        if changed != len(ids) or not ids:
            raise CaseStudyError("Only drafts and submitted case studies can be published, and at least one.")
        ownership.release(ids)
        for pk in ids:
            AuditEntry.objects.create(
                case_study_id=pk, actor=user, action=AuditEntry.Action.PUBLISHED, detail=f"{revision}: {reason}"
            )
        knowledge_changed.send(sender=CaseStudy, case_study_ids=ids, revision=revision.number)
    logger.info("published revision=%s case_studies=%s", revision.number, ids)
    return revision


def audit(case_study: CaseStudy, user: User | None, action: AuditEntry.Action, detail: str = "") -> None:
    AuditEntry.objects.create(case_study=case_study, actor=user, action=action, detail=detail)


def lock(case_study: CaseStudy, status: str, otherwise: str) -> CaseStudy:
    """Return the case study as it is now, locked. Raises CaseStudyError where it has another status or is deleted."""
    current = CaseStudy.objects.select_for_update().filter(pk=case_study.pk).first()
    if current is None or current.status != status:
        raise CaseStudyError(otherwise if current else f"{case_study.slug} was deleted meanwhile.")
    return current


def next_revision(action: str, reason: str) -> KnowledgeRevision:
    """Add the next revision and return it. Publications and stored answers both lock the latest row."""
    while True:
        latest = KnowledgeRevision.objects.select_for_update().order_by("-number").first()
        try:
            with transaction.atomic():
                number = latest.number + 1 if latest else 1
                return KnowledgeRevision.objects.create(number=number, action=action, reason=reason)
        except IntegrityError:  # another publication took the number meanwhile
            continue
