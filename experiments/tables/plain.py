"""A table as it was printed: a header and rows of texts, each with its line in the source. No Django."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PlainTable:
    """One table of a source. lines : of each row, the line it begins on; caption : words above or below it, or none"""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    caption: str = ""
