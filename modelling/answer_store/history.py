"""Find the answers to a question that differ from the one before, for its feed and its page."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice

from experiments.models import KnowledgeRevision
from modelling.answers import words
from modelling.answers.content import Answer, conclusion
from modelling.estimation.ranking import METHOD
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

from . import permalinks
from .selectors import answer_in

MOST = 20  # answers that nobody asks for are forgotten sooner (modelling.answer_store.snapshots)


def changed_answers(question: Question, until: int | None = None) -> list[RankingSnapshot]:
    """Return the stored answers that say something else than the one before them, newest first.

    Each revision counts with the answer of its earliest method: a new method makes no news of old revisions.
    until : the last revision that is looked at; None: all are
    """
    rows = RankingSnapshot.objects.filter(question=question.key, revision__gt=0)
    if until is not None:
        rows = rows.filter(revision__lte=until)
    return list(islice(_changes(rows.order_by("-revision", "method").iterator(chunk_size=MOST)), MOST))


def _changes(rows: Iterator[RankingSnapshot]) -> Iterator[RankingSnapshot]:
    later: RankingSnapshot | None = None
    for _, (row, *_others) in groupby(rows, key=lambda row: row.revision):
        if later is not None and conclusion(answer_in(later)) != conclusion(answer_in(row)):
            yield later
        later = row
    if later is not None:
        yield later


@dataclass(frozen=True)
class EarlierAnswer:
    """An earlier answer in a sentence. address : the permanent one, "" where an earlier method's was not kept"""

    revision: int
    published_at: datetime
    sentence: str
    address: str


def earlier_answers(question: Question, answer: Answer) -> list[EarlierAnswer]:
    """Return the earlier answers to the question, newest first; of equal ones in a row only the first."""
    rows = changed_answers(question, answer.revision)
    if rows and conclusion(answer_in(rows[0])) == conclusion(answer):
        rows = rows[1:]
    published = published_at({row.revision for row in rows})
    kept = permalinks.pinned_versions(permalinks.permalink_key("ranking", question.key))
    return [
        EarlierAnswer(
            row.revision,
            published[row.revision],
            answer_in(row).verdict.sentence,
            words.address(question, row.revision, method=row.method)
            if row.method == METHOD or (row.revision, row.method) in kept
            else "",
        )
        for row in rows
    ]


def published_at(revisions: set[int]) -> dict[int, datetime]:
    return dict(KnowledgeRevision.objects.filter(number__in=revisions).values_list("number", "created_at"))
