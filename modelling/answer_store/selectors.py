"""Read the answer to a question for pages, the API and other features; compute it where none is stored."""

import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import cattrs
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.db.models.fields.json import KT

from kdb.database.prepared_queries import PreparedQuery
from kdb.operations import metrics
from modelling.answers.content import Answer
from modelling.estimation.ranking import METHOD
from modelling.estimation.verdict import weaker
from modelling.evidence import counts, dataframes
from modelling.evidence.question import Question
from modelling.evidence.storage import get_or_compute
from modelling.models import RankingSnapshot

from . import snapshots, staleness
from .snapshots import compute_and_store, compute_past, record_request

logger = logging.getLogger(__name__)


def _cache_key(question: Question, revision: int, as_of: bool) -> str:
    return f"modelling.answer:{METHOD}:{revision}:{as_of}:{hashlib.sha256(question.key.encode()).hexdigest()}"


def current_snapshot(question: Question) -> RankingSnapshot:
    """Return the newest answer to the question: one indexed read, computed where none is stored or it rests.

    While a publication's answers are being computed the previous one is given; `superseded_by` names the next revision.
    An answer that is not worth storing (snapshots.is_worth_keeping) stays in memory for a while.
    """
    return _stored_snapshot(question) or _compute_snapshot(question)


def snapshot_or_none(question: Question) -> RankingSnapshot | None:
    """Return what current_snapshot does, but None while a worker computes an answer that nobody should wait for.

    Those are first answers under workloads with more than settings.KDB_MOST_ARMS_AT_ONCE arms.
    """
    if (stored := _stored_snapshot(question)) is not None:
        return stored
    if dataframes.workload_has_more_arms_than(settings.KDB_MOST_ARMS_AT_ONCE, question.workload):
        return snapshots.leave_to_worker(question, _newest_snapshot(question))
    return _compute_snapshot(question)


def snapshots_or_none(questions: Sequence[Question]) -> dict[Question, RankingSnapshot | None]:
    """Return what snapshot_or_none gives for each; one query for those that are stored."""
    of_key = {question.key: question for question in questions}
    rows = RankingSnapshot.objects.filter(question__in=of_key, method=METHOD, revision__gt=0).defer("result")
    kept = {of_key[row.question]: row for row in rows.order_by("revision")}  # the newest of each comes last
    for row in kept.values():  # one that rests waits for a worker from now on
        record_request(row)
    return {question: kept.get(question) or snapshot_or_none(question) for question in questions}


def waiting_row(question: Question) -> RankingSnapshot | None:
    """Return the row of a question that a worker is to answer for the first time, with its last error."""
    return RankingSnapshot.objects.filter(question=question.key, method=METHOD, revision=0).first()


def _stored_snapshot(question: Question) -> RankingSnapshot | None:
    """Return the newest stored answer unless it rests, and note that it was asked for."""
    stored = _newest_snapshot(question)
    if stored is not None and stored.is_resting:
        stored = None
    if stored is not None:
        record_request(stored)
    metrics.ANSWERS.labels("no" if stored is None else "yes").inc()
    return stored


def _newest_snapshot(question: Question) -> RankingSnapshot | None:
    return next(iter(_newest_reader(METHOD).rows(question.key)), None)


@cache
def _newest_reader(method: int) -> PreparedQuery[RankingSnapshot]:
    def newest(question: str) -> QuerySet[RankingSnapshot]:
        rows = RankingSnapshot.objects.filter(question=question, method=method, revision__gt=0)
        # The large result is deferred: a request answered by a stored response or 304 never reads it.
        return rows.defer("result").order_by("-revision")[:1]

    return PreparedQuery(newest, 1)


def _compute_snapshot(question: Question) -> RankingSnapshot:
    return get_or_compute(_cache_key(question, counts.revision(), as_of=False), lambda: _compute_or_previous(question))


def _compute_or_previous(question: Question) -> RankingSnapshot:
    """Compute the answer; where that fails, return the previous one with the error."""
    try:
        return compute_and_store(question)
    except DatabaseError:
        raise
    except Exception as error:
        logger.exception("could not answer, gave the previous answer question=%s", question.key)
        if (previous := snapshots.previous_snapshot(question, error)) is None:
            raise
        return previous


def past_snapshot(question: Question, revision: int) -> RankingSnapshot:
    """Return the answer as it was at this revision, whatever was published or retracted since.

    That is the one stored then, or an earlier one that no publication touched; else it is computed and cached.
    """
    was_current = Q(superseded_by__isnull=True) | Q(superseded_by__gt=revision)
    rows = RankingSnapshot.objects.filter(
        was_current, question=question.key, method=METHOD, revision__range=(1, revision)
    )
    if (stored := rows.order_by("-revision").first()) is not None:
        record_request(stored)
        return stored
    return get_or_compute(_cache_key(question, revision, as_of=True), lambda: compute_past(question, revision))


def snapshot_at(question: Question, as_of: int | None) -> RankingSnapshot:
    """Return the answer now, or as of a revision where one is given."""
    return current_snapshot(question) if as_of is None else past_snapshot(question, as_of)


def answer_in(snapshot: RankingSnapshot) -> Answer:
    """Return the snapshot's JSON with its types."""
    return cattrs.structure(snapshot.result, Answer)


def stored_answers(questions: list[Question]) -> dict[Question, bool]:
    """Return, for each question with a stored answer, whether that ranks anything. One query."""
    of_key = {question.key: question for question in questions}
    rows = RankingSnapshot.objects.filter(question__in=of_key, method=METHOD, revision__gt=0).order_by("revision")
    return {of_key[key]: first is not None for key, first in rows.values_list("question", "result__entries__0__key")}


@dataclass(frozen=True)
class StoredVerdict:
    """The newest stored answer to a question in short.

    best, rather_not : keys of entries to use, and not to; first : key of the first entry, None: nothing is ranked
    """

    revision: int
    superseded_by: int | None
    kind: str
    strength: str
    groups: int
    laboratories: int
    best: tuple[str, ...]
    rather_not: tuple[str, ...]
    first: str | None


def stored_verdicts(questions: Iterable[Question]) -> dict[Question, StoredVerdict | None]:
    """Return the newest stored answers in short, stale ones a step weaker; None while a worker computes the first.

    Questions without either are left out. One query, and one more where something changed under a workload.
    """
    of_key = {question.key: question for question in questions}
    newest = RankingSnapshot.objects.followed().filter(Q(is_followed=False), question__in=of_key, method=METHOD)
    paths = ("verdict__kind", "verdict__strength", "grounds__groups", "grounds__laboratories", "best", "worst")
    # KT, as with a plain path SQLite reads the key "6.10" as a number.
    rows = newest.annotate(first=KT("result__entries__0__key")).values_list(
        "question", "revision", "superseded_by", *(f"result__{name}" for name in paths), "first"
    )
    kept = {
        of_key[key]: StoredVerdict(
            revision, coming, kind, strength, groups, laboratories, tuple(best), tuple(worst), first
        )
        if revision
        else None
        for key, revision, coming, kind, strength, groups, laboratories, best, worst, first in rows
    }
    may_be_stale = [key for key, question in of_key.items() if kept.get(question) and staleness.may_be_stale(question)]
    if may_be_stale:
        stale = newest.filter(question__in=may_be_stale, revision__gt=0)
        for key, *evidence_and_entries in stale.values_list("question", "result__evidence", "result__entries"):
            verdict = kept[of_key[key]]
            if verdict is not None and staleness.changes_in(of_key[key], *evidence_and_entries):
                kept[of_key[key]] = replace(verdict, strength=weaker(verdict.strength))
    return kept
