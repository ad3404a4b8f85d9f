"""The addresses of comparisons and explanations. No queries."""

from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

from modelling.evidence.question import Question


def compare_address(question: Question, **extra: str | int) -> str:
    """Return the address of the explanation of the answer, or of a comparison of its entries (a=..., b=...)."""
    query = {"axis": question.axis, "workload": question.workload, **question.filters, **extra}
    return f"/compare/?{urlencode(query)}"


def address_of(question: Question, keys: Sequence[str], **extra: str | int) -> str:
    """Return the address of the comparison of these entries; of the first six."""
    return compare_address(question, **dict(zip("abcdef", keys, strict=False)), **extra)


def comparison_api_address(question: Question, keys: Iterable[str], **extra: str | int) -> str:
    """Return the address of the same comparison as data."""
    query = {"axis": question.axis, "workload": question.workload, **question.filters, "entries": ",".join(keys)}
    return f"/api/v1/comparisons/?{urlencode({**query, **extra}, safe=',:')}"
