"""Pin answers: a permanent address names revision and method, and gives for ever what it gave first.

An answer is pinned when its permanent address is asked for, fed or sent. One that is only shown is pinned too, while
pins take less than half of visitors' room: whoever copies an address has not asked for it yet. Pins are never evicted.
A stranger who asks for a million addresses uses up the room, after which answers say that they are not kept; what users
ask for and followers are told needs no room.
"""

import hashlib
import json
import zlib
from typing import Any

from django.conf import settings

from modelling.estimation.ranking import METHOD
from modelling.evidence.serialization import NoSuchAnswer
from modelling.evidence.storage import Busy, nowait_transaction
from modelling.models import PinnedAnswer, RankingSnapshot

# Shares of visitors' room, up to which a pin may be made:
COMBINED = 0.25  # comparisons and mixes, of which anybody can make up any number: counted by themselves
SHOWN = 0.5  # an answer whose permanent address is only shown
ASKED = 1.0  # an answer that is asked for by its permanent address
UNLIMITED = None


def permalink_key(kind: str, key: str) -> str:
    """Return the key under which an answer is pinned. kind : ranking, comparison, mix; key : what it depends on"""
    return hashlib.sha256(f"{kind}|{key}".encode()).hexdigest()


def allowed_share(user: Any, share: float = ASKED) -> float | None:
    """Return the share of visitors' room up to which this user may pin answers; None: no limit."""
    return UNLIMITED if user.is_authenticated else share


def load_pinned(key: str, revision: int, method: int) -> RankingSnapshot | None:
    """Return the pinned answer as an unsaved row; None where there is none. key : of permalink_key"""
    row = PinnedAnswer.objects.filter(asked=key, revision=revision, method=method).first()
    if row is None:
        return None
    return RankingSnapshot.unsaved(json.loads(zlib.decompress(row.body)), method, row.given_at)


def pinned_versions(key: str) -> set[tuple[int, int]]:
    """Return revision and method of each pinned answer under this key."""
    return set(PinnedAnswer.objects.filter(asked=key).values_list("revision", "method"))


def pin(key: str, snapshot: RankingSnapshot, room: float | None, revision: int | None = None) -> bool:
    """Keep the answer for good; return whether it is kept now.

    room : the share of visitors' room up to which it may be pinned; None: it takes no visitors' room
    revision : that of the address, where it differs from the one it was computed from
    """
    address: dict[str, Any] = {"asked": key, "revision": revision or snapshot.revision, "method": snapshot.method}
    if PinnedAnswer.objects.filter(**address).exists():
        return True
    if room is not None and not _has_room(room):
        return False
    row = PinnedAnswer(
        **address,
        body=zlib.compress(json.dumps(snapshot.result).encode()),
        given_at=snapshot.computed_at,
        is_visitors=room is not None,
        is_combined=room == COMBINED,
    )
    try:
        with nowait_transaction():
            PinnedAnswer.objects.bulk_create([row], ignore_conflicts=True)
    except Busy:  # another transaction writes, and a reader must not wait for it: the next request pins it
        return False
    return True


def pin_answer(snapshot: RankingSnapshot, room: float | None, revision: int | None = None) -> bool:
    """Keep the answer to a question for good; see pin."""
    return pin(permalink_key("ranking", snapshot.question), snapshot, room, revision)


def count_visitors_pins() -> int:
    """Count the pins that take visitors' room."""
    return PinnedAnswer.objects.filter(is_visitors=True).count()


def _has_room(room: float) -> bool:
    most = settings.KDB_PINNED_ANSWERS
    if room != COMBINED:
        return count_visitors_pins() < room * most
    combined = PinnedAnswer.objects.filter(is_visitors=True, is_combined=True).count()
    return combined < room * most and count_visitors_pins() < most


def reject_other_methods(method: int) -> None:
    """Raise NoSuchAnswer for any method but the current one, which alone can compute an answer that is not kept."""
    if method == METHOD:
        return
    is_gone = method < METHOD
    why = f"The answer that method {method} gave was not kept" if is_gone else f"There is no method {method}"
    raise NoSuchAnswer(
        f"{why}; the method of today is {METHOD}. Without a method the address gives what is known.", is_gone=is_gone
    )
