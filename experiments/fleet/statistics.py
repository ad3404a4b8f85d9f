"""Convert the activity of disks to rows of DiskStatistics and back."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db.models import QuerySet, Sum

from experiments.laboratory.transport.counters import NAMES, Counts
from experiments.models import DiskStatistics

from .aggregation import DiskActivity

COUNTED = ["seconds", "busy_seconds", *NAMES]


def row(disk_id: int, span: str, starts_at: datetime, activity: DiskActivity) -> DiskStatistics:
    """Return an unsaved row."""
    return DiskStatistics(
        disk_id=disk_id,
        span=span,
        starts_at=starts_at,
        seconds=activity.seconds,
        busy_seconds=min(activity.busy_seconds, activity.seconds),
        **asdict(activity.counts),
    )


def save(rows: list[DiskStatistics]) -> None:
    """Save rows; they replace those of the same disk, span and time."""
    DiskStatistics.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["disk", "span", "starts_at"],
        update_fields=COUNTED,
        batch_size=1000,
    )


def activity_of(row: DiskStatistics) -> DiskActivity:
    return DiskActivity(row.seconds, row.busy_seconds, Counts(**{name: getattr(row, name) for name in NAMES}))


def sum_by(rows: QuerySet[DiskStatistics], *by: str) -> list[tuple[Mapping[str, Any], DiskActivity]]:
    """Return the sums of rows grouped by fields."""
    sums: Any = rows.values(*by).annotate(**{f"sum_{name}": Sum(name) for name in COUNTED}).order_by()
    return [
        (row, DiskActivity(seconds, busy_seconds, Counts(*counts)))
        for row in sums
        for seconds, busy_seconds, *counts in [[row[f"sum_{name}"] for name in COUNTED]]
    ]
