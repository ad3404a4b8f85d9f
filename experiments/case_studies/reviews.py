"""Submit and review case studies; a digest ties the decision to the content that was submitted or seen."""

import logging
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from experiments.models import AuditEntry, CaseStudy, ImportBatch, KnowledgeRevision, Measurement
from experiments.signals import publication_wanted

from . import bundles, lifecycle, news
from .lifecycle import CaseStudyError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Obstacle:
    """One reason why a draft cannot be submitted. batch : the import that it is about, if any"""

    sentence: str
    batch: ImportBatch | None = None


def obstacles(draft: CaseStudy) -> list[Obstacle]:
    """Return the reasons why a draft cannot be submitted. Two queries."""
    found_obstacles = []
    if not Measurement.objects.filter(configuration__case_study=draft).exists():
        found_obstacles.append(Obstacle("There is nothing to review yet: no results are in the case study."))
    for batch in draft.imports.filter(state__in=_UNFINISHED).select_related("job").order_by("pk"):
        why = "its reading failed; read it again, or discard it" if batch.why_not_read else _UNFINISHED[batch.state]
        found_obstacles.append(Obstacle(f"{str(batch).capitalize()} is not finished: {why}.", batch))
    return found_obstacles


_UNFINISHED: dict[str, str] = {
    ImportBatch.State.READING: "it is being read",
    ImportBatch.State.FAULTY: "it has errors; correct it, or discard it",
    ImportBatch.State.READY: "confirm it, or discard it",
}


def submit(case_study: CaseStudy, *, user: User | None) -> None:
    """Ask for review. Raises CaseStudyError where it is no draft, holds nothing, or has an import under way."""
    with transaction.atomic():
        draft = lifecycle.lock(case_study, CaseStudy.Status.DRAFT, "Only a draft can be submitted.")
        if found_obstacles := obstacles(draft):
            raise CaseStudyError(" ".join(obstacle.sentence for obstacle in found_obstacles))
        draft.status, draft.submitted_digest = CaseStudy.Status.SUBMITTED, bundles.digest(draft)
        draft.save(update_fields=["status", "submitted_digest"])
        lifecycle.audit(draft, user, AuditEntry.Action.SUBMITTED)
        news.notify_reviewers(draft)


def publish(case_study: CaseStudy, *, seen: str | None, reason: str, user: User | None) -> KnowledgeRevision:
    """Make a submitted case study part of the knowledge, as a new revision.

    seen : bundles.digest of the content that the reviewer saw; None: of what was submitted
    Raises CaseStudyError, and changes nothing, where it is not submitted, has changed since, or a receiver of
    publication_wanted objects.
    """
    if reasons := [reason for _, reason in publication_wanted.send(sender=CaseStudy, case_study=case_study) if reason]:
        raise CaseStudyError(f"{case_study.slug} was not published. {' '.join(reasons)}")
    with transaction.atomic():
        submitted = lifecycle.lock(
            case_study, CaseStudy.Status.SUBMITTED, "Only a submitted case study can be published."
        )
        if seen is None and not submitted.submitted_digest:
            raise CaseStudyError(f"{submitted.slug} was submitted before its digest was kept: name the content_digest.")
        expected = submitted.submitted_digest if seen is None else seen
        if (digest := bundles.digest(submitted)) != expected:
            logger.info("not published case_study=%s expected=%s digest=%s", submitted.slug, expected[:64], digest)
            since = "it was submitted" if seen is None else "you looked at it"
            raise CaseStudyError(f"{submitted.slug} has changed since {since}. Look at it again, then publish it.")
        return lifecycle.publish([submitted], reason=reason, user=user)
