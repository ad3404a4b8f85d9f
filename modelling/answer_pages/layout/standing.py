"""Summarise a workload over all axes: each choice, and where a combined choice contradicts single ones.

No queries, no HTML.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from modelling.answers.content import Answer, RankedEntry
from modelling.answers.words import THING, address
from modelling.estimation.recommendation import DEFAULT, MAKERS
from modelling.evidence.axes import AXES, entry_parts
from modelling.evidence.question import Question
from modelling.evidence.words import some


@dataclass(frozen=True)
class ChoiceSummary:
    """One choice. thing : "guest file system"; sentence, confidence : the first two lines of the answer

    against : the single choices that a combined one contradicts, in a sentence, or ""
    """

    axis: str
    thing: str
    sentence: str
    confidence: str
    address: str
    against: str


def summarize_choices(
    answers: Mapping[Question, Answer], beside: Mapping[str, str] | None = None
) -> list[ChoiceSummary]:
    """Return what each answer recommends, in the order of its questions; measured choices come first.

    beside : further query parameters of the answers' addresses
    A combined choice (a pair of file systems) is compared with the single choices: where both were measured and none of
    its best entries consists of theirs, it says so.
    """
    best = {question.axis: [entry for entry in answer.entries if entry.is_best] for question, answer in answers.items()}
    alone = {AXES[axis].entry[0]: (axis, keys) for axis, keys in best.items() if len(AXES[axis].entry) == 1}
    return [
        ChoiceSummary(
            axis=question.axis,
            thing=THING[question.axis],
            sentence=answer.verdict.sentence,
            confidence=answer.verdict.confidence,
            address=address(question, beside=beside),
            against=_against(question, best[question.axis], alone),
        )
        for question, answer in sorted(answers.items(), key=lambda pair: not pair[1].entries)
        if answer.entries or answer.verdict.basis in (MAKERS, DEFAULT)
    ]


def _against(
    question: Question, best: Sequence[RankedEntry], alone: Mapping[str, tuple[str, Sequence[RankedEntry]]]
) -> str:
    axis = AXES[question.axis]
    if len(axis.entry) == 1 or not best:
        return ""
    parts = [entry_parts(axis, entry.key) for entry in best]
    differing = [
        f"{THING[name]} {some([entry.label for entry in single])}"
        for column, (name, single) in alone.items()
        if column in axis.entry and single and not {part[column] for part in parts} & {entry.key for entry in single}
    ]
    return f"Taken alone the evidence is for {' and '.join(differing)}: measure both." if differing else ""
