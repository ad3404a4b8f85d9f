"""A reviewer's decision, bound to what the reviewer saw."""

import logging

from django.db import transaction

from experiments.models import CaseStudy, KnowledgeRevision

from . import bundles, life
from .life import CaseStudyError

logger = logging.getLogger(__name__)


def publish(case_study: CaseStudy, *, seen: str, reason: str, user) -> KnowledgeRevision:
    """Make a submitted case study part of the knowledge, as a new revision.

    seen : bundles.digest of the content that was looked at
    Raises CaseStudyError, and changes nothing, where it is not submitted any more, or holds something else by now.
    """
    with transaction.atomic():
        found = life.locked(case_study, CaseStudy.Status.SUBMITTED, "Only a submitted case study can be published.")
        if (there := bundles.digest(found)) != seen:
            logger.info("not published case_study=%s seen=%s there=%s", found.slug, seen[:64], there)
            raise CaseStudyError(f"{found.slug} has changed since you looked at it. Look at it again, then publish it.")
        return life.publish([found], reason=reason, user=user)
