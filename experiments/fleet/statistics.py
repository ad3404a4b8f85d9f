"""Convert the activity of disks to rows of DiskStatistics and back."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db.models import QuerySet, Sum

from experiments.laboratory.transport.counters import NAMES, Counts
from experiments.laboratory.transport.offsets import Offsets
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
        offsets=asdict(activity.offsets) if activity.offsets is not None else None,
    )


def save(rows: list[DiskStatistics]) -> None:
    """Save rows; they replace those of the same disk, span and time."""
    DiskStatistics.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["disk", "span", "starts_at"],
        update_fields=[*COUNTED, "offsets"],
        batch_size=1000,
    )


def activity_of(row: DiskStatistics) -> DiskActivity:
    counts = Counts(**{name: getattr(row, name) for name in NAMES})
    return DiskActivity(row.seconds, row.busy_seconds, counts, None if row.offsets is None else Offsets(**row.offsets))


def sum_by(rows: QuerySet[DiskStatistics], *by: str) -> list[tuple[Mapping[str, Any], DiskActivity]]:
    """Return the sums of rows grouped by fields, without offsets, which only minutes have."""
    sums: Any = rows.values(*by).annotate(**{f"sum_{name}": Sum(name) for name in COUNTED}).order_by()
    return [
        (row, DiskActivity(seconds, busy_seconds, Counts(*counts)))
        for row in sums
        for seconds, busy_seconds, *counts in [[row[f"sum_{name}"] for name in COUNTED]]
    ]
