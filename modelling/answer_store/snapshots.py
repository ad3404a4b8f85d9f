"""Store answers as snapshots: when asked for, again after a publication superseded them, until nobody asks any more.

A question waits while its newest snapshot is superseded and somebody asked for it lately, or what was published
compares its very entries. Nothing but the rows says so: whatever message, job or worker was lost, the tick finds the
question and enqueues the work again. Other superseded answers rest, and are computed anew when somebody asks.
"""

import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Now
from django.utils.timezone import now

from kdb.cost import budget
from kdb.jobs import jobs
from kdb.models import Job
from modelling.answers import knowledge
from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.estimation.ranking import METHOD
from modelling.evidence import counts, dataframes
from modelling.evidence.question import Question
from modelling.evidence.storage import Busy, nowait_transaction, store_if_current
from modelling.models import RENEWED_WITHIN, RankingSnapshot

from . import permalinks

logger = logging.getLogger(__name__)

JOB = "recompute_rankings"
FIRST_DELAY = timedelta(minutes=1)  # before a question that failed is tried again; doubles each time
LONGEST_DELAY = timedelta(days=1)
ASKED_WITHIN = timedelta(days=1)  # resolution of asked_at: one write a day, however often it is asked for
MOST_SHOWN = 20  # failing questions that the API lists
MOST_REVISIONS_BACK = 5  # revisions to try for an answer in place of one that fails
MOST_DELETED = 5_000  # snapshots at one tick
_TOLERANCE = 1e-4  # relative: other processors round differently; 3e-6 was seen


class NotAnswered(Exception):  # noqa: N818
    """Some questions could not be answered again; the text names the first of them with its reason."""


# First answers


def compute_and_store(question: Question) -> RankingSnapshot:
    """Answer the question for a waiting visitor; store the answer unless a publication is being committed."""
    snapshot = compute_current(question)
    if is_worth_keeping(question, snapshot) and _store(snapshot.revision, snapshot):
        permalinks.pin_answer(snapshot, permalinks.SHOWN)
    return snapshot


def enqueue_questions(*questions: Question) -> None:
    """Have a worker answer questions for the first time; a superseded row of revision 0 marks each as waiting."""
    revision = counts.revision()
    waiting = [
        RankingSnapshot(
            question=question.key,
            method=METHOD,
            revision=0,
            superseded_by=max(revision, 1),
            workload=question.workload,
            result={},
        )
        for question in questions
    ]
    _store(revision, *waiting)
    jobs.enqueue_once(JOB)


def request_renewal(questions: Iterable[Question]) -> None:
    """Have a worker renew the resting answers to these questions, after those that people asked for lately."""
    keys = [question.key for question in questions]
    superseded = RankingSnapshot.objects.filter(question__in=keys, method=METHOD, superseded_by__isnull=False)
    if keys and _request_renewal(superseded):
        jobs.enqueue_once(JOB)


def _request_renewal(snapshots: QuerySet[RankingSnapshot, Any]) -> int:
    """Mark resting answers as asked for, but earlier than any real request, so that people's requests come first."""
    return snapshots.filter(asked_at__lte=now() - RENEWED_WITHIN).update(asked_at=now() - 2 * ASKED_WITHIN)


def leave_to_worker(question: Question, resting: RankingSnapshot | None) -> RankingSnapshot | None:
    """Have a worker answer the question; return the answer that rests until then, None where there is none."""
    if resting is None:
        enqueue_questions(question)
    else:
        record_request(resting)
        jobs.enqueue_once(JOB)
    return resting


def is_worth_keeping(question: Question, snapshot: RankingSnapshot, as_of: int | None = None) -> bool:
    """Tell whether to store the answer.

    Anybody can make up any number of questions without an answer, with needs, or with a filter that changes nothing:
    theirs are stored only where they replace a stored one.
    """
    if RankingSnapshot.objects.filter(question=question.key, method=METHOD).exists():
        return True
    return not question.needs and bool(snapshot.result["entries"]) and not dataframes.has_idle_filter(question, as_of)


def compute_past(question: Question, revision: int) -> RankingSnapshot:
    """Compute the answer that the knowledge gave at an earlier revision, without storing it."""
    return _answer(question, revision, as_of=revision)


def store_shipped(answers: Mapping[Question, dict[str, Any]]) -> int:
    """Store answers that another database computed from the evidence published here; return how many."""
    rows = [
        RankingSnapshot.unsaved(result, METHOD, now(), question.key, question.workload)
        for question, result in answers.items()
    ]
    for row in rows:
        row.asked_at = now() - RENEWED_WITHIN  # nobody has asked, so no publication renews it by itself
    return len(rows) if _store(counts.revision(), *rows, wait=True) else 0


def previous_snapshot(question: Question, error: Exception) -> RankingSnapshot | None:
    """Return an earlier answer in place of one that fails with this error; None where those fail too.

    It is marked as superseded, so the question waits to be answered again.
    """
    revision = counts.revision()
    of_earlier_methods = RankingSnapshot.objects.filter(question=question.key, method__lt=METHOD, revision__gt=0)
    snapshot = (
        _answer_at_earlier_revision(question, revision) or of_earlier_methods.order_by("-revision", "-method").first()
    )
    if snapshot is None:
        return None
    snapshot.superseded_by, snapshot.error = max(revision, snapshot.revision + 1), displayable_error(error)
    if snapshot.method != METHOD:
        # Its permanent address is shown, and the current method cannot compute it again.
        permalinks.pin_answer(snapshot, permalinks.SHOWN)
    elif is_worth_keeping(question, snapshot, snapshot.revision):
        _store(revision, snapshot)
    return snapshot


def _answer_at_earlier_revision(question: Question, revision: int) -> RankingSnapshot | None:
    """Return the answer as of the last revision before this one at which there is one."""
    for earlier in range(revision - 1, max(revision - 1 - MOST_REVISIONS_BACK, 0), -1):
        try:
            return compute_past(question, earlier)
        except Exception:
            logger.exception("could not answer question=%s as_of=%s either", question.key, earlier)
    return None


def displayable_error(error: Exception) -> str:
    """Return the error's text, or its type where it has none or may name hosts and SQL."""
    is_fit = str(error) and not isinstance(error, DatabaseError)
    return str(error)[:500] if is_fit else type(error).__name__


def record_request(snapshot: RankingSnapshot) -> None:
    """Note that it was asked for, once a day and without waiting for a lock; pin it, as its address is shown."""
    if snapshot.pk is None or snapshot.asked_at > now() - ASKED_WITHIN:
        return
    permalinks.pin_answer(snapshot, permalinks.SHOWN)
    try:
        with nowait_transaction():
            unlocked = RankingSnapshot.objects.select_for_update(skip_locked=True).filter(pk=snapshot.pk)
            RankingSnapshot.objects.filter(pk__in=[row.pk for row in unlocked.only("pk")]).update(asked_at=now())
    except Busy:
        return


def compute_current(question: Question) -> RankingSnapshot:
    """Compute the answer from the current knowledge, without storing it."""
    return _answer(question, counts.revision())


def _answer(question: Question, revision: int, as_of: int | None = None) -> RankingSnapshot:
    estimated = estimate(question, as_of)
    budget.check(ahead=0.05)  # wording the answer takes 0.05 s, with many entries 0.1 s
    content = answer(estimated, revision)
    result = json.loads(json.dumps(content, default=vars))  # vars: an answer is of dataclasses
    return RankingSnapshot.unsaved(result, METHOD, now(), question.key, question.workload)


def _store(revision: int, *snapshots: RankingSnapshot, wait: bool = False) -> bool:
    """Store the answers if the knowledge is still at the revision; tell whether. wait : for a publication under way"""
    store = partial(RankingSnapshot.objects.bulk_create, snapshots, ignore_conflicts=True)
    return store_if_current(revision, store, wait=wait)


# Renewal after publications


def supersede(case_study_ids: list[int], revision: int) -> int:
    """Mark as superseded the answers that evidence of these case studies may change; return how many wait for renewal.

    Those whose entries it compares are renewed as if somebody had asked; those that failed before are tried at once.
    The number of queries does not grow with the answers.
    """
    is_newest = Q(superseded_by__isnull=True) | Q(is_followed=False)
    current = RankingSnapshot.objects.followed().filter(is_newest, method=METHOD)
    questions = {pk: Question.from_key(key) for pk, key in current.values_list("pk", "question")}
    reached = knowledge.questions_affected(questions.values(), case_study_ids)
    touched = RankingSnapshot.objects.filter(pk__in=[pk for pk, question in questions.items() if question in reached])
    touched.filter(superseded_by__isnull=True).update(superseded_by=revision)
    touched.update(attempts=0, retry_at=None, error="")
    compared = [pk for pk, question in questions.items() if reached.get(question)]
    _request_renewal(RankingSnapshot.objects.filter(pk__in=compared))
    return touched.waiting().count()


def answer_waiting_questions(progress: Callable[[int, int], None]) -> None:
    """Answer every question that waits; call `progress(done, total)` after each. Raise NotAnswered if some fail.

    A question that fails keeps the reason and is tried again later.
    """
    done = 0
    while due := list(_due().values_list("pk", "question", "attempts", "asked_at")):
        total = done + len(due)
        for pk, key, attempts, asked_at in due:
            if _claim(pk, attempts):
                _renew_answer(pk, Question.from_key(key), attempts, asked_at)
            done += 1
            progress(done, total)
    failing = _waiting().failing()
    if first := failing.first():
        raise NotAnswered(
            f"{failing.count()} of the kept questions could not be answered again; the previous answers stay until the "
            f"next attempt. {first.question}: {reason(first)}"
        )


def _waiting() -> Any:
    return RankingSnapshot.objects.filter(method=METHOD).waiting()


def waiting_questions() -> QuerySet[RankingSnapshot, Any]:
    """Return the keys of the questions that wait."""
    return _waiting().values("question")


def _due() -> QuerySet[RankingSnapshot]:
    """Return the answers to try now: those that never failed first, then what people asked for lately."""
    return _waiting().filter(Q(retry_at__isnull=True) | Q(retry_at__lte=Now())).order_by("attempts", "-asked_at", "pk")


def count_ahead(row: RankingSnapshot) -> int:
    """Count the waiting questions that workers take up before this one."""
    fewer_attempts = Q(attempts__lt=row.attempts)
    asked_later = Q(attempts=row.attempts, asked_at__gt=row.asked_at)
    stored_first = Q(attempts=row.attempts, asked_at=row.asked_at, pk__lt=row.pk)
    return _due().filter(fewer_attempts | asked_later | stored_first).count()


def _claim(pk: int, attempts: int) -> bool:
    """Count the attempt before making it, so that a question that kills its worker is put off like one that fails."""
    delay = min(FIRST_DELAY * 2 ** min(attempts, 20), LONGEST_DELAY)
    row = RankingSnapshot.objects.filter(pk=pk, attempts=attempts)
    return row.update(attempts=F("attempts") + 1, retry_at=Now() + Value(delay)) == 1


def _renew_answer(pk: int, question: Question, attempts: int, asked_at: Any) -> None:
    row = RankingSnapshot.objects.filter(pk=pk, attempts=attempts + 1)
    try:
        snapshot = _answer(question, counts.revision())
        snapshot.asked_at = asked_at
        kept = _store(snapshot.revision, snapshot, wait=True)
        if kept and asked_at > now() - ASKED_WITHIN:  # record_request, which pins, skips the next requests
            permalinks.pin_answer(snapshot, permalinks.SHOWN)
    except Exception as error:  # whatever it is, it concerns this question alone
        logger.exception("could not answer question=%s attempt=%s", question.key, attempts + 1)
        row.update(error=displayable_error(error))
        return
    if not kept:  # the knowledge changed meanwhile: try again at once, and do not count this attempt
        row.update(attempts=attempts, retry_at=None)


def reason(snapshot: RankingSnapshot) -> str:
    """Explain why a failing question could not be answered."""
    return snapshot.error or "The worker was stopped while it was answered."


def renewal_state() -> dict[str, Any]:
    """Return how many answers wait and which fail, as the API gives it; two queries."""
    failing = _waiting().failing().order_by("question")[:MOST_SHOWN]
    return {
        "waiting": _waiting().count(),
        "failing": [
            {"question": row.question, "attempts": row.attempts, "reason": reason(row), "retry_at": row.retry_at}
            for row in failing.defer("result")
        ],
    }


# The tick


def reconcile() -> None:
    """Enqueue waiting questions, whatever job was lost, and delete answers that nobody asks for any more."""
    if _due().exists():
        jobs.enqueue_with_backoff(JOB)
    delete_least_asked()


def delete_least_asked() -> int:
    """Delete snapshots beyond settings.KDB_KEPT_ANSWERS; return how many. Pinned copies stay.

    Those of earlier methods and revisions go first, then current ones, each least recently asked first.
    """
    excess = min(RankingSnapshot.objects.count() - settings.KDB_KEPT_ANSWERS, MOST_DELETED)
    if excess <= 0:
        return 0
    worth = Case(When(~Q(method=METHOD) | Q(is_followed=True), then=0), default=1)
    least = RankingSnapshot.objects.followed().order_by(worth, "asked_at", "pk").values_list("pk", flat=True)
    deleted, _ = RankingSnapshot.objects.filter(pk__in=list(least[:excess])).delete()
    logger.info("forgot answers nobody asked for count=%s", deleted)
    return deleted


# Comparison with answers computed anew


@dataclass
class Check:
    """The outcome of computing stored answers again.

    standing : number compared; differing : question to what differs; waiting : question to why it was not compared
    """

    standing: int = 0
    differing: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)


def check_answers() -> Check:
    """Compute every standing answer from scratch and compare it with the kept one."""
    outcome = Check()
    is_asked_for = Job.objects.filter(kind=JOB, state__in=[Job.State.QUEUED, Job.State.RUNNING]).exists()
    for row in _waiting().order_by("question"):
        failed = f"tried {row.attempts} times: {reason(row)}" if row.attempts else ""
        outcome.waiting[row.question] = failed or ("a job is under way" if is_asked_for else "for the next tick")
    standing = RankingSnapshot.objects.filter(method=METHOD, superseded_by__isnull=True).order_by("question")
    for pk in list(standing.values_list("pk", flat=True)):
        kept = RankingSnapshot.objects.filter(pk=pk).first()
        if kept is None:
            continue
        fresh = _answer(Question.from_key(kept.question), kept.revision)
        difference = next(_differences(kept.result, fresh.result), "")
        if not standing.filter(pk=pk).exists():  # a publication came in between
            continue
        outcome.standing += 1
        if difference:
            outcome.differing[kept.question] = difference
    return outcome


def delete_answers(questions: list[str]) -> None:
    """Delete the current answers to these questions, given as keys; they are computed anew when asked for."""
    RankingSnapshot.objects.filter(question__in=questions, method=METHOD, superseded_by__isnull=True).delete()


def _differences(kept: Any, fresh: Any, place: str = "") -> Iterator[str]:
    """Yield where two JSON values differ, numbers by more than the tolerance."""
    if isinstance(kept, dict) and isinstance(fresh, dict) and kept.keys() == fresh.keys():
        for name in kept:
            yield from _differences(kept[name], fresh[name], f"{place}.{name}".lstrip("."))
    elif isinstance(kept, list) and isinstance(fresh, list) and len(kept) == len(fresh):
        for number, (one, other) in enumerate(zip(kept, fresh, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif isinstance(kept, float) and isinstance(fresh, float):
        if not math.isclose(kept, fresh, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            yield f"{place}: {kept} is kept, {fresh} is computed"
    elif kept != fresh:
        yield f"{place}: {json.dumps(kept)[:80]} is kept, {json.dumps(fresh)[:80]} is computed"
