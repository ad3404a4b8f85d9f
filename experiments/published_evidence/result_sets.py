"""Read fixtures/result_sets.csv: public result sets that are known and not in the evidence yet. No Django.

Like abilities.csv, the file is read on first use, not stored in the database, and held by a test against its rules.
Columns: fixtures/README.md.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .files import read_csv

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
def result_sets() -> tuple[ResultSet, ...]:
    """Return the result sets of the file, in its order."""
    return tuple(ResultSet(**entry.fields) for entry in read_csv(PATH, ResultSet.__dataclass_fields__))
