"""The questions that pages and the API ask."""

from .models import RankingSnapshot
from .question import Question
from .ranking import METHOD
from .services import compute_snapshot


def current_ranking(question: Question) -> RankingSnapshot:
    """The newest answer to the question: one indexed read, computed only where none was kept.

    While a publication's answers are being worked out the previous one is given; `superseded_by`
    names the revision that is coming.
    """
    kept = RankingSnapshot.objects.filter(question=question.key, method=METHOD).order_by("-revision").first()
    return kept or compute_snapshot(question)


def kept_answers(questions: list[Question]) -> dict[Question, bool]:
    """Those of the questions that have a kept answer, and whether it ranks anything; one query."""
    of_key = {question.key: question for question in questions}
    rows = RankingSnapshot.objects.filter(question__in=of_key, method=METHOD).order_by("revision")
    return {of_key[key]: first is not None for key, first in rows.values_list("question", "result__entries__0__key")}
