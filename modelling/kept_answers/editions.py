"""An answer as it stands at an address: what is known now, or what its permanent address gave first."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.timezone import now

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
    """An answer, comparison or mix.

    as_of : revision of the address; None: the address names none, and has the answer of now
    is_pinned : whether it is kept for good; None: not asked for by its permanent address
    doubt : what the newest test of forecasts says against this form of question
    changes : of speed since its evidence was measured, which make it weaker
    seen : a stamp of the newest releases that everybody may see
    The last three are empty at a permanent address, which never changes.
    """

    snapshot: RankingSnapshot
    as_of: int | None = None
    is_pinned: bool | None = None
    doubt: str = ""
    changes: tuple[Aged, ...] = ()
    seen: str = ""

    @property
    def result(self) -> Any:
        """Return the answer as JSON has it; read from the database when it is looked at first."""
        return self.snapshot.result

    @property
    def revision(self) -> int:
        """Return the revision that makes its address permanent; 0: nothing is published."""
        return self.as_of or self.snapshot.revision

    @property
    def named(self) -> dict[str, int]:
        """Return what its permanent address ends with; nothing where nothing is published."""
        return words.edition(self.revision, self.method)

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
        return self.method == METHOD

    @property
    def digest(self) -> str:
        """Return a text that changes with all that is shown of the edition."""
        beside = (self.snapshot.digest, self.superseded_by, self.as_of, self.named, self.is_pinned, METHOD)
        return hashlib.sha256(repr((*beside, self.doubt, self.seen, self.failure)).encode()).hexdigest()

    def permanence(self, address: Callable[..., str]) -> dict[str, Any]:
        """Return the fields of modelling.evidence.asking.Permanence. address : takes as_of and method"""
        permanent = address(**self.named) if self.named else None
        return {"method": self.method, "permanent": permanent, "pinned": self.is_pinned}


def edition(question: Question, as_of: int | None, method: int | None, user: Any) -> Edition | None:
    """Return the answer at this address; None while a worker works it out. With a revision it is a permanent one:
    pinned from now on, where there is room for this user's.

    method : None: today's
    Raises NoSuchAnswer where another method than today's is named and its answer was not kept.
    """
    if as_of is not None:
        return _permanent(
            pins.asked("ranking", question.key),
            as_of,
            method or METHOD,
            pins.room_for(user),
            lambda: ranking_as_of(question, as_of),
            lambda snapshot: snapshots.is_worth_keeping(question, snapshot, as_of),
        )
    current = answer_or_none(question)
    if current is None:
        return None
    changes = changes_since({question: current}).get(question, ())
    shown = with_age(current, changes) if changes else current
    return Edition(shown, doubt=doubt(question.axis), changes=changes, seen=releases.stamp())


def combined_edition(
    what: str,
    as_of: int | None,
    method: int | None,
    user: Any,
    work_out: Callable[[], dict[str, Any]],
    is_worth: Callable[[dict[str, Any]], bool],
) -> Edition:
    """Return the comparison or mix at this address, as `edition` does.

    what : as of pins.asked; work_out : makes the result; is_worth : whether a result says anything
    """

    def worked_out() -> RankingSnapshot:
        return RankingSnapshot.unsaved(json.loads(json.dumps(work_out())), METHOD, now())  # as it is read again

    if as_of is None:
        return Edition(worked_out())
    room = pins.room_for(user, pins.COMBINED)
    return _permanent(what, as_of, method or METHOD, room, worked_out, lambda snapshot: is_worth(snapshot.result))


def _permanent(
    what: str,
    as_of: int,
    method: int,
    room: float | None,
    work_out: Callable[[], RankingSnapshot],
    is_worth: Callable[[RankingSnapshot], bool],
) -> Edition:
    """Return the pinned answer, else what today's method says, pinned from now on if it is worth that."""
    if (first := pins.pinned(what, as_of, method)) is not None:
        return Edition(first, as_of, is_pinned=True)
    pins.refuse_other_methods(method)
    snapshot = work_out()
    return Edition(snapshot, as_of, is_pinned=is_worth(snapshot) and pins.pin(what, snapshot, room, as_of))


def answers_now(questions: Sequence[Question]) -> dict[Question, RankingSnapshot | None]:
    """Return each answer as the edition of now has it; None while a worker is at it.

    Those that are kept take one query, and one more where something changed under their workload.
    """
    return shown_now(answers_or_none(questions))
