"""Sums as rows of the database, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db.models import QuerySet, Sum

from experiments.laboratory.transport.counters import NAMES, Counts
from experiments.laboratory.transport.offsets import Offsets
from experiments.models import DiskStatistics

from .sums import Watched

COUNTED = ["seconds", "busy_seconds", *NAMES]


def statistics(disk_id: int, span: str, starts_at: datetime, watched: Watched) -> DiskStatistics:
    """Return an unsaved row."""
    return DiskStatistics(
        disk_id=disk_id,
        span=span,
        starts_at=starts_at,
        seconds=watched.seconds,
        busy_seconds=min(watched.busy_seconds, watched.seconds),
        **asdict(watched.counts),
        offsets=asdict(watched.offsets) if watched.offsets is not None else None,
    )


def save(rows: list[DiskStatistics]) -> None:
    """Save rows in place of those that are there for the same disk and time."""
    DiskStatistics.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["disk", "span", "starts_at"],
        update_fields=[*COUNTED, "offsets"],
        batch_size=1000,
    )


def watched(row: DiskStatistics) -> Watched:
    counts = Counts(**{name: getattr(row, name) for name in NAMES})
    return Watched(row.seconds, row.busy_seconds, counts, None if row.offsets is None else Offsets(**row.offsets))


def summed(rows: QuerySet[DiskStatistics], *by: str) -> list[tuple[Mapping[str, Any], Watched]]:
    """Return the sums over all rows that agree in the fields `by`; of offsets minutes alone know."""
    sums: Any = rows.values(*by).annotate(**{f"sum_{name}": Sum(name) for name in COUNTED}).order_by()
    return [
        (
            row,
            Watched(
                row["sum_seconds"], row["sum_busy_seconds"], Counts(**{name: row[f"sum_{name}"] for name in NAMES})
            ),
        )
        for row in sums
    ]
