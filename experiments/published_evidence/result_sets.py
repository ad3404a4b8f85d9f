"""Read fixtures/result_sets.csv: public result sets that are known and not in the evidence yet. No Django.

Like abilities.csv, the file is read on first use and not stored in the database. Columns: fixtures/README.md.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from .files import Entry, read_csv

PATH = Path(__file__).resolve().parents[2] / "fixtures" / "result_sets.csv"


@dataclass(frozen=True)
class ResultSet:
    """One result set. numbers, licence : "" where not known; would_answer : what it compares"""

    title: str
    address: str
    numbers: str
    licence: str
    would_answer: str
    why_not: str


@cache
def result_sets(path: Path = PATH) -> tuple[ResultSet, ...]:
    """Return the result sets of a file, in its order. Raises EvidenceError, which names file, line and field."""
    return tuple(_result_set(entry) for entry in read_csv(path, ResultSet.__dataclass_fields__))


def _result_set(entry: Entry) -> ResultSet:
    for name in ("title", "would_answer", "why_not"):
        if not entry.fields[name].strip():
            raise entry.error(name, "a text")
    address = urlsplit(entry.fields["address"])
    if address.scheme != "https" or not address.hostname:
        raise entry.error("address", "an address that begins with https://")
    if entry.fields["numbers"] and not entry.fields["numbers"].isdecimal():
        raise entry.error("numbers", "a whole number, or nothing where it is not known")
    return ResultSet(**entry.fields)
