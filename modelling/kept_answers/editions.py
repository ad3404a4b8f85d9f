"""One answer of many to a question, named by revision and method: as it was given then, beside what is said today."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from kdb.cost import budget
from modelling.answers import words
from modelling.estimation.ranking import METHOD
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

from . import pins, releases, snapshots
from .aged import Aged, changes_since, shown_now, with_age
from .doubts import doubt
from .selectors import answer_or_none, answers_or_none

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Edition:
    """as_of : revision of the address; None: the address names none, and has the answer of now
    names_method : whether the address names a method as well
    is_pinned : whether it is kept for good; None: not asked for by its permanent address
    today : the answer of today's method at the same revision, where this one is of an earlier method; None also where
    it was not wanted, or could not be had at once
    doubt : what the newest test of forecasts says against this form of question; "" at a permanent address, which never
    changes
    changes : of speed since its evidence was measured, which make it weaker; none at a permanent address
    seen : a stamp of the newest releases that everybody may see; "" at a permanent address, which does not tell them
    """

    snapshot: RankingSnapshot
    as_of: int | None = None
    names_method: bool = False
    is_pinned: bool | None = None
    today: RankingSnapshot | None = None
    doubt: str = ""
    changes: tuple[Aged, ...] = ()
    seen: str = ""

    @property
    def named(self) -> dict[str, int]:
        """Return what its permanent address ends with; nothing where nothing is published."""
        return words.edition(self.as_of or self.snapshot.revision, self.snapshot.method)

    @property
    def superseded_by(self) -> int | None:
        return None if self.as_of else self.snapshot.superseded_by

    @property
    def is_of_today(self) -> bool:
        """Tell whether the method of today gave it."""
        return self.snapshot.method == METHOD

    @property
    def is_final(self) -> bool:
        """Tell whether the address gives the very same for as long as a cache may keep it."""
        return self.is_pinned is True and self.names_method and self.is_of_today

    @property
    def digest(self) -> str:
        """Return a text that changes with all that is shown of the edition."""
        beside = (self.snapshot.digest, self.superseded_by, self.named, self.names_method, self.is_pinned, METHOD)
        beside_too = (self.as_of, self.today and self.today.digest, self.doubt, self.seen)
        return hashlib.sha256(repr((*beside, *beside_too)).encode()).hexdigest()


def edition(
    question: Question, as_of: int | None, method: int | None, room: float | None, *, with_today: bool = False
) -> Edition | None:
    """Return the answer at this address; None while a worker works it out. With a revision it is a permanent one:
    pinned from now on, where there is room.

    method : None where the address does not name it, as addresses did not once: the oldest whose answer is kept
    room : as of pins.pin
    with_today : beside an answer of an earlier method that of today, unless that fails or costs more than is left to
    spend: what was given is given again, whatever becomes of today's

    Raises NoSuchAnswer where another method than today's is named and its answer was not kept.
    """
    if as_of is None:
        current = answer_or_none(question, None)
        if current is None:
            return None
        changes = changes_since({question: current}).get(question, ())
        shown = with_age(current, changes) if changes else current
        return Edition(shown, doubt=doubt(question.axis), changes=changes, seen=releases.stamp())
    kept = [row for row in (_pinned(question, as_of, method), _earlier(question, as_of, method)) if row]
    if not kept:
        pins.refuse_other_methods(method)
    snapshot = min(kept, key=lambda row: row.method) if kept else answer_or_none(question, as_of)
    if snapshot is None:
        return None
    is_worth = bool(kept) or snapshots.is_worth_keeping(question, snapshot, as_of)
    return Edition(
        snapshot=snapshot,
        as_of=as_of,
        names_method=method is not None,
        is_pinned=is_worth and snapshots.pin(snapshot, room, as_of),
        today=_today(question, as_of) if with_today and snapshot.method != METHOD else None,
    )


def answers_now(questions: Sequence[Question]) -> dict[Question, RankingSnapshot | None]:
    """Return each answer as the edition of now has it; None while a worker is at it.

    Those that are kept take one query, and one more where something changed under their workload.
    """
    return shown_now(answers_or_none(questions))


def _today(question: Question, as_of: int) -> RankingSnapshot | None:
    try:
        return answer_or_none(question, as_of)
    except budget.TooDear:
        return None
    except Exception:
        logger.exception("could not answer by the method of today question=%s as_of=%s", question.key, as_of)
        return None
    finally:
        budget.lift()  # the rest is to show what is there


def _pinned(question: Question, as_of: int, method: int | None) -> RankingSnapshot | None:
    given = pins.pinned(pins.asked("ranking", question.key), as_of, method)
    if given is None:
        return None
    return snapshots.snapshot_of(question, given.result, given.method, given.given_at)


def _earlier(question: Question, as_of: int, method: int | None) -> RankingSnapshot | None:
    """Return what an earlier method answered then, where it is kept, though not pinned."""
    stood = Q(superseded_by__isnull=True) | Q(superseded_by__gt=as_of)
    rows = RankingSnapshot.objects.filter(stood, question=question.key, method__lt=METHOD, revision__range=(1, as_of))
    return (rows if method is None else rows.filter(method=method)).order_by("method", "-revision").first()
