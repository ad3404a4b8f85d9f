"""Entries side by side, as pages and the API ask for them."""

import hashlib
from collections.abc import Sequence

from modelling.answers.selectors import answer_at
from modelling.evidence import counts
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question

from .comparison import compare
from .content import Comparison


def compared(question: Question, keys: Sequence[str], as_of: int | None = None) -> Comparison:
    """Two to six entries side by side. Kept in memory as an explanation is."""
    snapshot = answer_at(question, as_of)
    asked = hashlib.sha256(",".join(keys).encode()).hexdigest()
    revision = as_of or counts.revision()
    key = f"modelling.comparison:{snapshot.digest}:{revision}:{asked}"
    return remembered(key, lambda: compare(question, keys, revision, as_of))
