"""What the client prints: all of it goes through here, as much of it is what a server says."""

import sys
from typing import Any, TextIO


def show(*lines: Any, file: TextIO | None = None, end: str = "\n") -> None:
    """Print lines without anything that a terminal would obey, and none that a text would make of itself."""
    print(*map(printable, lines), sep="\n", end=end, flush=True, file=file or sys.stdout)


def printable(value: Any) -> str:
    """Return the value's text with a blank for each sign that does not print."""
    return "".join(sign if sign.isprintable() else " " for sign in str(value))
