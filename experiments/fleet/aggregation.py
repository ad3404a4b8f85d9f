"""Aggregate counters into sums by minute. No Django."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from experiments.laboratory.transport.counters import Counts, since, total

LONGEST_GAP = timedelta(minutes=5)  # between two looks, up to which the work between them is taken as even
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class DiskActivity:
    """The work of a disk in a part of a minute. seconds : watched; busy_seconds : of these, those with requests"""

    seconds: float
    busy_seconds: float
    counts: Counts


def by_minute(looks: Iterable[tuple[datetime, Counts | None]]) -> dict[datetime, DiskActivity]:
    """Return the work of one disk by minute (UTC, its beginning), for each minute that was watched at least in part.

    looks : in order, the time and the counters since the machine started; None: the machine did not run

    The work between two looks is divided evenly. It is left out where a counter went back, the machine did not run, or
    the looks are further apart than LONGEST_GAP.
    """
    parts_of: dict[datetime, list[DiskActivity]] = {}
    before: tuple[datetime, Counts] | None = None
    for at, counts in looks:
        if before is not None and counts is not None and timedelta(0) < at - before[0] <= LONGEST_GAP:
            difference = since(counts, before[1])
            if difference is not None:
                for minute, part in _split_by_minute(before[0], at, difference):
                    parts_of.setdefault(minute, []).append(part)
        before = None if counts is None else (at, counts)
    return {minute: merge_activities(parts) for minute, parts in parts_of.items()}


def merge_activities(parts: Iterable[DiskActivity]) -> DiskActivity:
    parts = list(parts)
    return DiskActivity(
        sum(part.seconds for part in parts),
        sum(part.busy_seconds for part in parts),
        total(part.counts for part in parts),
    )


def _split_by_minute(began: datetime, ended: datetime, difference: Counts) -> Iterator[tuple[datetime, DiskActivity]]:
    """Yield the work by minute, in proportion to time; counts stay whole numbers and add up exactly."""
    is_busy = difference.requests > 0
    assigned = Counts()
    while began < ended:
        minute = began.replace(second=0, microsecond=0)
        until = min(minute + MINUTE, ended)
        seconds, rest = (until - began).total_seconds(), (ended - began).total_seconds()
        left = astuple(since(difference, assigned) or Counts())
        share = seconds / rest
        part = Counts(*(round(value * share) if isinstance(value, int) else value * share for value in left))
        if until == ended:
            part = Counts(*left)
        assigned = total([assigned, part])
        yield minute, DiskActivity(seconds, seconds if is_busy else 0.0, part)
        began = until


def counts_of(kept: Mapping[str, Any] | None) -> Counts | None:
    """Return the counters that the database stores as JSON."""
    return None if kept is None else Counts(**kept)
