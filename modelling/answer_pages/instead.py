"""Finds what is nearest where evidence gives no direct answer, or none with numbers, and what would settle it."""

from dataclasses import dataclass, replace
from typing import Any

from modelling.answers.content import Answer, Decision
from modelling.answers.next_runs import campaign_address
from modelling.answers.words import THING, address, title
from modelling.evidence import names
from modelling.evidence.axes import AXES, COLUMN_LABELS
from modelling.evidence.question import Question
from modelling.kept_answers.editions import answers_now
from modelling.kept_answers.selectors import answer_in, kept_answers

MOST = 3  # questions beside
MOST_WORKED_OUT = 4  # answers computed only to be shown here

# Filter of a question: how a sentence says that it is dropped, where that is not by its column.
_ANY = {
    "hypervisor": "Under any hypervisor",
    "vm_count": "With any number of machines",
    "benchmark": "By any benchmark",
    "guest_os_family": "With any guest system",
    "grade": "With weaker evidence as well",
    "evidence": "With what was published without review as well",
    "metric": "By whatever was measured",
}


@dataclass(frozen=True)
class Loosened:
    """A question near the one that was asked, with its answer. loosened : in what it differs"""

    loosened: str
    title: str
    address: str
    verdict: Decision


@dataclass(frozen=True)
class Instead:
    """The help in place of a direct answer, the nearest first.

    has_order : whether tier lists do answer it, and only numbers are missing
    campaign : one that would settle it, filled in; "": none
    """

    has_order: bool
    questions: tuple[Loosened, ...]
    campaign: str


def instead_of(answer: Answer) -> Instead | None:
    """Find what to show in place of an answer without numbers; None where it has numbers."""
    question = answer.question
    if any(entry.ratio is not None for entry in answer.entries):
        return None
    return Instead(
        has_order=bool(answer.entries),
        questions=_near(question, with_numbers=bool(answer.entries)),
        campaign=campaign_address(question),
    )


def _any(name: str) -> str:
    return _ANY.get(name) or f"With any {COLUMN_LABELS[name]}"


def _loosened(question: Question) -> list[tuple[str, Question]]:
    """List one filter fewer, then none, then another axis, and how each reads."""
    dropped: list[tuple[str, dict[str, Any]]] = [(name, {name: None}) for name in question.filters]
    loosened = [(_any(name), replace(question, **unset)) for name, unset in dropped]
    if len(dropped) > 1:
        loosened.append(("With none of what narrows it", Question(question.axis, question.workload)))
    for axis in AXES.values():
        unset: dict[str, Any] = {name: None for name in question.filters if name in axis.entry}
        if axis.name != question.axis:
            loosened.append((f"To choose the {THING[axis.name]}", replace(question, axis=axis.name, **unset)))
    return loosened


def _near(question: Question, with_numbers: bool) -> tuple[Loosened, ...]:
    """Return the near questions whose answers are kept, and a few more that are worked out."""
    near = _loosened(question)
    kept = kept_answers([other for _, other in near])
    left = MOST_WORKED_OUT
    offers: list[Loosened] = []
    for sentence, other in near:
        if len(offers) == MOST or not kept.get(other, left > 0):
            continue
        left -= other not in kept
        snapshot = answers_now([other])[other]
        answer = answer_in(snapshot) if snapshot else None
        if answer and any(entry.ratio is not None or not with_numbers for entry in answer.entries):
            offers.append(Loosened(sentence, title(other, names.names()), address(other), answer.verdict))
    return tuple(offers)
