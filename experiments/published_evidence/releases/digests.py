"""Digest a case study by the facts that rankings use, and no others, to recognise it in another installation."""

import csv
import hashlib
import io
import json
from collections.abc import Iterable
from typing import Any

# Parts of a bundle's document that only describe, or that each installation words differently.
_DESCRIPTIONS = ("catalogue", "publications", "claims", "format", "version")
_SLUG_MAY_DIFFER = ("case_study", "server", "storage")  # their short names may be taken elsewhere
_EMPTY = ("", "False")  # cells of a column that another version may not have


def digest(document: dict[str, Any], tables: Iterable[Iterable[list[Any]]]) -> str:
    """Return the SHA-256 of a bundle's document and tables without empty fields and columns, so that a version of KDB
    with more of them gives the same."""
    facts = {name: part for name, part in document.items() if name not in _DESCRIPTIONS}
    for name in _SLUG_MAY_DIFFER:
        facts[name] = {field: value for field, value in facts[name].items() if field != "slug"}
    checksum = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for table in tables:
        lines = iter(table)
        columns = next(lines, [])
        order = sorted(range(len(columns)), key=columns.__getitem__)
        checksum.update(b"\0")
        for cells in lines:
            csv_text = io.StringIO()
            facts_of_row = [(columns[at], cells[at]) for at in order if str(cells[at]) not in _EMPTY]
            csv.writer(csv_text).writerows(facts_of_row)
            checksum.update(csv_text.getvalue().encode())
    return checksum.hexdigest()
