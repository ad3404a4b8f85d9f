"""Tell by a digest whether two case studies are the same: by the facts that rankings rest on, and no others."""

import csv
import hashlib
import io
import json
from collections.abc import Iterable
from typing import Any

# Parts of a bundle's document that describe, or that every installation has in words of its own.
_AROUND = ("catalogue", "publications", "claims", "format", "version")
_NAMED_HERE = ("case_study", "server", "storage")  # their short names may be taken elsewhere
_NOTHING = ("", "False")  # cells of a column that another version may not have


def digest(document: dict[str, Any], tables: Iterable[Iterable[list[Any]]]) -> str:
    """Return SHA-256 of a bundle's document and tables. Fields and columns that say nothing do not count, so a version
    with more of them gives the same."""
    facts = {name: part for name, part in document.items() if name not in _AROUND}
    for name in _NAMED_HERE:
        facts[name] = {field: value for field, value in facts[name].items() if field != "slug"}
    checksum = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for table in tables:
        lines = iter(table)
        columns = next(lines, [])
        order = sorted(range(len(columns)), key=columns.__getitem__)
        checksum.update(b"\0")
        for cells in lines:
            csv_text = io.StringIO()
            facts_of_row = [(columns[at], cells[at]) for at in order if str(cells[at]) not in _NOTHING]
            csv.writer(csv_text).writerows(facts_of_row)
            checksum.update(csv_text.getvalue().encode())
    return checksum.hexdigest()
