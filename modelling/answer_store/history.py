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

MOST = 20  # older ones are mostly deleted by then (snapshots.delete_least_asked)


def changed_answers(question: Question, until: int | None = None) -> list[RankingSnapshot]:
    """Return the stored answers whose conclusion differs from that of the one before, newest first.

    A revision is represented by its answer of the earliest method, so that a new method changes no old revision.
    until : the last revision to look at; None: the newest
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
    """An earlier answer in a sentence. address : permanent, "" where an earlier method gave it and it is not pinned"""

    revision: int
    published_at: datetime
    sentence: str
    address: str


def earlier_answers(question: Question, answer: Answer) -> list[EarlierAnswer]:
    """Return the earlier answers to the question, newest first; of equal ones in a row only the first."""
    rows = changed_answers(question, answer.revision)
    if rows and conclusion(answer_in(rows[0])) == conclusion(answer):
        rows = rows[1:]
    published = publication_times({row.revision for row in rows})
    pinned = permalinks.pinned_versions(permalinks.permalink_key("ranking", question.key))
    return [
        EarlierAnswer(
            row.revision,
            published[row.revision],
            answer_in(row).verdict.sentence,
            words.address(question, row.revision, method=row.method)
            if row.method == METHOD or (row.revision, row.method) in pinned
            else "",
        )
        for row in rows
    ]


def publication_times(revisions: set[int]) -> dict[int, datetime]:
    """Return when each of these knowledge revisions was made."""
    return dict(KnowledgeRevision.objects.filter(number__in=revisions).values_list("number", "created_at"))
