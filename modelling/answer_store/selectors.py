"""The answer to a question, as pages, the API and other features ask for it."""

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


def _in_memory(question: Question, revision: int, as_of: bool) -> str:
    return f"modelling.answer:{METHOD}:{revision}:{as_of}:{hashlib.sha256(question.key.encode()).hexdigest()}"


def current_snapshot(question: Question) -> RankingSnapshot:
    """Return the newest answer to the question: one indexed read, computed only where none is stored.

    While a publication's answers are being computed the previous one is given; `superseded_by` names the next revision.
    An answer that is not worth storing (snapshots.is_worth_keeping) stays in memory for a while.
    """
    return _kept(question) or _computed(question)


def snapshot_or_none(question: Question) -> RankingSnapshot | None:
    """Return what current_snapshot does, but None while a worker computes an answer that nobody should wait for.

    Those are first answers under workloads with more than settings.KDB_MOST_ARMS_AT_ONCE arms.
    """
    if (kept := _kept(question)) is not None:
        return kept
    if dataframes.workload_has_more_arms_than(settings.KDB_MOST_ARMS_AT_ONCE, question.workload):
        return snapshots.leave_to_worker(question, _newest_snapshot(question))
    return _computed(question)


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


def _kept(question: Question) -> RankingSnapshot | None:
    """Return the newest stored answer, unless it rests."""
    kept = _newest_snapshot(question)
    if kept is not None and kept.is_resting:
        kept = None
    if kept is not None:
        record_request(kept)
    metrics.ANSWERS.labels("no" if kept is None else "yes").inc()
    return kept


def _newest_snapshot(question: Question) -> RankingSnapshot | None:
    return next(iter(_newest(METHOD).rows(question.key)), None)


@cache
def _newest(method: int) -> PreparedQuery[RankingSnapshot]:
    def newest(question: str) -> QuerySet[RankingSnapshot]:
        rows = RankingSnapshot.objects.filter(question=question, method=method, revision__gt=0)
        # Its result is read where it is looked at; most are sent as they were sent before.
        return rows.defer("result").order_by("-revision")[:1]

    return PreparedQuery(newest, 1)


def _computed(question: Question) -> RankingSnapshot:
    return get_or_compute(_in_memory(question, counts.revision(), as_of=False), lambda: _worked_out(question))


def _worked_out(question: Question) -> RankingSnapshot:
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

    One that was stored then, or an earlier one that no publication touched; else it is computed, and kept in memory.
    """
    stood = Q(superseded_by__isnull=True) | Q(superseded_by__gt=revision)
    then = RankingSnapshot.objects.filter(stood, question=question.key, method=METHOD, revision__range=(1, revision))
    if (kept := then.order_by("-revision").first()) is not None:
        record_request(kept)
        return kept
    return get_or_compute(_in_memory(question, revision, as_of=True), lambda: compute_past(question, revision))


def snapshot_at(question: Question, as_of: int | None) -> RankingSnapshot:
    """Return the answer now, or as of a revision where one is given."""
    return current_snapshot(question) if as_of is None else past_snapshot(question, as_of)


def answer_in(snapshot: RankingSnapshot) -> Answer:
    """Return the snapshot's JSON with its types."""
    return cattrs.structure(snapshot.result, Answer)


def kept_answers(questions: list[Question]) -> dict[Question, bool]:
    """Return those of the questions that have a stored answer, and whether it ranks anything; one query."""
    of_key = {question.key: question for question in questions}
    rows = RankingSnapshot.objects.filter(question__in=of_key, method=METHOD, revision__gt=0).order_by("revision")
    return {of_key[key]: first is not None for key, first in rows.values_list("question", "result__entries__0__key")}


@dataclass(frozen=True)
class KeptVerdict:
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
    first_verdict: str | None


def kept_verdicts(questions: Iterable[Question]) -> dict[Question, KeptVerdict | None]:
    """Return the newest stored answers in short, stale ones a step weaker; None where a worker is at the first.

    Questions that are neither are left out. One query, and one more where something changed under a workload.
    """
    of_key = {question.key: question for question in questions}
    newest = RankingSnapshot.objects.followed().filter(Q(is_followed=False), question__in=of_key, method=METHOD)
    paths = ("verdict__kind", "verdict__strength", "grounds__groups", "grounds__laboratories", "best", "worst")
    # As text: of SQLite a plain path reads the key "6.10" as a number.
    first = {"first": KT("result__entries__0__key"), "first_verdict": KT("result__entries__0__verdict")}
    fields = (*(f"result__{name}" for name in paths), *first)
    rows = newest.annotate(**first).values_list("question", "revision", "superseded_by", *fields)
    kept = {
        of_key[key]: KeptVerdict(
            revision, coming, kind, strength, groups, laboratories, tuple(best), tuple(worst), first, verdict
        )
        if revision
        else None
        for key, revision, coming, kind, strength, groups, laboratories, best, worst, first, verdict in rows
    }
    concerned = [key for key, question in of_key.items() if kept.get(question) and staleness.may_be_stale(question)]
    if concerned:
        behind = newest.filter(question__in=concerned, revision__gt=0)
        for key, *rests_on in behind.values_list("question", "result__evidence", "result__entries"):
            verdict = kept[of_key[key]]
            if verdict is not None and staleness.changes_in(of_key[key], *rests_on):
                kept[of_key[key]] = replace(verdict, strength=weaker(verdict.strength))
    return kept
