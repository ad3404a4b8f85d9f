"""Reads of series and changes, for pages, the API, the feed and notifications."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.timezone import now

from kdb.notifications.models import Delivery, Topic
from modelling.models import Laboratory, SeriesChange, Sitting
from modelling.own_lab.selectors import laboratories_of

from . import gather, presentation, words
from .content import FASTER, NEW, SLOWER, STEADY, UNKNOWN, Current, History, Point, Series
from .statistics.newest import LEAST

TOLD_FOR = timedelta(days=30)  # that a change is news
ENDED_AFTER = timedelta(days=14)  # without a night a series has ended


def changes_of(user: Any) -> QuerySet[SeriesChange]:
    """Return the changes in the user's laboratories; to others they look like what is not there."""
    return SeriesChange.objects.filter(laboratory__in=laboratories_of(user)).select_related(
        "laboratory", "handled_by", "sitting"
    )


def public_changes() -> QuerySet[SeriesChange]:
    """Return the changes that everybody may see, confirmed last first."""
    return (
        SeriesChange.objects.public().select_related("laboratory", "sitting__case_study").order_by("-handled_at", "-pk")
    )


def history_of(laboratory: Laboratory, key: str) -> History | None:
    """Return a series of a laboratory over time; None where it has none of this key. Four queries."""
    known = gather.find_series(laboratory, key)
    return known and history(laboratory, *known)


def history(laboratory: Laboratory, series: Series, name: str, until: Sitting | None = None) -> History:
    """Return a series over time. Three queries. until : the last sitting that is asked for"""
    points = gather.points_of(gather.newest_sittings(laboratory, series, until), series)
    changes = _changes(laboratory, series)
    steps = {one.sitting_id: (one.ratio, one.low, one.high, one.confirmed_by_id is not None) for one in changes}
    current = _current(series, name, points, changes, gather.end_of(until) if until else now())
    return presentation.make_history(current, series, points, steps)


def speeds_now(laboratory: Laboratory, named: Sequence[tuple[Series, str]]) -> list[Current]:
    """Return how fast series of one machine and load are. Two queries or four, and one a series."""
    points = gather.newest_points(laboratory, [series for series, _ in named])
    return [_current(series, name, points[series.key], _changes(laboratory, series), now()) for series, name in named]


def _changes(laboratory: Laboratory, series: Series) -> QuerySet[SeriesChange]:
    changes = SeriesChange.objects.filter(laboratory=laboratory, series=series.key)
    return changes.select_related("sitting", "shown_by", "confirmed_by")


def _current(
    series: Series, name: str, points: Iterable[Point], changes: Iterable[SeriesChange], at: datetime
) -> Current:
    """Return how fast a series is, with its newest change of the TOLD_FOR before, or else an unjudged suspicion."""
    counted = [point for point in points if point.value is not None]
    point = counted[-1] if counted else None
    end = datetime.fromisoformat(point.at) if point else at
    lately = [change for change in changes if end - TOLD_FOR < _told_at(change) <= end]
    told = [change for change in lately if change.confirmed_by_id or change.standing == NEW]
    change = max(told, key=lambda one: (one.confirmed_by_id is not None, gather.end_of(one.sitting)), default=None)
    first = {change.sitting_id for change in changes}
    nights = next((n for n, night in enumerate(reversed(counted), start=1) if night.sitting in first), len(counted))
    not_known = f"{nights} of {LEAST} nights" if nights < LEAST and not change else ""
    if point and end < at - ENDED_AFTER:
        not_known = f"no night since {end:%Y-%m-%d}"
    state, number, is_new, since = UNKNOWN if not_known else STEADY, None, False, ""
    if change and not not_known:
        state = SLOWER if change.ratio < 1 else FASTER
        state = state if change.confirmed_by_id else f"perhaps {state}"
        number, is_new = change.pk, change.confirmed_by_id is not None and change.standing == NEW
        since = f", since {gather.end_of(change.sitting):%Y-%m-%d} {change.ratio:.2f} times as fast as before"
    return Current(
        series.key,
        name,
        series.load,
        point,
        state,
        not_known,
        number,
        is_new,
        series.unit,
        words.current_speed(point, series.unit, f"{state}, {not_known}" if not_known else f"{state}{since}"),
    )


def _told_at(change: SeriesChange) -> datetime:
    """Return when a change was confirmed, or a suspicion found: some nights after the sitting that it began with."""
    return gather.end_of(change.confirmed_by or change.shown_by or change.sitting)


def changes_found_in(user: Any, month: str) -> QuerySet[SeriesChange]:
    """Return the changes found in a month in the user's laboratories, newest first. month : 2026-11; "": this one"""
    first = month_of(month)
    return changes_of(user).filter(found_at__year=first.year, found_at__month=first.month)


def month_of(month: str) -> date:
    """Return the first day of a month; of this one where it is empty."""
    return date.fromisoformat(f"{month}-01") if month else now().date().replace(day=1)


def change_counts(laboratory: Laboratory) -> dict[str, int]:
    """Return how many suspicions and changes each series has. One query."""
    rows = SeriesChange.objects.filter(laboratory=laboratory).values_list("series").annotate(Count("pk"))
    return dict(rows.order_by())


def sentence_of(change: SeriesChange, about: Mapping[str, Any]) -> str:
    """Return a change, or a suspicion, in words. about : of words.title"""
    assert change.sitting.ended_at is not None  # a sitting that shows a change has ended
    interval, began = (change.ratio, change.low, change.high), change.sitting.ended_at.isoformat()
    return words.sentence(about, interval, began, change.facts, is_confirmed=change.confirmed_by_id is not None)


def why_not_deliver(delivery: Delivery) -> str:
    """Say why its owner is not told of a change after all; "" where nothing is against it."""
    if delivery.topic != Topic.CHANGE:
        return ""
    may_see = changes_of(delivery.subscription.user).filter(pk=delivery.facts["change"]).exists()
    return "" if may_see else "You are no member of its laboratory any more, or it is gone."
