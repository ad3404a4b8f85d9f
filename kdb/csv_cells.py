"""Cells of CSV that spreadsheets would take for formulas: `=x`, `+x`, `-x`, `@x`, what begins with a tab or a return.

An apostrophe before them makes them text, also before one that has apostrophes already, so that reading takes
exactly one away. Numbers stay as they are.
"""

import re
from typing import Any

_FORMULA = re.compile(r"\A'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escaped(cell: Any) -> Any:
    """Return a cell as it is written; only texts are changed."""
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def unescaped(text: str) -> str:
    """Return the text that `escaped` wrote; any other is left alone."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
