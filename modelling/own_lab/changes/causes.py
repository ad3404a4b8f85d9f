"""Names the facts that changed with the speed, and asks further series of each: those that took it, and the others."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from django.core.cache import caches

from modelling.models import SeriesChange

from . import gather, words
from .content import Cause, Fact, Tally
from .gather import Track
from .statistics.release import MOST, Step, effect, levels_around

_SECONDS = 60  # that others see causes as they were
NEAR = timedelta(days=60)  # from the change, within which a series without the release is compared


def causes_of(change: SeriesChange, *, is_member: bool) -> list[Cause]:
    """Return each fact that changed with the speed. Two queries; none where no fact changed.

    is_member : all series of the change's laboratory count, else only those that it shared; of others always only those
    """
    facts = [fact for fact in (Fact(**fact) for fact in change.facts) if fact.before and fact.after]
    if not facts:
        return []
    tracks = gather.read_tracks(change.laboratory if is_member else None)
    tracks.pop((change.laboratory_id, change.series), None)  # its own change is what made us ask
    at = change.sitting.ended_at
    assert at is not None  # a sitting that shows a change has ended
    kind = str(change.sitting.facts.get("virtual", ""))
    alike = [track for track in tracks.values() if track.facts[-1].get("virtual", "") == kind]
    return [_cause(fact, change.ratio, [_step(track, fact, at) for track in alike]) for fact in facts]


def public_causes_of(change: SeriesChange) -> list[Cause]:
    """Return the causes as everybody may see them, from memory: a stranger's request reads no thousand sittings."""
    key = f"modelling.causes:{change.pk}"
    causes: list[Cause] | None = caches["worked-out"].get_or_set(
        key, partial(causes_of, change, is_member=False), _SECONDS
    )
    return causes or []


def _cause(fact: Fact, ratio: float, of_tracks: Iterable[Step | None]) -> Cause:
    steps = [step for step in of_tracks if step is not None]
    took, without = ([step for step in steps if step.took == took] for took in (True, False))
    middle, low, high = effect(steps) or (None, None, None)
    cause = Cause(fact, _tally(took, ratio), _tally(without, ratio), middle, low, high, sentence="")
    return replace(cause, sentence=words.cause_sentence(cause, ratio < 1))


def _tally(steps: Sequence[Step], ratio: float) -> Tally:
    laboratories = {step.laboratory for step in steps}
    return Tally(len(steps), len(laboratories), sum(step.is_alike(ratio) for step in steps))


def _step(track: Track, fact: Fact, at: datetime) -> Step | None:
    """Return how a series changed when it took the release; or, where the fact stayed as it was, at that time."""
    values = [facts.get(fact.name, "") for facts in track.facts]
    taken = (i for i in range(1, len(values)) if values[i] == fact.after and values[i - 1] not in ("", fact.after))
    place = next(taken, None)
    took = place is not None
    if place is None:
        place = sum(time < at for time in track.times)
        around = slice(max(0, place - MOST), place + MOST)
        is_near = all(abs(time - at) <= NEAR for time in track.times[max(0, place - 1) : place + 1])
        if not is_near or len(set(values[around])) != 1 or values[place - 1] in ("", fact.after):
            return None
    levels = levels_around(track.values, place)
    return Step(track.laboratory, took, levels) if levels else None
