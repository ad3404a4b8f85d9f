"""Explain why one entry of a ranking is above another: steps as data and sentences, in a sceptical reader's order.

In: ExplanationFacts, read by `gather`. Out: Steps (`content`) with their evidence. A step with nothing to say is left
out; a gap is a step of its own. Open `selectors` first. Source: docs/models/explanations.md.
"""

from .causes import components, forecast, mechanisms, shares, workload
from .comparison import comparison
from .content import Step
from .facts import ExplanationFacts
from .support import agreement, evidence, open_questions
from .verdicts import cache, scaling

__all__ = ["Step", "explain"]

_STEPS = (
    comparison,
    components,
    workload,
    mechanisms,
    shares,
    forecast,
    cache,
    scaling,
    evidence,
    agreement,
    open_questions,
)


def explain(facts: ExplanationFacts) -> tuple[Step, ...]:
    """Return the steps of the explanation, each with its data, its sentences and what it rests on."""
    return tuple(step for write in _STEPS for step in write(facts))
