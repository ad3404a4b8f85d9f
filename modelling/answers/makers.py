"""Compare makers' advice with the recommendation. No queries."""

from collections.abc import Callable, Iterable
from itertools import islice

from modelling.estimation.recommendation import MAKERS
from modelling.evidence.axes import AXES
from modelling.evidence.words import listed
from modelling.guidance.content import AdviceSummary, Statement, first_shown

from .content import AnswerVerdict, MakersSay, MakerStatement

MOST = 3  # defaults and contradictions to show


def compare_with_makers(advised: AdviceSummary, decision: AnswerVerdict, label: Callable[[str], str]) -> MakersSay:
    """Return makers' advice and whether it agrees with the recommendation; agreeing statements first."""
    first = sorted(advised.statements, key=lambda one: {*one.recommended}.isdisjoint(decision.choice))
    return MakersSay(
        sentence=_sentence(advised, decision, label),
        advised=advised.advised,
        statements=_lines(first_shown(tuple(first))),
        defaults=_lines(islice(advised.defaults, MOST)),
        disagreements=tuple(
            f"{one.subject}: “{one.one_view}” against “{one.other_view}”. {one.why}"
            for one in advised.disagreements[:MOST]
        ),
    )


def _sentence(advised: AdviceSummary, decision: AnswerVerdict, label: Callable[[str], str]) -> str:
    if decision.basis == MAKERS or len(AXES[advised.axis].entry) > 1:
        return ""
    against = [label(key) for key in decision.choice if key in advised.discouraged]
    if against:
        return f"Makers advise against {listed(against, 'and')}: read why before you use it."
    if not advised.advised:
        return ""
    names = listed([label(key) for key in advised.advised], "or")
    beside = "as well" if {*advised.advised} & {*decision.choice} else "instead: test both"
    return f"Makers advise {names} {beside}."


def _lines(statements: Iterable[Statement]) -> tuple[MakerStatement, ...]:
    return tuple(MakerStatement(one.code, one.source, one.summary, one.condition) for one in statements)
