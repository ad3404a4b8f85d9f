"""The tabs below an answer. Each has an address, and only the open one is computed. No queries, no HTML."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from modelling.answers.content import Answer

RANKING, WHY, SET_UP, TRADE_OFFS, EVIDENCE, HISTORY = TABS = (
    *("ranking", "why", "set-up", "trade-offs", "evidence", "history"),
)
SIDE_BY_SIDE, DIFFERS = "side-by-side", "differs"


@dataclass(frozen=True)
class Tab:
    """One tab of an answer."""

    name: str
    label: str
    address: str
    is_open: bool


def answer_tabs(answer: Answer, explains: bool) -> dict[str, str]:
    """Return name to label of the tabs of an answer that have content, in order.

    explains : whether the answer can be explained
    """
    labels = {
        RANKING: "Ranking" if answer.entries else "",
        WHY: "Why" if answer.entries and explains else "",
        SET_UP: "Set-up and units" if answer.set_ups or answer.differences or answer.scaling else "",
        TRADE_OFFS: "Trade-offs" if answer.trade_offs else "",
        EVIDENCE: "Evidence",
        HISTORY: "About this answer",
    }
    return {name: label for name, label in labels.items() if label}


def comparison_tabs(answer: Answer | None) -> dict[str, str]:
    """Return name to label of the tabs of a comparison. answer : of its entries; None: by an earlier method"""
    labels = {
        WHY: "Why" if answer else "",
        RANKING: "Ranking of these" if answer and answer.entries else "",
        SIDE_BY_SIDE: "Side by side",
        DIFFERS: "What differs",
        HISTORY: "About this comparison",
    }
    return {name: label for name, label in labels.items() if label}


def tabs(labels: Mapping[str, str], opened: str, address: Callable[[str], str]) -> list[Tab]:
    """Return the tabs. opened : name of the open one, "": the first; address : of a name"""
    opened = opened or next(iter(labels))
    return [Tab(name, label, address(name), name == opened) for name, label in labels.items()]
