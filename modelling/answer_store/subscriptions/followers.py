"""Notify the followers of a question when a publication changes its answer.

A row keeps the digest of the answer of which its follower knows, and its revision. Job and tick see from the rows
alone who is to be notified, so whatever message is lost, the next tick enqueues the work again.
"""

import hashlib
import logging
from collections.abc import Callable
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q, QuerySet

from kdb.jobs import jobs
from kdb.notifications import announcements
from kdb.notifications.models import Topic
from modelling.answer_store import permalinks, snapshots
from modelling.answer_store.selectors import answer_in, snapshot_or_none
from modelling.answers import words
from modelling.answers.content import conclusion
from modelling.estimation.ranking import METHOD
from modelling.evidence import counts, names
from modelling.evidence.question import Question
from modelling.models import FollowedQuestion, RankingSnapshot

logger = logging.getLogger(__name__)

JOB = "tell_followers"
MOST = 100  # questions that one user may follow


class TooManyQuestions(Exception):  # noqa: N818
    """The user follows as many questions as allowed; the text says so."""


class NotNotified(Exception):  # noqa: N818
    """Some questions could not be checked; the text names the first of them with its reason."""


def follow(user: Any, question: Question) -> FollowedQuestion:
    """Notify this user of changes from now on; a second call does no harm. Raises TooManyQuestions."""
    revision, snapshot = _current_answer(question)
    with transaction.atomic():
        get_user_model().objects.select_for_update().get(pk=user.pk)  # so that two requests cannot both pass the count
        followed = FollowedQuestion.objects.filter(user=user)
        if (row := followed.filter(question=question.key).first()) is not None:
            return row
        if followed.count() >= MOST:
            raise TooManyQuestions(f"You follow {MOST} questions, as many as one may. Stop following one first.")
        return FollowedQuestion.objects.create(
            user=user, question=question.key, method=METHOD, revision=revision, said=_digest(snapshot)
        )


def unfollow(user: Any, pk: int) -> bool:
    """Stop notifying this user; tell whether the user followed it."""
    return bool(FollowedQuestion.objects.filter(user=user, pk=pk).delete()[0])


def reconcile() -> None:
    """Notify followers whose notification was lost."""
    if _behind().exists():
        jobs.enqueue_with_backoff(JOB)


def tell_followers(progress: Callable[[int, int], None]) -> None:
    """Notify the followers of each question whose answer changed. Raises NotNotified at the end where some fail."""
    keys = list(_behind().order_by("question").values_list("question", flat=True).distinct())
    failed: list[str] = []
    for done, key in enumerate(keys, start=1):
        try:
            _notify_followers(Question.from_key(key))
        except Exception as error:  # whatever it is, it concerns this question alone
            logger.exception("could not tell followers question=%s", key)
            failed.append(f"{key}: {error}")
        progress(done, len(keys))
    if failed:
        raise NotNotified(f"{len(failed)} of the followed questions could not be looked at. {failed[0]}")


def _behind() -> QuerySet[FollowedQuestion]:
    """Return the followed questions not checked since the latest revision, except those that wait for an answer."""
    behind = Q(revision__lt=counts.revision()) | ~Q(method=METHOD)
    return FollowedQuestion.objects.filter(behind).exclude(question__in=snapshots.waiting_questions())


def _notify_followers(question: Question) -> None:
    revision, snapshot = _current_answer(question)
    if snapshot is None:
        return  # a worker answers it first
    digest = _digest(snapshot)
    with transaction.atomic():
        rows = FollowedQuestion.objects.select_for_update().filter(question=question.key)
        behind = list(rows.filter(Q(revision__lt=revision) | ~Q(method=METHOD)))
        # A new method or a first answer is not a change by a publication: its followers are not notified.
        users = [row.user_id for row in behind if row.method == METHOD and row.said and row.said != digest]
        if users:
            _announce(question, revision, snapshot, users)
        ids = [row.pk for row in behind]
        FollowedQuestion.objects.filter(pk__in=ids).update(method=METHOD, revision=revision, said=digest)


def _current_answer(question: Question) -> tuple[int, RankingSnapshot | None]:
    """Return the revision up to which the answer holds, and the answer; (0, None) while a worker is to compute it."""
    latest = counts.revision()
    snapshot = snapshot_or_none(question)
    if snapshot is None or snapshot.superseded_by is not None:
        return 0, None
    return max(latest, snapshot.revision), snapshot


def _digest(snapshot: RankingSnapshot | None) -> str:
    return hashlib.sha256(repr(conclusion(answer_in(snapshot))).encode()).hexdigest() if snapshot else ""


def _announce(question: Question, revision: int, snapshot: RankingSnapshot, users: list[int]) -> None:
    """Notify the users, with the answer's permanent address, which is pinned for that."""
    permalinks.pin_answer(snapshot, permalinks.UNLIMITED, revision)
    answer = answer_in(snapshot)
    verdict, title = answer.verdict, words.title(question, names.names())
    announcements.announce(
        Topic.QUESTION,
        subject=f"{title} {verdict.sentence}",
        text="\n".join((title, verdict.sentence, " ".join((f"Evidence: {verdict.strength}.", *verdict.reasons)))),
        path=words.address(question, revision, method=snapshot.method),
        facts={
            "question": question.as_dict(),
            "revision": revision,
            "method": snapshot.method,
            "verdict": verdict.kind,
        },
        users=users,
    )
