"""The addresses of comparisons. No queries."""

from collections.abc import Iterable
from urllib.parse import urlencode

from modelling.evidence.question import Question


def address_of(question: Question, keys: Iterable[str], **extra: str | int) -> str:
    """Return the address of the comparison of these entries; of the first six."""
    entries = dict(zip("abcdef", keys, strict=False))
    query = {"axis": question.axis, "workload": question.workload, **question.filters, **entries, **extra}
    return f"/compare/?{urlencode(query)}"


def comparison_api_address(question: Question, keys: Iterable[str], **extra: str | int) -> str:
    """Return the address of the same comparison as data."""
    query = {"axis": question.axis, "workload": question.workload, **question.filters, "entries": ",".join(keys)}
    return f"/api/v1/comparisons/?{urlencode({**query, **extra}, safe=',:')}"
