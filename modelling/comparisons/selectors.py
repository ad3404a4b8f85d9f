"""Entries side by side, as pages and the API ask for them."""

import hashlib
from collections.abc import Sequence
from typing import Any

from modelling.answers.selectors import answer_at
from modelling.evidence import counts
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question

from . import comparison


def compared(question: Question, keys: Sequence[str], as_of: int | None = None) -> dict[str, Any]:
    """Two to six entries side by side, as the API gives them, JSON-ready. Kept in memory as an explanation is."""
    snapshot = answer_at(question, as_of)
    asked = hashlib.sha256(",".join(keys).encode()).hexdigest()
    key = f"modelling.comparison:{snapshot.digest}:{as_of or counts.revision()}:{asked}"
    head = {"question": question.as_dict(), "revision": as_of or counts.revision()}
    return remembered(key, lambda: {**head, **comparison.compare(question, keys, as_of)})
