"""Read the files of published evidence into entries that know their place in the file. No Django.

The module load gives the words their meaning.
"""

import csv
import json
from collections.abc import Collection
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

LONGEST_SHOWN = 120  # characters of a value in an error


class EvidenceError(ValueError):
    """A file of evidence cannot be used as it is. The message names file, line and field, and may be shown to users."""


@dataclass(frozen=True)
class Entry:
    """One row of a CSV file or one object of a JSON file."""

    place: str  # "measurements.csv, line 12"; "catalogue.json, hypervisors kvm"
    fields: dict[str, Any]  # text from CSV, any JSON value from JSON

    def error(self, field: str, allowed: str) -> EvidenceError:
        shown = json.dumps(self.fields[field], ensure_ascii=False) if field in self.fields else "nothing"
        if len(shown) > LONGEST_SHOWN:
            shown = f"{shown[:LONGEST_SHOWN]}..."
        return EvidenceError(f"{self.place}, {field}: found {shown}, allowed is {allowed}")


def read_csv(path: Path, columns: Collection[str]) -> list[Entry]:
    """Return the rows of a file whose header names exactly `columns`, in any order; every value is text.

    Raises EvidenceError where the file, a column or a cell is missing, or one is there too many.
    """
    reader = csv.reader(StringIO(read_text(path)), strict=True)
    entries = []
    try:
        header = next(reader, [])
        _check_names(f"{path.name}, line 1", "column", header, columns)
        for cells in reader:
            place = f"{path.name}, line {reader.line_num}"
            if len(cells) != len(header):
                raise EvidenceError(f"{place}: found {len(cells)} cells, allowed is {len(header)}")
            entries.append(Entry(place, dict(zip(header, cells, strict=True))))
    except csv.Error as error:
        raise EvidenceError(f"{path.name}, line {reader.line_num}: {error}") from error
    return entries


def read_json(path: Path, sections: Collection[str] = ()) -> dict[str, list[Entry]]:
    """Return the objects of a file made of exactly `sections`, or of any, each a list of objects.

    Raises EvidenceError where the file is not JSON or has another shape.
    """
    try:
        content = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise EvidenceError(f"{path.name}, line {error.lineno}: {error.msg}") from error
    if not isinstance(content, dict):
        raise EvidenceError(f"{path.name}: found no object, allowed is one with {', '.join(sections)}")
    _check_names(path.name, "section", list(content), sections or list(content))
    return {name: as_entries(Entry(path.name, content), name) for name in sections or content}


def as_entries(parent: Entry, name: str) -> list[Entry]:
    """Return the list of objects that a JSON entry holds as `name`. Raises EvidenceError where it is anything else."""
    objects = parent.fields.get(name)
    if not isinstance(objects, list) or not all(isinstance(item, dict) for item in objects):
        raise parent.error(name, "a list of objects")
    return [
        Entry(f"{parent.place}, {_label(name, number, item)}", item) for number, item in enumerate(objects, start=1)
    ]


def _label(section: str, number: int, fields: dict[str, Any]) -> str:
    """Return how an object is named in messages: "hypervisors kvm", or by its number where it has no name."""
    names = (fields.get(key) for key in ("slug", "code", "claim"))
    return f"{section} {next(filter(None, names), number)}"


def _check_names(place: str, kind: str, names: list[str], allowed: Collection[str]) -> None:
    for name in allowed:
        if name not in names:
            raise EvidenceError(f"{place}: {kind} {name} is missing")
    for name in names:
        if name not in allowed or names.count(name) > 1:
            raise EvidenceError(f"{place}: {kind} {name!r} is one too many, allowed are {', '.join(allowed)}")


def read_text(path: Path) -> str:
    """Return the text of a file. Raises EvidenceError where there is none."""
    try:
        return path.read_text(encoding="utf-8-sig")  # spreadsheets begin a file with a mark
    except OSError as error:
        raise EvidenceError(f"{path.name}: {error.strerror} ({path.parent})") from error
    except UnicodeDecodeError as error:
        raise EvidenceError(f"{path.name}: byte {error.start} is not UTF-8") from error
