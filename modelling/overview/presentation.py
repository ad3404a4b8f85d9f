"""The overview as its page shows it: signs, words and shades. No queries, no HTML."""

from dataclasses import dataclass
from itertools import compress

from modelling.estimation.verdict import KINDS, LEADS, NO_DIFFERENCE, NOT_KNOWN, USE
from modelling.evidence.words import counted

from .content import NOTHING, WAITING, Overview, OverviewCell

MOST_SHADES = 3  # research groups that are told apart by a shade
NARROW = 8  # columns from which on there is no room for names in a cell
# Kind of a cell to its sign, the word of its colour in the style sheet, what it is called, and what that means.
LOOKS = {
    USE: ("✓", "use", "Use it", "Two research groups or more agree, and a wrong choice costs little."),
    LEADS: ("▲", "leads", "Start with it", "It was faster where it was measured; elsewhere it may be otherwise."),
    NO_DIFFERENCE: ("=", "alike", "Either is fine", "They are alike as far as anybody would notice."),
    NOT_KNOWN: ("?", "open", "Best guess", "The best guess by few numbers, or by published lists."),
    NOTHING: ("–", "none", "Nobody tested it", "No published case study holds two of them side by side."),
    WAITING: ("…", "waits", "Being worked out", "There is evidence, and a worker is at the answer. Look again soon."),
}


@dataclass(frozen=True)
class Look:
    """One kind of cell in the legend."""

    sign: str
    colour: str
    name: str
    meaning: str


@dataclass(frozen=True)
class ShownCell:
    """A cell of the page. shade : 1 to MOST_SHADES by its research groups, 0 without; behind : these in words"""

    cell: OverviewCell
    look: Look
    shade: int
    behind: str


@dataclass(frozen=True)
class OverviewPage:
    """Everything its template prints.

    waiting : answers that are being worked out; is_narrow : whether names stand in no cell
    columns : choices that something published compares; lines : label of each workload with its cells in these
    never_compared : the other choices
    """

    columns: list[str]
    lines: list[tuple[str, list[ShownCell]]]
    legend: list[Look]
    waiting: int
    answered: int
    is_narrow: bool
    never_compared: list[str]


def present(overview: Overview) -> OverviewPage:
    """Make the overview ready for its template."""
    cells = [cell for row in overview.rows for cell in row.cells]
    kinds = {cell.kind for cell in cells}
    labels = [column.label for column in overview.columns]
    compared = [any(row.cells[place].kind != NOTHING for row in overview.rows) for place in range(len(labels))]
    columns = list(compress(labels, compared))
    return OverviewPage(
        columns=columns,
        lines=[(row.label, [_shown(cell) for cell in compress(row.cells, compared)]) for row in overview.rows],
        legend=[Look(*look) for kind, look in LOOKS.items() if kind in {*KINDS, *kinds}],
        waiting=sum(cell.kind == WAITING for cell in cells),
        answered=sum(cell.groups is not None for cell in cells),
        is_narrow=len(columns) >= NARROW,
        never_compared=[label for label in labels if label not in columns],
    )


def _shown(cell: OverviewCell) -> ShownCell:
    groups = cell.groups
    behind = "" if groups is None else counted(groups, "group") if groups < 10 else f"{groups} groups"
    return ShownCell(cell, Look(*LOOKS[cell.kind]), min(groups or 0, MOST_SHADES), behind)
