"""Compute which headlines changed when published evidence was retracted, superseded or doubted.

The current method answers each question that the case study touches as of the revision that ended it and as of the one
before. Both answers have permanent addresses.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.timezone import now

from experiments.models import CaseStudy, KnowledgeRevision
from kdb.jobs import jobs
from modelling.answers import words
from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.estimation.ranking import METHOD
from modelling.evidence import names
from modelling.models import RevisionEffects

from .preview import MOST_QUESTIONS, Extent, affected_questions, headline, summarize_answer

logger = logging.getLogger(__name__)

JOB = "recompute_effects"


@dataclass(frozen=True)
class MovedHeadline:
    """One question that is answered otherwise than before."""

    title: str
    before: Extent
    before_url: Annotated[str, "The whole answer, at its permanent address."]
    after: Extent
    after_url: str


@dataclass(frozen=True)
class Effects:
    """The headlines that one revision moved."""

    component = "RevisionEffects"

    revision: int
    case_study: str
    moved: tuple[MovedHeadline, ...]
    unchanged: Annotated[int, "Questions looked at whose headline stayed."]
    left_out: Annotated[int, "Questions that were not looked at."]


def find_effects(revision: int) -> RevisionEffects | None:
    """Return the effects of this revision; None while a worker computes them."""
    return RevisionEffects.objects.filter(revision=revision).first()


def has_effects(revision: KnowledgeRevision) -> bool:
    """Tell whether the revision took something out of the knowledge."""
    return revision.action != KnowledgeRevision.Action.PUBLISHED


def enqueue() -> None:
    """Enqueue the revisions that ended something and have no effects yet."""
    if _waiting().exists():
        jobs.enqueue_once(JOB)


def look_after() -> None:
    """Enqueue them again where the job was lost or failed."""
    if _waiting().exists():
        jobs.enqueue_with_backoff(JOB)


def compute_effects(progress: Callable[[int, int], None]) -> None:
    """Compute the effects of all revisions that have none yet, newest first."""
    for revision in list(_waiting().order_by("-number")):
        result = _effects(revision, progress)
        RevisionEffects.objects.update_or_create(
            revision=revision.number, defaults={"method": METHOD, "result": asdict(result), "computed_at": now()}
        )
        logger.info("worked out effects revision=%s moved=%s", revision.number, len(result.moved))


def _waiting() -> QuerySet[KnowledgeRevision]:
    ended = KnowledgeRevision.objects.exclude(action=KnowledgeRevision.Action.PUBLISHED)
    return ended.filter(~Exists(RevisionEffects.objects.filter(revision=OuterRef("number"))))


def _effects(revision: KnowledgeRevision, progress: Callable[[int, int], None]) -> Effects:
    has_ended_rows = Q(endings__revision=revision)
    case_study = CaseStudy.objects.filter(Q(retracted_revision=revision) | has_ended_rows).distinct().get()
    questions = affected_questions(case_study.pk)
    looked_at = questions[:MOST_QUESTIONS]
    moved = []
    for done, question in enumerate(looked_at, start=1):
        before, after = (
            answer(estimate(question, number), number) for number in (revision.number - 1, revision.number)
        )
        if headline(before) != headline(after):
            title = words.title(question, names.names())
            addresses = [words.address(question, answered.revision, method=METHOD) for answered in (before, after)]
            moved.append(
                MovedHeadline(title, summarize_answer(before), addresses[0], summarize_answer(after), addresses[1])
            )
        progress(done, len(looked_at))
    return Effects(
        revision=revision.number,
        case_study=case_study.slug,
        moved=tuple(moved),
        unchanged=len(looked_at) - len(moved),
        left_out=len(questions) - len(looked_at),
    )
