"""Return the answer at an address: the current one, or the one that a permanent address gave first."""

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

    as_of : revision that the address names; None: none, so it is the current answer
    is_pinned : whether it is kept for good; None: not asked for by its permanent address
    caveat : warning about forecasts for this form of question
    changes : of speed since its evidence was measured, which make it weaker
    releases_digest : of the newest public releases
    The last three are empty at a permanent address, whose content never changes.
    """

    snapshot: RankingSnapshot
    as_of: int | None = None
    is_pinned: bool | None = None
    caveat: str = ""
    changes: tuple[SpeedChange, ...] = ()
    releases_digest: str = ""

    @property
    def result(self) -> Any:
        """Return the answer as JSON. Its first use may read it from the database."""
        return self.snapshot.result

    @property
    def revision(self) -> int:
        """Return the revision that makes its address permanent; 0: nothing is published."""
        return self.as_of or self.snapshot.revision

    @property
    def address_parameters(self) -> dict[str, int]:
        """Return the query parameters that make its address permanent; {} where nothing is published."""
        return words.version_parameters(self.revision, self.method)

    @property
    def method(self) -> int:
        return self.snapshot.method

    @property
    def superseded_by(self) -> int | None:
        return None if self.as_of else self.snapshot.superseded_by

    @property
    def failure(self) -> str:
        """Return why the last attempt to include newer evidence failed; "" where it did not."""
        return "" if self.as_of or self.superseded_by is None else self.snapshot.error

    @property
    def is_by_current_method(self) -> bool:
        """Tell whether the current method computed it."""
        return self.method == METHOD

    @property
    def digest(self) -> str:
        """Return a digest of all that a page shows of it, for its entity tag."""
        address = (
            self.snapshot.digest,
            self.superseded_by,
            self.as_of,
            self.address_parameters,
            self.is_pinned,
            METHOD,
        )
        return hashlib.sha256(repr((*address, self.caveat, self.releases_digest, self.failure)).encode()).hexdigest()

    def permanence(self, address: Callable[..., str]) -> dict[str, Any]:
        """Return the fields of modelling.evidence.serialization.Permanence. address : takes as_of and method"""
        permanent = address(**self.address_parameters) if self.address_parameters else None
        return {"method": self.method, "permanent": permanent, "pinned": self.is_pinned}


def answer_version(question: Question, as_of: int | None, method: int | None, user: Any) -> AnswerVersion | None:
    """Return the answer at this address; None while a worker computes it. A permanent one is pinned, given room.

    method : None: the current one
    Raises NoSuchAnswer where an earlier method is named and its answer was not pinned.
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
    return AnswerVersion(
        shown, caveat=forecast_caveat(question.axis), changes=changes, releases_digest=releases.stamp()
    )


def combined_version(
    key: str,
    as_of: int | None,
    method: int | None,
    user: Any,
    work_out: Callable[[], dict[str, Any]],
    is_worth: Callable[[dict[str, Any]], bool],
) -> AnswerVersion:
    """Return the comparison or mix at this address, as `answer_version` does.

    key : as of permalinks.permalink_key; work_out : computes the result; is_worth : whether to pin a result
    """

    def compute() -> RankingSnapshot:
        # Through JSON, so that a fresh result equals one read from the database.
        return RankingSnapshot.unsaved(json.loads(json.dumps(work_out())), METHOD, now())

    if as_of is None:
        return AnswerVersion(compute())
    room = permalinks.allowed_share(user, permalinks.COMBINED)
    return _permanent(key, as_of, method or METHOD, room, compute, lambda snapshot: is_worth(snapshot.result))


def _permanent(
    key: str,
    as_of: int,
    method: int,
    room: float | None,
    work_out: Callable[[], RankingSnapshot],
    is_worth: Callable[[RankingSnapshot], bool],
) -> AnswerVersion:
    """Return the pinned answer, else compute it by the current method and pin it if it is worth that."""
    if (first := permalinks.load_pinned(key, as_of, method)) is not None:
        return AnswerVersion(first, as_of, is_pinned=True)
    permalinks.reject_other_methods(method)
    snapshot = work_out()
    return AnswerVersion(snapshot, as_of, is_pinned=is_worth(snapshot) and permalinks.pin(key, snapshot, room, as_of))


def current_answers(questions: Sequence[Question]) -> dict[Question, RankingSnapshot | None]:
    """Return each current answer, stale ones a step weaker; None while a worker computes it.

    One query for those that are stored, and one more where something changed under their workload.
    """
    return weaken_stale(snapshots_or_none(questions))
