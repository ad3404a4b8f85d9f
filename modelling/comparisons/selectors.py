"""Entries side by side, as pages and the API ask for them."""

import hashlib
from collections.abc import Sequence

from modelling.answers.selectors import answer_at
from modelling.estimation.ranking import METHOD
from modelling.evidence import counts
from modelling.evidence.keeping import remembered
from modelling.evidence.question import Question

from .comparison import compare
from .content import Comparison, Instead
from .instead import instead


def compared(question: Question, keys: Sequence[str], as_of: int | None = None) -> Comparison:
    """Two to six entries side by side. Kept in memory as an explanation is."""
    snapshot = answer_at(question, as_of)
    asked = hashlib.sha256(",".join(keys).encode()).hexdigest()
    revision = as_of or counts.revision()
    key = f"modelling.comparison:{snapshot.digest}:{revision}:{asked}"
    return remembered(key, lambda: compare(question, keys, revision, as_of))


def instead_of(comparison: Comparison, as_of: int | None = None) -> Instead | None:
    """What there is in place of comparing the first two, where no numbers do; None where they do. Kept alike."""
    first, question = comparison.pairs[0], comparison.question
    if first.ratio is not None:
        return None
    asked = hashlib.sha256(f"{question.key}|{first.a},{first.b}".encode()).hexdigest()
    key = f"modelling.instead:{METHOD}:{comparison.revision}:{as_of is None}:{asked}"
    return remembered(key, lambda: instead(question, first.a, first.b, as_of))
