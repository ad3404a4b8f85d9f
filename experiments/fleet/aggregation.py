"""Aggregate counters into sums by minute. No Django."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from experiments.laboratory.transport import offsets
from experiments.laboratory.transport.counters import Counts, since, total
from experiments.laboratory.transport.offsets import Offsets

LONGEST_GAP = timedelta(minutes=5)  # between two looks whose difference is still shared out
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class DiskActivity:
    """The work of a disk in a part of a minute. seconds: that were watched; busy_seconds: in which it did anything.

    offsets : of samples of its requests; None: there is none
    """

    seconds: float
    busy_seconds: float
    counts: Counts
    offsets: Offsets | None = None


def by_minute(looks: Iterable[tuple[datetime, Counts | None]]) -> dict[datetime, DiskActivity]:
    """Return the sums of one disk by the beginning of each minute (UTC), of which anything was watched.

    looks : when, in order, and what was counted since its machine started; None: the machine did not run

    Between two looks a disk is taken to work evenly. Nothing is known of the time between them where a counter went
    back, where the machine did not run, or where they are further apart than LONGEST_GAP.
    """
    parts_of: dict[datetime, list[DiskActivity]] = {}
    before: tuple[datetime, Counts] | None = None
    for at, counts in looks:
        if before is not None and counts is not None and timedelta(0) < at - before[0] <= LONGEST_GAP:
            did = since(counts, before[1])
            if did is not None:
                for minute, part in _shared_out(before[0], at, did):
                    parts_of.setdefault(minute, []).append(part)
        before = None if counts is None else (at, counts)
    return {minute: joined(parts) for minute, parts in parts_of.items()}


def joined(parts: Iterable[DiskActivity]) -> DiskActivity:
    parts = list(parts)
    return DiskActivity(
        sum(part.seconds for part in parts),
        sum(part.busy_seconds for part in parts),
        total(part.counts for part in parts),
        offsets.joined(part.offsets for part in parts),
    )


def _shared_out(began: datetime, ended: datetime, did: Counts) -> Iterator[tuple[datetime, DiskActivity]]:
    """Yield the sums by minute, in proportion to the time; the parts of a count are whole and add up to it."""
    is_busy = did.requests > 0
    given = Counts()
    while began < ended:
        minute = began.replace(second=0, microsecond=0)
        until = min(minute + MINUTE, ended)
        seconds, rest = (until - began).total_seconds(), (ended - began).total_seconds()
        left = astuple(since(did, given) or Counts())
        share = seconds / rest
        part = Counts(*(round(value * share) if isinstance(value, int) else value * share for value in left))
        if until == ended:
            part = Counts(*left)
        given = total([given, part])
        yield minute, DiskActivity(seconds, seconds if is_busy else 0.0, part)
        began = until


def counts_of(kept: Mapping[str, Any] | None) -> Counts | None:
    """Return counters as they are kept in the database."""
    return None if kept is None else Counts(**kept)
