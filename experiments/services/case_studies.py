"""How a case study becomes knowledge."""

import logging
from collections.abc import Iterable

from django.db import IntegrityError, transaction

from experiments.models import CaseStudy, KnowledgeRevision
from experiments.signals import knowledge_changed

logger = logging.getLogger(__name__)


class CaseStudyError(Exception):
    """A case study cannot go where it was asked to go; the text is fit to show."""


def publish(case_studies: Iterable[CaseStudy], *, reason: str) -> KnowledgeRevision:
    """Make drafts part of the knowledge, together, as one new revision.

    Raises CaseStudyError, and changes nothing, where one of them is published or retracted already.
    """
    ids = [case_study.pk for case_study in case_studies]
    with transaction.atomic():
        revision = _next_revision(KnowledgeRevision.Action.PUBLISHED, reason)
        changed = CaseStudy.objects.filter(
            pk__in=ids, status__in=[CaseStudy.Status.DRAFT, CaseStudy.Status.SUBMITTED]
        ).update(status=CaseStudy.Status.PUBLISHED, published_revision=revision)
        if changed != len(ids) or not ids:
            raise CaseStudyError("Only drafts and submitted case studies can be published, and at least one.")
        knowledge_changed.send(sender=CaseStudy, case_study_ids=ids, revision=revision.number)
    logger.info("published revision=%s case_studies=%s", revision.number, ids)
    return revision


def retract(case_study: CaseStudy, *, reason: str) -> KnowledgeRevision:
    """Take a published case study out of the knowledge; it stays visible with the reason.

    Raises CaseStudyError, and changes nothing, where it is not published or the reason is empty.
    """
    if not reason.strip():
        raise CaseStudyError("A retraction needs a reason.")
    with transaction.atomic():
        revision = _next_revision(KnowledgeRevision.Action.RETRACTED, reason)
        changed = CaseStudy.objects.filter(pk=case_study.pk, status=CaseStudy.Status.PUBLISHED).update(
            status=CaseStudy.Status.RETRACTED, retracted_revision=revision, retraction_reason=reason
        )
        if not changed:
            raise CaseStudyError("Only a published case study can be retracted.")
        knowledge_changed.send(sender=CaseStudy, case_study_ids=[case_study.pk], revision=revision.number)
    logger.info("retracted revision=%s case_study=%s", revision.number, case_study.pk)
    return revision


def _next_revision(action: str, reason: str) -> KnowledgeRevision:
    """The next revision. The latest row is the lock that publications and kept answers share."""
    while True:
        latest = KnowledgeRevision.objects.select_for_update().order_by("-number").first()
        try:
            with transaction.atomic():
                number = latest.number + 1 if latest else 1
                return KnowledgeRevision.objects.create(number=number, action=action, reason=reason)
        except IntegrityError:  # another publication took the number meanwhile
            continue
