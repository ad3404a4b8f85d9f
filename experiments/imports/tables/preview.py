"""Lay out a published table for its owner: the measurements, errors or reason of each row. No HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from experiments.imports.normalise import Row

from .conversion import TableFault
from .drafting import TableReading
from .parsing import PlainTable

MAX_ROWS = 200  # shown
SAMPLE_ROWS = 3  # rows of a table to choose


@dataclass
class PreviewRow:
    """One row of the table as it was printed, and what becomes of it."""

    line: int
    cells: list[str]
    measurements: list[Row] = field(default_factory=list)
    errors: list[TableFault] = field(default_factory=list)
    reason: str = ""  # why it is left out


@dataclass(frozen=True)
class Preview:
    """The rows to show, those with errors first where there are too many; general : errors of no single row"""

    rows: list[PreviewRow]
    more: int
    measurements: int
    left_out: int
    errors: list[TableFault]
    general: list[TableFault]


def preview(table: PlainTable, reading: TableReading) -> Preview:
    """Return what becomes of each row."""
    rows = {line: PreviewRow(line, cells) for line, cells in zip(table.lines, table.rows, strict=True)}
    wrong = reading.faults
    for row in reading.measurements:
        if row.line in rows:
            rows[row.line].measurements.append(row)
    for error in wrong:
        if error.line in rows:
            rows[error.line].errors.append(error)
    for left_out in reading.left_out:
        rows[left_out.line].reason = left_out.reason
    shown = list(rows.values())
    if len(shown) > MAX_ROWS:
        shown = sorted(shown, key=lambda row: not row.errors)[:MAX_ROWS]
    general = [error for error in wrong if error.line not in rows]
    return Preview(shown, len(rows) - len(shown), len(reading.measurements), len(reading.left_out), wrong, general)


@dataclass(frozen=True)
class Sample:
    """One table of several, to choose from."""

    number: int
    table: PlainTable
    rows: list[list[str]]


def samples(tables: Sequence[PlainTable]) -> list[Sample]:
    return [Sample(number, table, table.rows[:SAMPLE_ROWS]) for number, table in enumerate(tables)]
