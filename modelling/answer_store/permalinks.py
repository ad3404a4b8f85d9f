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
COMBINED = 0.25  # for what anybody can put together in any number, comparisons and mixes: by them alone
SHOWN = 0.5  # for the mere showing of an address
ASKED = 1.0
UNLIMITED = None


def permalink_key(kind: str, key: str) -> str:
    """Return the key under which an answer is pinned. kind : ranking, comparison, mix; key : all it depends on"""
    return hashlib.sha256(f"{kind}|{key}".encode()).hexdigest()


def allowed_share(user: Any, share: float = ASKED) -> float | None:
    """Return up to which share of visitors' room this user may fill it; None: without limit."""
    return UNLIMITED if user.is_authenticated else share


def load_pinned(what: str, revision: int, method: int) -> RankingSnapshot | None:
    """Return what the permanent address gave first, as an unsaved row; None where that was not kept."""
    row = PinnedAnswer.objects.filter(asked=what, revision=revision, method=method).first()
    if row is None:
        return None
    return RankingSnapshot.unsaved(json.loads(zlib.decompress(row.body)), method, row.given_at)


def pinned_versions(what: str) -> set[tuple[int, int]]:
    """Return revision and method of each answer to the question that is pinned."""
    return set(PinnedAnswer.objects.filter(asked=what).values_list("revision", "method"))


def pin(what: str, snapshot: RankingSnapshot, room: float | None, revision: int | None = None) -> bool:
    """Keep the answer for good; tell whether it is kept now.

    room : the share of visitors' room up to which it may be; None: it needs none
    revision : that of the address, where it is another than that it was computed from
    """
    place: dict[str, Any] = {"asked": what, "revision": revision or snapshot.revision, "method": snapshot.method}
    if PinnedAnswer.objects.filter(**place).exists():
        return True
    if room is not None and not _is_free(room):
        return False
    row = PinnedAnswer(
        **place,
        body=zlib.compress(json.dumps(snapshot.result).encode()),
        given_at=snapshot.computed_at,
        is_visitors=room is not None,
        is_combined=room == COMBINED,
    )
    try:
        with nowait_transaction():
            PinnedAnswer.objects.bulk_create([row], ignore_conflicts=True)
    except Busy:  # somebody else writes, and readers do not wait for that: the next request pins it
        return False
    return True


def pin_answer(snapshot: RankingSnapshot, room: float | None, revision: int | None = None) -> bool:
    """Keep the answer to a question for good; see pin."""
    return pin(permalink_key("ranking", snapshot.question), snapshot, room, revision)


def count_visitors_pins() -> int:
    """Count the pins that take visitors' room."""
    return PinnedAnswer.objects.filter(is_visitors=True).count()


def _is_free(room: float) -> bool:
    most = settings.KDB_PINNED_ANSWERS
    if room != COMBINED:
        return count_visitors_pins() < room * most
    combined = PinnedAnswer.objects.filter(is_visitors=True, is_combined=True).count()
    return combined < room * most and count_visitors_pins() < most


def reject_other_methods(method: int) -> None:
    """Raise NoSuchAnswer where an answer that is not kept would have to come from another method than today's."""
    if method == METHOD:
        return
    is_gone = method < METHOD
    why = f"The answer that method {method} gave was not kept" if is_gone else f"There is no method {method}"
    raise NoSuchAnswer(
        f"{why}; the method of today is {METHOD}. Without a method the address gives what is known.", is_gone=is_gone
    )
