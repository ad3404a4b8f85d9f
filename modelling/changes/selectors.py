"""The selectors of series and changes for pages and the API."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.timezone import now

from modelling.models import Laboratory, SeriesChange

from . import gather, presentation, words
from .content import History
from .keeping import changes_of


def history_of(laboratory: Laboratory, key: str, most_p: float) -> History | None:
    """Return a series of a laboratory over time; None where it has none of this key. Three queries."""
    known = gather.found(laboratory, key)
    if known is None:
        return None
    series, name = known
    return presentation.history(key, series, name, gather.points(laboratory, series), most_p)


def found_in(user: Any, month: str) -> QuerySet[SeriesChange]:
    """Return the changes found in a month in the user's laboratories, newest first. month : 2026-11; "": this one"""
    first = month_of(month)
    return changes_of(user).filter(found_at__year=first.year, found_at__month=first.month)


def month_of(month: str) -> date:
    """Return the first day of a month; of this one where it is empty."""
    return date.fromisoformat(f"{month}-01") if month else now().date().replace(day=1)


def counted(laboratory: Laboratory) -> dict[str, int]:
    """Return how many changes were told of each series. One query."""
    rows = SeriesChange.objects.filter(laboratory=laboratory).values_list("series").annotate(Count("pk"))
    return dict(rows.order_by())


def sentence_of(change: SeriesChange, about: Mapping[str, Any]) -> str:
    """Return a change with its interval, its day and what was new with it. about : of words.title"""
    began = change.sitting.ended_at
    at = began.isoformat() if began else ""
    return words.sentence(about, change.ratio, change.low, change.high, at, change.facts)
