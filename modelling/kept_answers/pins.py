"""Pinned answers: what a permanent address gave first, and gives from then on, whatever is published or mended later.

A permanent address names revision and method. Its answer is pinned when the address is asked for, fed or told. An
answer that is only shown is pinned too, while pins take less than half of visitors' room: whoever copies an address has
not asked for it yet. A pin is never evicted, so a stranger who asks for a million addresses uses up the room, and from
then on answers say that they are not kept; what users ask for and followers are told needs no room.
"""

import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.timezone import now

from modelling.estimation.ranking import METHOD
from modelling.evidence.asking import NoSuchAnswer
from modelling.evidence.keeping import Busy, at_once
from modelling.models import PinnedAnswer

from .aged import Aged

# Shares of visitors' room, up to which a pin may be made:
COMBINED = 0.25  # for what anybody can put together in any number, comparisons and mixes: by them alone
SHOWN = 0.5  # for the mere showing of an address
ASKED = 1.0
UNLIMITED = None


@dataclass(frozen=True)
class Given:
    """An answer as it stands at an address.

    result : as JSON has it; revision, method : those that make the address permanent
    is_pinned : whether it is kept for good; None: not asked for by its permanent address
    changes : of speed since its evidence was measured; none at a permanent address
    """

    result: dict[str, Any]
    revision: int
    method: int
    given_at: datetime
    is_pinned: bool | None
    changes: tuple[Aged, ...] = ()

    @property
    def is_of_today(self) -> bool:
        """Tell whether the method of today gave it."""
        return self.method == METHOD

    @property
    def named(self) -> dict[str, int]:
        """Return what the permanent address ends with; nothing where nothing is published."""
        return {"as_of": self.revision, "method": self.method} if self.revision else {}

    def as_json(self, address: Callable[..., str]) -> dict[str, Any]:
        """Return the result with what modelling.evidence.asking.Permanence has. address : takes as_of and method"""
        permanent = address(**self.named) if self.named else None
        return {**self.result, "method": self.method, "permanent": permanent, "pinned": self.is_pinned}


def asked(kind: str, key: str) -> str:
    """Return a question's name as pins spell it. kind : ranking, comparison, mix; key : all its answer depends on"""
    return hashlib.sha256(f"{kind}|{key}".encode()).hexdigest()


def room_for(user: Any, share: float = ASKED) -> float | None:
    """Return up to which share of visitors' room may be used up for this user; None: it needs none."""
    return UNLIMITED if user.is_authenticated else share


def pinned(what: str, revision: int, method: int) -> Given | None:
    """Return what the permanent address gave first; None where that was not kept."""
    row = PinnedAnswer.objects.filter(asked=what, revision=revision, method=method).first()
    if row is None:
        return None
    return Given(json.loads(zlib.decompress(row.body)), revision, method, row.given_at, is_pinned=True)


def editions(what: str) -> set[tuple[int, int]]:
    """Return revision and method of each answer to the question that is pinned."""
    return set(PinnedAnswer.objects.filter(asked=what).values_list("revision", "method"))


def pin(what: str, given: Given, room: float | None) -> bool:
    """Keep the answer for good; tell whether it is kept now.

    room : the share of visitors' room up to which it may be; None: it needs none
    """
    if PinnedAnswer.objects.filter(asked=what, revision=given.revision, method=given.method).exists():
        return True
    if room is not None and not _is_free(room):
        return False
    row = PinnedAnswer(
        asked=what,
        revision=given.revision,
        method=given.method,
        body=zlib.compress(json.dumps(given.result).encode()),
        given_at=given.given_at,
        is_visitors=room is not None,
        is_combined=room == COMBINED,
    )
    try:
        with at_once():
            PinnedAnswer.objects.bulk_create([row], ignore_conflicts=True)
    except Busy:  # somebody else writes, and readers do not wait for that: the next request pins it
        return False
    return True


def taken() -> int:
    """Count the pins that use up visitors' room."""
    return PinnedAnswer.objects.filter(is_visitors=True).count()


def _is_free(room: float) -> bool:
    most = settings.KDB_PINNED_ANSWERS
    if room != COMBINED:
        return taken() < room * most
    combined = PinnedAnswer.objects.filter(is_visitors=True, is_combined=True).count()
    return combined < room * most and taken() < most


def refuse_other_methods(method: int) -> None:
    """Raise NoSuchAnswer where an answer that is not kept would have to come from another method than today's."""
    if method == METHOD:
        return
    is_gone = method < METHOD
    why = f"The answer that method {method} gave was not kept" if is_gone else f"There is no method {method}"
    raise NoSuchAnswer(
        f"{why}; the method of today is {METHOD}. Without a method the address gives what is known.", is_gone=is_gone
    )


def given(
    what: str,
    as_of: int | None,
    method: int | None,
    room: float | None,
    work_out: Callable[[], dict[str, Any]],
    is_worth: Callable[[dict[str, Any]], bool],
) -> Given:
    """Return what stands at the address. With a revision it is the pinned answer, else what today's method says, pinned
    from now on where there is room and it says something.

    method : None: today's
    Raises NoSuchAnswer where another method than today's is named and its answer was not kept.
    """
    if as_of is not None:
        if (there := pinned(what, as_of, method or METHOD)) is not None:
            return there
        refuse_other_methods(method or METHOD)
    result = json.loads(json.dumps(work_out()))  # as it is read again
    if as_of is None:
        return Given(result, result["revision"], METHOD, now(), is_pinned=None)
    fresh = Given(result, as_of, METHOD, now(), is_pinned=False)
    return replace(fresh, is_pinned=is_worth(result) and pin(what, fresh, room))
