"""The selectors of series and changes for pages and the API."""

from datetime import date
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.timezone import now

from modelling.models import Laboratory, SeriesChange

from . import gather, presentation
from .content import History
from .keeping import changes_of


def history_of(laboratory: Laboratory, key: str) -> History | None:
    """Return a series of a laboratory over time; None where it has none of this key. Four queries."""
    known = gather.found(laboratory, key)
    if known is None:
        return None
    series, name = known
    rows = SeriesChange.objects.filter(laboratory=laboratory, series=key)
    changes = {row.sitting_id: (row.ratio, row.low, row.high, row.confirmed_by_id is not None) for row in rows}
    return presentation.history(key, series, name, gather.points(laboratory, series), changes)


def found_in(user: Any, month: str) -> QuerySet[SeriesChange]:
    """Return the changes found in a month in the user's laboratories, newest first. month : 2026-11; "": this one"""
    first = month_of(month)
    return changes_of(user).filter(found_at__year=first.year, found_at__month=first.month)


def month_of(month: str) -> date:
    """Return the first day of a month; of this one where it is empty."""
    return date.fromisoformat(f"{month}-01") if month else now().date().replace(day=1)


def counted(laboratory: Laboratory) -> dict[str, int]:
    """Return how many suspicions and changes each series has. One query."""
    rows = SeriesChange.objects.filter(laboratory=laboratory).values_list("series").annotate(Count("pk"))
    return dict(rows.order_by())
