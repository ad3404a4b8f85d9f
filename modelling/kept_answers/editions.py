"""An answer as it stands at an address: what is known now, or what its permanent address gave first."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from modelling.answers import words
from modelling.estimation.ranking import METHOD
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

from . import pins, releases, snapshots
from .aged import Aged, changes_since, shown_now, with_age
from .doubts import doubt
from .selectors import answer_or_none, answers_or_none, ranking_as_of


@dataclass(frozen=True)
class Edition:
    """as_of : revision of the address; None: the address names none, and has the answer of now
    is_pinned : whether it is kept for good; None: not asked for by its permanent address
    doubt : what the newest test of forecasts says against this form of question; "" at a permanent address, which never
    changes
    changes : of speed since its evidence was measured, which make it weaker; none at a permanent address
    seen : a stamp of the newest releases that everybody may see; "" at a permanent address, which does not tell them
    """

    snapshot: RankingSnapshot
    as_of: int | None = None
    is_pinned: bool | None = None
    doubt: str = ""
    changes: tuple[Aged, ...] = ()
    seen: str = ""

    @property
    def named(self) -> dict[str, int]:
        """Return what its permanent address ends with; nothing where nothing is published."""
        return words.edition(self.as_of or self.snapshot.revision, self.snapshot.method)

    @property
    def method(self) -> int:
        return self.snapshot.method

    @property
    def superseded_by(self) -> int | None:
        return None if self.as_of else self.snapshot.superseded_by

    @property
    def failure(self) -> str:
        """Return why newer evidence could not be worked in when that was last tried; "": it did not fail."""
        return "" if self.as_of or self.superseded_by is None else self.snapshot.error

    @property
    def is_of_today(self) -> bool:
        """Tell whether the method of today gave it."""
        return self.snapshot.method == METHOD

    @property
    def digest(self) -> str:
        """Return a text that changes with all that is shown of the edition."""
        beside = (self.snapshot.digest, self.superseded_by, self.as_of, self.named, self.is_pinned, METHOD)
        return hashlib.sha256(repr((*beside, self.doubt, self.seen, self.failure)).encode()).hexdigest()


def edition(question: Question, as_of: int | None, method: int | None, room: float | None) -> Edition | None:
    """Return the answer at this address; None while a worker works it out. With a revision it is a permanent one:
    pinned from now on, where there is room.

    method : None: today's
    room : as of pins.pin

    Raises NoSuchAnswer where another method than today's is named and its answer was not kept.
    """
    if as_of is None:
        current = answer_or_none(question)
        if current is None:
            return None
        changes = changes_since({question: current}).get(question, ())
        shown = with_age(current, changes) if changes else current
        return Edition(shown, doubt=doubt(question.axis), changes=changes, seen=releases.stamp())
    there = pins.pinned(pins.asked("ranking", question.key), as_of, method or METHOD)
    if there is not None:
        snapshot = snapshots.snapshot_of(question, there.result, there.method, there.given_at)
        return Edition(snapshot, as_of, is_pinned=True)
    pins.refuse_other_methods(method or METHOD)
    snapshot = ranking_as_of(question, as_of)
    is_worth = snapshots.is_worth_keeping(question, snapshot, as_of)
    return Edition(snapshot, as_of, is_pinned=is_worth and snapshots.pin(snapshot, room, as_of))


def answers_now(questions: Sequence[Question]) -> dict[Question, RankingSnapshot | None]:
    """Return each answer as the edition of now has it; None while a worker is at it.

    Those that are kept take one query, and one more where something changed under their workload.
    """
    return shown_now(answers_or_none(questions))
