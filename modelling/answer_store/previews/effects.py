"""Compute which headlines changed when a case study was published, retracted, superseded or doubted.

Of what ended, the current method answers each question that it touches as of its revision and as of the one before. Of
a publication, the stored answers that it superseded stand beside the renewed ones, so that it costs no further answer,
and the earlier case studies that it contradicts are named. All answers have permanent addresses.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from time import monotonic
from typing import Annotated

import pandas as pd
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.timezone import now

from experiments.models import CaseStudy, KnowledgeRevision
from kdb.jobs import jobs
from kdb.units import METRICS, THROUGHPUT
from modelling.answers import words
from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.answers.knowledge import assumptions
from modelling.estimation.arms import comparable_arms
from modelling.estimation.ranking import METHOD
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.dataframes import Evidence
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot, RevisionEffects

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
    left_out: Annotated[int, "Questions that were not looked at, or whose answers rest until somebody asks."]
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


def reconcile() -> None:
    """Enqueue publications, and what else was lost or failed."""
    if _due().exists():
        jobs.enqueue_with_backoff(JOB)


def compute_effects(progress: Callable[[int, int], None]) -> None:
    """Compute the effects of all revisions that have none yet, newest first."""
    for revision in list(_due().order_by("-number")):
        is_publication = revision.action == KnowledgeRevision.Action.PUBLISHED
        case_study, result = _of_publication(revision) if is_publication else _of_end(revision, progress)
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


def _due() -> QuerySet[KnowledgeRevision]:
    """Return those that can be looked at now: the answers that a publication superseded were renewed, or tried."""
    superseded = RankingSnapshot.objects.filter(method=METHOD, attempts=0).waiting()
    return _waiting().exclude(
        Q(action=KnowledgeRevision.Action.PUBLISHED), Exists(superseded.filter(superseded_by=OuterRef("number")))
    )


def _of_publication(revision: KnowledgeRevision) -> tuple[CaseStudy, Effects]:
    case_study = CaseStudy.objects.get(published_revision=revision)
    answers = RankingSnapshot.objects.filter(method=METHOD)
    superseded = answers.filter(superseded_by=revision.number, revision__gt=0)
    renewed = answers.filter(revision=revision.number, question__in=superseded.values("question"))
    after = {row.question: row for row in renewed}
    moved, left_out = [], 0
    for before in superseded:
        if (new := after.get(before.question)) is None:
            left_out += 1
        elif _headline(before) != _headline(new):
            moved.append(_moved(Question.from_key(before.question), _stored(before), _stored(new)))
    contradicts = [
        contradiction
        for question in affected_questions(case_study.pk)
        if question.axis not in COMBINED and not question.filters
        for contradiction in find_contradictions(question, _compared_arms(question, revision.number), case_study.slug)
    ]
    return case_study, Effects(
        revision=revision.number,
        case_study=case_study.slug,
        moved=tuple(moved),
        unchanged=len(after) - len(moved),
        left_out=left_out,
        contradicts=tuple(contradicts),
    )


def _compared_arms(question: Question, revision: int) -> pd.DataFrame:
    """Return the comparable arms in throughput, else in the first metric in which some are."""
    evidence, axis = Evidence(question, as_of=revision), AXES[question.axis]
    measured = {metric for metric, *_ in evidence.metrics_measured()}
    for metric in (THROUGHPUT, *(metric for metric in METRICS if metric in measured - {THROUGHPUT})):
        arms = comparable_arms(evidence.arms(metric), axis, assumptions().spread)
        if len(arms):
            break
    return arms


def _headline(row: RankingSnapshot) -> tuple[str, str]:
    return row.result["verdict"]["sentence"], row.result["verdict"]["strength"]


def _stored(row: RankingSnapshot) -> tuple[int, Extent]:
    return row.revision, Extent(row.result["status"], len(row.result["parts"]), *_headline(row))


def _moved(question: Question, *answers: tuple[int, Extent]) -> MovedHeadline:
    """answers : revision of the answer before, and the answer in short; the same of the one after"""
    (before, extent_before), (after, extent_after) = answers
    addresses = [words.address(question, number, method=METHOD) for number in (before, after)]
    return MovedHeadline(words.title(question, names.names()), extent_before, addresses[0], extent_after, addresses[1])


def _of_end(revision: KnowledgeRevision, progress: Callable[[int, int], None]) -> tuple[CaseStudy, Effects]:
    has_ended_rows = Q(endings__revision=revision)
    case_study = CaseStudy.objects.filter(Q(retracted_revision=revision) | has_ended_rows).distinct().get()
    questions = affected_questions(case_study.pk)
    moved, until, done = [], monotonic() + MOST_SECONDS, 0
    numbers = (revision.number - 1, revision.number)
    for question in questions[:MOST_QUESTIONS]:
        if monotonic() > until:
            break
        before, after = (answer(estimate(question, number), number) for number in numbers)
        if headline(before) != headline(after):
            extents = map(summarize_answer, (before, after))
            moved.append(_moved(question, *zip(numbers, extents, strict=True)))
        done += 1
        progress(done, len(questions[:MOST_QUESTIONS]))
    return case_study, Effects(
        revision=revision.number,
        case_study=case_study.slug,
        moved=tuple(moved),
        unchanged=done - len(moved),
        left_out=len(questions) - done,
    )
