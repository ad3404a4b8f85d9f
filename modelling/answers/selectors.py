"""The answer to a question, as pages, the API and other features ask for it."""

import hashlib
from typing import Any

from django.db.models import Q

from modelling.estimation.ranking import METHOD, rank
from modelling.evidence import counts, frames
from modelling.evidence.axes import AXES
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

from .answer import as_dict
from .estimate import assumptions, ranking_of
from .snapshots import answer_as_of, compute_snapshot, note_asked

__all__ = [
    "answer_at",
    "answer_with_draft",
    "assumptions",
    "current_ranking",
    "kept_answers",
    "ranking_as_of",
    "ranking_of",
]


def _in_memory(question: Question, revision: int, as_of: bool) -> str:
    return f"modelling.answer:{METHOD}:{revision}:{as_of}:{hashlib.sha256(question.key.encode()).hexdigest()}"


def current_ranking(question: Question) -> RankingSnapshot:
    """The newest answer to the question: one indexed read, computed only where none was kept.

    While a publication's answers are being worked out the previous one is given; `superseded_by`
    names the revision that is coming. An answer that is not kept in the database (modelling.answers.snapshots says
    which) stays in memory for a while.
    """
    kept = RankingSnapshot.objects.filter(question=question.key, method=METHOD).order_by("-revision").first()
    if kept is None:
        return remembered(_in_memory(question, counts.revision(), as_of=False), lambda: compute_snapshot(question))
    note_asked(kept)
    return kept


def ranking_as_of(question: Question, revision: int) -> RankingSnapshot:
    """The answer as it was at this revision, whatever was published or retracted since.

    One that was kept then, or any earlier one that no publication up to then touched; else it is worked out
    from what counted then, and kept in memory.
    """
    stood = Q(superseded_by__isnull=True) | Q(superseded_by__gt=revision)
    then = RankingSnapshot.objects.filter(stood, question=question.key, method=METHOD, revision__lte=revision)
    if (kept := then.order_by("-revision").first()) is not None:
        note_asked(kept)
        return kept
    return remembered(_in_memory(question, revision, as_of=True), lambda: answer_as_of(question, revision))


def answer_at(question: Question, as_of: int | None) -> RankingSnapshot:
    """The answer now, or as of a revision where one is given."""
    return current_ranking(question) if as_of is None else ranking_as_of(question, as_of)


def kept_answers(questions: list[Question]) -> dict[Question, bool]:
    """Those of the questions that have a kept answer, and whether it ranks anything; one query."""
    of_key = {question.key: question for question in questions}
    rows = RankingSnapshot.objects.filter(question__in=of_key, method=METHOD).order_by("revision")
    return {of_key[key]: first is not None for key, first in rows.values_list("question", "result__entries__0__key")}


def answer_with_draft(question: Question, case_study_id: int | None, revision: int) -> dict[str, Any]:
    """The answer as it would be with one unpublished case study beside what is published; JSON-ready, never kept.

    Of a question without an answer it does not say what else was measured.
    """
    ranking = rank(
        frames.arms(question, with_draft=case_study_id),
        frames.findings(question, with_draft=case_study_id),
        AXES[question.axis],
        assumptions(),
    )
    return as_dict(question, ranking, revision, otherwise=())
