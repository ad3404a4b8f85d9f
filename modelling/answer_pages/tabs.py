"""The tabs below an answer: each has an address, and what none of them shows is not worked out. No queries, no HTML."""

from collections.abc import Mapping
from dataclasses import dataclass

from modelling.answers.content import Answer
from modelling.answers.words import address

RANKING, WHY, SET_UP, TRADE_OFFS, EVIDENCE, HISTORY = TABS = (
    *("ranking", "why", "set-up", "trade-offs", "evidence", "history"),
)
_LABELS = {
    RANKING: "Ranking",
    WHY: "Why",
    SET_UP: "Set-up and units",
    TRADE_OFFS: "Trade-offs",
    EVIDENCE: "Evidence",
    HISTORY: "About this answer",
}


@dataclass(frozen=True)
class Tab:
    """One tab of an answer."""

    name: str
    label: str
    address: str
    is_open: bool


def tabs_of(
    answer: Answer, opened: str, explains: bool, beside: Mapping[str, str], edition: Mapping[str, int]
) -> list[Tab]:
    """Return the tabs that have something to show, in their order.

    opened : name of the open one, "": the first; explains : whether reasons can be given
    beside, edition : of the page's address
    """
    is_there = {
        RANKING: bool(answer.entries),
        WHY: bool(answer.entries) and explains,
        SET_UP: bool(answer.set_ups or answer.differences or answer.scaling),
        TRADE_OFFS: bool(answer.trade_offs),
        EVIDENCE: True,
        HISTORY: True,
    }
    as_of, method = edition.get("as_of"), edition.get("method")
    opened = opened or next(name for name in TABS if is_there[name])
    return [
        Tab(name, _LABELS[name], address(answer.question, as_of, {**beside, "tab": name}, method), name == opened)
        for name in TABS
        if is_there[name]
    ]
