"""JSON of the programs that print facts: one document, its lists walked in the order of the text."""

import json
from collections.abc import Iterator
from typing import Any

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
