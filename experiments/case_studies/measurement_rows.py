"""Write many measurements fast: by COPY on PostgreSQL, by many-row statements on SQLite."""

from collections.abc import Iterable
from typing import NamedTuple

from experiments.models import Measurement
from kdb.database import bulk_rows


class MeasurementRow(NamedTuple):
    """A measurement to be written; the fields are the columns of its table (experiments.models.Measurement)."""

    configuration_id: int
    variant_id: int
    operation: str
    block_size_bytes: int | None
    vm_count: int
    machine: int | None
    metric: str
    unit: str
    value: float
    alternative_value: float | None
    quality: str
    repetition: int
    repetitions: int | None
    standard_deviation: float | None
    minimum: float | None
    maximum: float | None
    reference: str
    excluded_because: str
    excluded_by: str
    source: str
    note: str
    raw_file_id: int | None
    line: int | None


COLUMNS = MeasurementRow._fields


def write(rows: Iterable[MeasurementRow]) -> None:
    """Add measurements, inside a transaction; constraints of the database are checked as usual."""
    bulk_rows.insert(Measurement._meta.db_table, COLUMNS, rows)
