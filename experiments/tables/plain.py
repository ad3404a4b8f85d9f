"""A table as it was printed: a header and rows of texts, each with its line in the source. No Django."""

import csv
import io
from dataclasses import dataclass


@dataclass(frozen=True)
class PlainTable:
    """One table of a source. lines : of each row, the line it begins on; caption : words above or below it, or none"""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    caption: str = ""

    def __post_init__(self) -> None:
        if len(self.lines) != len(self.rows) or any(len(cells) != len(self.header) for cells in self.rows):
            raise ValueError("a row of another width, or without a line")


def table_of_csv(text: str) -> PlainTable | None:
    """Return the table that a text is as CSV, with commas, semicolons or tabs; None where it is none: then its rows
    have fewer than two cells, or not as many as the header."""
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    records, at = list[tuple[int, list[str]]](), 1
    try:
        for cells in reader:
            if any(cells):
                records.append((at, [cell.strip() for cell in cells]))
            at = reader.line_num + 1
    except csv.Error:
        return None
    widths = {len(cells) for _, cells in records}
    if len(widths) != 1 or widths == {1}:
        return None
    (_, header), *rows = records
    return PlainTable(header, [cells for _, cells in rows], [line for line, _ in rows])
