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

from . import permalinks, releases, snapshots
from .caveats import forecast_caveat
from .selectors import past_snapshot, snapshot_or_none, snapshots_or_none
from .staleness import SpeedChange, changes_since, weaken_stale, weakened_copy


@dataclass(frozen=True)
class AnswerVersion:
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
    changes: tuple[SpeedChange, ...] = ()
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
        return words.version_parameters(self.revision, self.method)

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
        """Return the fields of modelling.evidence.serialization.Permanence. address : takes as_of and method"""
        permanent = address(**self.named) if self.named else None
        return {"method": self.method, "permanent": permanent, "pinned": self.is_pinned}


def answer_version(question: Question, as_of: int | None, method: int | None, user: Any) -> AnswerVersion | None:
    """Return the answer at this address; None while a worker computes it. One of a revision is pinned, given room.

    method : None: today's
    Raises NoSuchAnswer where another method than today's is named and its answer was not kept.
    """
    if as_of is not None:
        return _permanent(
            permalinks.permalink_key("ranking", question.key),
            as_of,
            method or METHOD,
            permalinks.allowed_share(user),
            lambda: past_snapshot(question, as_of),
            lambda snapshot: snapshots.is_worth_keeping(question, snapshot, as_of),
        )
    current = snapshot_or_none(question)
    if current is None:
        return None
    changes = changes_since({question: current}).get(question, ())
    shown = weakened_copy(current, changes) if changes else current
    return AnswerVersion(shown, doubt=forecast_caveat(question.axis), changes=changes, seen=releases.stamp())


def combined_version(
    what: str,
    as_of: int | None,
    method: int | None,
    user: Any,
    work_out: Callable[[], dict[str, Any]],
    is_worth: Callable[[dict[str, Any]], bool],
) -> AnswerVersion:
    """Return the comparison or mix at this address, as `answer_version` does.

    what : as of permalinks.permalink_key; work_out : makes the result; is_worth : whether a result says anything
    """

    def worked_out() -> RankingSnapshot:
        return RankingSnapshot.unsaved(json.loads(json.dumps(work_out())), METHOD, now())  # as it is read again

    if as_of is None:
        return AnswerVersion(worked_out())
    room = permalinks.allowed_share(user, permalinks.COMBINED)
    return _permanent(what, as_of, method or METHOD, room, worked_out, lambda snapshot: is_worth(snapshot.result))


def _permanent(
    what: str,
    as_of: int,
    method: int,
    room: float | None,
    work_out: Callable[[], RankingSnapshot],
    is_worth: Callable[[RankingSnapshot], bool],
) -> AnswerVersion:
    """Return the pinned answer, else what today's method says, pinned from now on if it is worth that."""
    if (first := permalinks.load_pinned(what, as_of, method)) is not None:
        return AnswerVersion(first, as_of, is_pinned=True)
    permalinks.reject_other_methods(method)
    snapshot = work_out()
    return AnswerVersion(snapshot, as_of, is_pinned=is_worth(snapshot) and permalinks.pin(what, snapshot, room, as_of))


def current_answers(questions: Sequence[Question]) -> dict[Question, RankingSnapshot | None]:
    """Return each answer as its address of now has it; None while a worker is at it.

    Stored ones take one query, and one more where something changed under their workload.
    """
    return weaken_stale(snapshots_or_none(questions))
