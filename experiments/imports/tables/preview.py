"""Lay out a published table for its owner: the measurements, errors or reason of each row. No HTML."""

from dataclasses import dataclass, field

from experiments.imports.normalise import Row
from experiments.readers.table import Fault

from .drafting import TableReading
from .parsing import PlainTable

MAX_ROWS = 200  # shown
COLUMN_ROWS = 8  # rows below the headings that a user gives a meaning


@dataclass
class PreviewRow:
    """One row of the table as it was printed, and what becomes of it."""

    line: int
    cells: list[str]
    measurements: list[Row] = field(default_factory=list)
    errors: list[Fault] = field(default_factory=list)
    reason: str = ""  # why it is left out


@dataclass(frozen=True)
class Preview:
    """The rows to show, those with errors first where there are too many; general : errors of no single row"""

    rows: list[PreviewRow]
    more: int
    measurements: int
    left_out: int
    errors: list[Fault]
    general: list[Fault]


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


def marked_cells(table: PlainTable, reading: TableReading) -> list[list[tuple[str, str]]]:
    """Return the first rows, those with a marked cell before others: each cell with what is wrong with it, or "".

    An error marks every cell that is alike, and of its column where it names one by its heading.
    """
    wrong = {(fault.field if fault.field in table.header else "", fault.found): fault for fault in reading.faults}

    def marked(heading: str, cell: str) -> tuple[str, str]:
        fault = wrong.get((heading, cell)) or wrong.get(("", cell))
        return cell, fault.difference if fault else ""

    rows = [[marked(*pair) for pair in zip(table.header, row, strict=True)] for row in table.rows]
    return sorted(rows, key=lambda row: not any(why for _, why in row))[:COLUMN_ROWS]
