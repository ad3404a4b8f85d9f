"""Escape cells of CSV that spreadsheets would run as formulas: `=x`, `+x`, `-x`, `@x`, or after a tab or a return.

An apostrophe in front makes them text. It is also put before one that has apostrophes already, so that reading removes
exactly one. Numbers stay as they are.
"""

import re
from typing import Any

_FORMULA = re.compile(r"\A'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escaped(cell: Any) -> Any:
    """Return the cell, with an apostrophe in front if it is text that looks like a formula."""
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def unescaped(text: str) -> str:
    """Return the text without the apostrophe of `escaped`; any other text as it is."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
