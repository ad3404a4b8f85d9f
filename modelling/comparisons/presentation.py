"""A comparison as its page shows it. No queries, no HTML."""

from dataclasses import dataclass
from typing import Any

from modelling.evidence.question import Question

from .words import compare_address


@dataclass(frozen=True)
class ComparisonPage:
    """entries, environment : as the API gives them; pairs : with labels, sentences and where the reasons stand"""

    entries: list[dict[str, Any]]
    differing: list[dict[str, Any]]
    shared: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    has_parts: bool


_BASIS_TAGS = {"side by side": "measured", "through others": "estimated", "lists": "stated", "not at all": "open"}


def present_comparison(question: Question, comparison: dict[str, Any], as_of: int | None = None) -> ComparisonPage:
    """A comparison ready for its template; its links stay at the revision it was asked for."""
    then = {} if as_of is None else {"as_of": as_of}
    labels = {entry["key"]: entry["label"] for entry in comparison["entries"]}
    pairs = [
        {
            **pair,
            "labels": (labels[pair["a"]], labels[pair["b"]]),
            "tag": _BASIS_TAGS[pair["basis"]],
            "address": compare_address(question, a=pair["a"], b=pair["b"], **then),
        }
        for pair in comparison["pairs"]
    ]
    return ComparisonPage(
        comparison["entries"],
        [row for row in comparison["environment"] if row["differs"]],
        [row for row in comparison["environment"] if not row["differs"]],
        pairs,
        len({entry["part"] for entry in comparison["entries"] if entry["part"]}) > 1,
    )
