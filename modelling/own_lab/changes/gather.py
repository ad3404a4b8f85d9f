"""Series out of the sittings of a laboratory: the one place where the room reads them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log, sqrt
from statistics import median_high, median_low
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from experiments.models import CaseStudy
from kdb.disk_path import SETTINGS
from modelling.models import Laboratory, Sitting, SittingRun

from .content import Fact, Point, Series, SeriesLine
from .statistics.newest import MOST

MOST_POINTS = 400  # sittings of one machine under one load that are read: more than a year of nights
MOST_READ = 2000  # sittings of a laboratory whose series are listed
# What changes from release to release, and so makes no other series.
RELEASES = tuple(column for column in SETTINGS if column.endswith(("_release", "_kernel")))
_NO_FACTS = ("measured_at",)  # said of each sitting anew
_READ = ("machine", "workload", "like", "engine", "seconds", "set_mib", "choices", "facts", "ended_at", "laboratory")


def series_of(sitting: Sitting) -> list[tuple[Series, str]]:
    """Return what each choice of a sitting is a point of, with what the choice is called."""
    load = sitting.like and (sitting.like.get("job") or json.dumps(sitting.like["load"], sort_keys=True))
    job = hashlib.sha256(load.encode()).hexdigest()[:12] if load else ""
    return [
        (
            Series(
                sitting.machine,
                sitting.load_name,
                sitting.engine,
                sitting.seconds,
                choice["place"],
                {name: value for name, value in sorted(choice["settings"].items()) if name not in RELEASES},
                job,
                sitting.set_mib,
            ),
            choice["name"],
        )
        for choice in sitting.choices
    ]


def series_lines(laboratory: Laboratory) -> list[SeriesLine]:
    """List the series of a laboratory's newest sittings, that measured last first. One query."""
    counts: dict[str, int] = {}
    newest: dict[str, tuple[Series, str, datetime]] = {}
    for sitting in _ended(laboratory).order_by("-ended_at", "-pk")[:MOST_READ]:
        for series, name in series_of(sitting):
            key = series.key
            newest.setdefault(key, (series, name, end_of(sitting)))
            counts[key] = counts.get(key, 0) + 1
    return [SeriesLine(key, series, name, counts[key], at.isoformat()) for key, (series, name, at) in newest.items()]


def find_series(laboratory: Laboratory, key: str) -> tuple[Series, str] | None:
    """Return the series of this key with its name; None: the laboratory has none. One query."""
    return next(((line.series, line.name) for line in series_lines(laboratory) if line.key == key), None)


class Run(NamedTuple):
    """A run, as points need it."""

    choice: int
    value: float | None
    disturbed: str


def points_of(sittings: Iterable[tuple[Sitting, Sequence[Run]]], series: Series) -> list[Point]:
    """Return the points of a series in these sittings, which are in order."""
    points: list[Point] = []
    before: Mapping[str, str] | None = None
    for sitting, runs in sittings:
        places = [place for place, (of, _) in enumerate(series_of(sitting)) if of == series]
        if places:
            facts = facts_of(sitting, places)
            points.append(_point(sitting, runs, places, changed_facts(before, facts)))
            before = facts
    return points


def newest_sittings(
    laboratory: Laboratory, series: Series, until: Sitting | None = None, most: int = MOST_POINTS
) -> list[tuple[Sitting, list[Run]]]:
    """Return the newest sittings of the series' machine under its load, oldest first, with their runs. Two queries.

    until : the last sitting that is asked for
    """
    rows = sittings_of(laboratory, series).prefetch_related(None)
    if until is not None:
        rows = rows.filter(Q(ended_at__lt=until.ended_at) | Q(ended_at=until.ended_at, pk__lte=until.pk))
    sittings = list(reversed(rows[:most]))
    runs_of: dict[int, list[Run]] = {sitting.pk: [] for sitting in sittings}
    runs = SittingRun.objects.filter(sitting__in=runs_of)
    for pk, *run in runs.values_list("sitting", *Run._fields).order_by():  # models would take five times as long
        runs_of[pk].append(Run(*run))
    return [(sitting, runs_of[sitting.pk]) for sitting in sittings]


def newest_points(
    laboratory: Laboratory, named: Sequence[Series], until: Sitting | None = None
) -> dict[str, list[Point]]:
    """Return the points of series of one machine and load, by key: MOST at least, where there are as many.

    until : the last sitting that is asked for
    """
    for most in (MOST, MOST_POINTS):
        sittings = newest_sittings(laboratory, named[0], until, most)
        points = {series.key: points_of(sittings, series) for series in named}
        if min(map(len, points.values())) == min(len(sittings), MOST):
            break  # no sitting was of other places
    return points


@dataclass(frozen=True)
class Track:
    """All points of a series that count, oldest first. values : ln speed; facts : all that is known at each"""

    laboratory: int
    times: list[datetime]
    values: list[float]
    facts: list[Mapping[str, str]]


def read_tracks(own: Laboratory | None) -> dict[tuple[int, str], Track]:
    """Return every series, by laboratory and key, in the newest MOST_READ sittings that everybody may see: shared, and
    published. Two queries.

    own : a laboratory of which all sittings are read
    """
    shown = Q(case_study__status=CaseStudy.Status.PUBLISHED)
    rows = Sitting.objects.filter(shown | Q(laboratory=own) if own else shown, ended_at__isnull=False)
    newest = rows.only(*_READ).order_by("-ended_at", "-pk").prefetch_related("runs")[:MOST_READ]
    tracks: dict[tuple[int, str], Track] = {}
    for sitting in reversed(newest):
        keys = [series.key for series, _ in series_of(sitting)]
        for key in dict.fromkeys(keys):
            places = [place for place, of in enumerate(keys) if of == key]
            value = _point(sitting, sitting.runs.all(), places, ()).value
            if value is not None:
                track = tracks.setdefault((sitting.laboratory_id, key), Track(sitting.laboratory_id, [], [], []))
                track.times.append(end_of(sitting))
                track.values.append(log(value))
                track.facts.append(facts_of(sitting, places))
    return tracks


def changed_facts(before: Mapping[str, str] | None, after: Mapping[str, str]) -> tuple[Fact, ...]:
    """Return what differs, by name; nothing where there is no point before."""
    if before is None:
        return ()
    names = sorted({*before, *after})
    return tuple(
        Fact(name, before.get(name, ""), after.get(name, ""))
        for name in names
        if before.get(name, "") != after.get(name, "")
    )


def sittings_of(laboratory: Laboratory, series: Series) -> QuerySet[Sitting]:
    """Return the sittings of the series' machine under its load that ended, with their runs, newest first."""
    of_load = {"seconds": series.seconds, "engine": series.engine, "set_mib": series.set_mib}
    rows = _ended(laboratory).filter(machine=series.machine, **of_load)
    rows = rows.filter(like__isnull=False) if series.job else rows.filter(workload=series.load)
    return rows.order_by("-ended_at", "-pk").prefetch_related("runs")


def _ended(laboratory: Laboratory) -> QuerySet[Sitting]:
    return Sitting.objects.filter(laboratory=laboratory, ended_at__isnull=False).only(*_READ)


def end_of(sitting: Sitting) -> datetime:
    """Return when a sitting ended that has ended."""
    assert sitting.ended_at is not None  # _ended asks for no others
    return sitting.ended_at


def facts_of(sitting: Sitting, places: Iterable[int]) -> dict[str, str]:
    """Return what is known of the machine, and the releases of what is measured."""
    facts = {name: str(value) for name, value in sitting.facts.items() if name not in _NO_FACTS}
    for place in places:
        settings: dict[str, Any] = sitting.choices[place]["settings"]
        facts |= {name: value for name, value in settings.items() if name in RELEASES}
    return facts


def _point(sitting: Sitting, runs: Iterable[Run | SittingRun], places: Sequence[int], facts: tuple[Fact, ...]) -> Point:
    runs = [run for run in runs if run.choice in places]
    values = [run.value for run in runs if run.value is not None and not run.disturbed]
    middle = sqrt(median_low(values) * median_high(values)) if values else None
    slowest, fastest = (min(values), max(values)) if values else (None, None)
    disturbed = sum(bool(run.disturbed) for run in runs)
    return Point(sitting.pk, end_of(sitting).isoformat(), middle, slowest, fastest, len(values), disturbed, facts)
