"""Reads of series and changes, for pages, the API, the feed and notifications."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.timezone import now

from kdb.notifications.models import Delivery, Topic
from modelling.models import Laboratory, SeriesChange
from modelling.own_lab.selectors import laboratories_of

from . import gather, presentation, words
from .content import History


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
    if known is None:
        return None
    series, name = known
    rows = SeriesChange.objects.filter(laboratory=laboratory, series=key)
    changes = {row.sitting_id: (row.ratio, row.low, row.high, row.confirmed_by_id is not None) for row in rows}
    return presentation.make_history(key, series, name, gather.points_of(laboratory, series), changes)


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
