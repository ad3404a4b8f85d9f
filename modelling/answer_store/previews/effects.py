"""Compute which headlines changed when a case study was published, retracted, superseded or doubted.

The current method answers each question that the case study touches as of its revision and as of the one before. Both
answers have permanent addresses. Of a publication it also says which earlier case studies it contradicts.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from time import monotonic
from typing import Annotated

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.timezone import now

from experiments.models import CaseStudy, KnowledgeRevision
from kdb.jobs import jobs
from modelling.answers import words
from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.estimation.ranking import METHOD
from modelling.evidence import names
from modelling.models import RevisionEffects

from .contradictions import COMBINED, Contradiction, find_contradictions, notify_owners
from .preview import MOST_QUESTIONS, MOST_SECONDS, Extent, affected_questions, headline, summarize_answer

logger = logging.getLogger(__name__)

JOB = "recompute_effects"
_RECENT = timedelta(days=7)  # publications that are looked at: a KDB before this one looked at none


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
    contradicts: Annotated[
        tuple[Contradiction, ...], "Of a publication: earlier comparisons that came out otherwise."
    ] = ()


def find_effects(revision: int) -> RevisionEffects | None:
    """Return the effects of this revision; None while a worker computes them."""
    return RevisionEffects.objects.filter(revision=revision).first()


def has_effects(revision: KnowledgeRevision) -> bool:
    """Tell whether a worker computes the revision's effects: it ended something, or published one case study."""
    return revision.action != KnowledgeRevision.Action.PUBLISHED or _waiting().filter(pk=revision.pk).exists()


def enqueue() -> None:
    """Enqueue the revisions that ended something. Publications wait for a tick, behind the answers that they change."""
    if _waiting().exclude(action=KnowledgeRevision.Action.PUBLISHED).exists():
        jobs.enqueue_once(JOB)


def look_after() -> None:
    """Enqueue publications, and what else was lost or failed."""
    if _waiting().exists():
        jobs.enqueue_with_backoff(JOB)


def compute_effects(progress: Callable[[int, int], None]) -> None:
    """Compute the effects of all revisions that have none yet, newest first."""
    for revision in list(_waiting().order_by("-number")):
        case_study, result = _effects(revision, progress)
        fields = {"method": METHOD, "result": asdict(result), "computed_at": now()}
        with transaction.atomic():  # whoever adds the row notifies, so that owners are notified once
            if RevisionEffects.objects.get_or_create(revision=revision.number, defaults=fields)[1]:
                notify_owners(case_study, result.contradicts)
        logger.info("worked out effects revision=%s moved=%s", revision.number, len(result.moved))


def _waiting() -> QuerySet[KnowledgeRevision]:
    revisions = KnowledgeRevision.objects.annotate(studies=Count("published_case_studies"))
    ended = ~Q(action=KnowledgeRevision.Action.PUBLISHED)
    published = Q(studies=1, number__gt=1, created_at__gt=now() - _RECENT)
    computed = RevisionEffects.objects.filter(revision=OuterRef("number"))
    return revisions.filter(ended | published, ~Exists(computed))


def _effects(revision: KnowledgeRevision, progress: Callable[[int, int], None]) -> tuple[CaseStudy, Effects]:
    has_ended_rows = Q(endings__revision=revision)
    is_publication = revision.action == KnowledgeRevision.Action.PUBLISHED
    touched = Q(published_revision=revision) if is_publication else Q(retracted_revision=revision) | has_ended_rows
    case_study = CaseStudy.objects.filter(touched).distinct().get()
    questions = affected_questions(case_study.pk)
    moved, contradicts, until, done = [], list[Contradiction](), monotonic() + MOST_SECONDS, 0
    for question in questions[:MOST_QUESTIONS]:
        if monotonic() > until:
            break
        estimates = [estimate(question, number) for number in (revision.number - 1, revision.number)]
        before, after = (answer(one, revision.number - 1 + place) for place, one in enumerate(estimates))
        if is_publication and question.axis not in COMBINED and not question.filters:
            contradicts += find_contradictions(question, estimates[1].ranking.arms, case_study.slug)
        if headline(before) != headline(after):
            title = words.title(question, names.names())
            addresses = [words.address(question, answered.revision, method=METHOD) for answered in (before, after)]
            moved.append(
                MovedHeadline(title, summarize_answer(before), addresses[0], summarize_answer(after), addresses[1])
            )
        done += 1
        progress(done, len(questions[:MOST_QUESTIONS]))
    return case_study, Effects(
        revision=revision.number,
        case_study=case_study.slug,
        moved=tuple(moved),
        unchanged=done - len(moved),
        left_out=len(questions) - done,
        contradicts=tuple(contradicts),
    )
