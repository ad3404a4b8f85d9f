"""JSON of the programs that print facts: one document, its lists walked in the order of the text."""

import json
import re
from collections.abc import Iterator
from typing import Any

from ..base import FileRefusedError, LineNumbers, text_of

MAX_DEPTH = 40


def document_of(text: str) -> dict[str, Any] | None:
    """Return the text as one JSON object; None where it is none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def tree(entries: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list, each before its "children"."""
    if isinstance(entries, list) and depth < MAX_DEPTH:
        for entry in entries:
            if isinstance(entry, dict):
                yield entry
                yield from tree(entry.get("children"), depth + 1)


def numbered_tree(data: bytes, key: str, first_name: str, program: str) -> list[tuple[int | None, dict[str, Any]]]:
    """Return the objects below a key of a document with the lines of their first names. Raises FileRefusedError."""
    text = text_of(data)
    document = document_of(text)
    if document is None or not isinstance(document.get(key), list):
        raise FileRefusedError(f"the JSON of {program} is cut, or broken")
    numbers = LineNumbers(text)
    lines = [numbers.at(match.start()) for match in re.finditer(rf'"{first_name}"\s{{0,20}}:', text)]
    entries = list(tree(document[key]))
    return [(lines[n] if len(lines) == len(entries) else None, entry) for n, entry in enumerate(entries)]
