"""Lay out the overview as a table of workloads by choices. No queries, no HTML."""

from dataclasses import dataclass

from modelling.answers.words import THING
from modelling.estimation.verdict import STRENGTHS
from modelling.evidence.axes import AXES
from modelling.evidence.words import capital, counted, listed

from ..content import WAITING, Overview, OverviewCell

MOST_NAMES = 2  # names in a cell
# Strength of the evidence to a sign, for readers who cannot see its colour.
SIGNS = dict(zip(STRENGTHS, ("○○○", "●○○", "●●○", "●●●"), strict=True))


@dataclass(frozen=True)
class ShownCell:
    """A cell of the table.

    column : what is chosen; names : "ext4 on XFS", "" while a worker is at the answer; against : "not Xen" or ""
    level : of the strength, 1 to 4, 0 without; behind : "one study"
    """

    cell: OverviewCell
    column: str
    names: str
    against: str
    sign: str
    level: int
    behind: str


@dataclass(frozen=True)
class RecommendedFor:
    """One workload. cells : of the columns, None where nobody compared; further : the other choices"""

    workload: str
    label: str
    cells: list[ShownCell | None]
    further: list[ShownCell]


@dataclass(frozen=True)
class RecommendationTable:
    """Everything its template prints. legend : sign, level and name of each strength; waiting : answers to come"""

    columns: list[str]
    lines: list[RecommendedFor]
    has_further: bool
    legend: list[tuple[str, int, str]]
    waiting: int


def present_overview(overview: Overview) -> RecommendationTable:
    """Lay out the overview without rows and columns that nobody compared.

    Settings of the disk's path and whole configurations share a column, as few workloads have any. Workloads with the
    most cells come first; among them loads of applications, for which nobody compared settings, before benchmarks.
    """
    own = [axis.name for axis in AXES.values() if not axis.setting and len(axis.entry) < 3]
    shown = [
        (row, {cell.axis: _cell(cell) for cell in row.cells}) for row in overview.rows if any(map(_cell, row.cells))
    ]
    compared = [axis for axis in own if any(cells.get(axis) for _, cells in shown)]
    lines = [
        RecommendedFor(
            row.workload,
            row.label,
            [cells.get(axis) for axis in compared],
            [cell for axis, cell in cells.items() if cell and axis not in own],
        )
        for row, cells in shown
    ]
    return RecommendationTable(
        columns=[capital(THING[axis]) for axis in compared],
        lines=sorted(lines, key=lambda line: (line.cells.count(None), len(line.further))),
        has_further=any(line.further for line in lines),
        legend=[(SIGNS[name], level, name) for level, name in reversed(list(enumerate(STRENGTHS, start=1)))],
        waiting=sum(cell.kind == WAITING for row in overview.rows for cell in row.cells),
    )


def _cell(cell: OverviewCell) -> ShownCell | None:
    if cell.kind != WAITING and not cell.leading:
        return None
    return ShownCell(
        cell=cell,
        column=capital(THING[cell.axis]),
        names=_join_names(cell.leading, "or"),
        against=f"not {_join_names(cell.rather_not, 'or')}" if cell.rather_not else "",
        sign=SIGNS[cell.strength] if cell.strength else "…",
        level=STRENGTHS.index(cell.strength) + 1 if cell.strength else 0,
        behind=counted(cell.groups, "study", "studies") if cell.groups is not None else "",
    )


def _join_names(names: tuple[str, ...], last: str) -> str:
    rest = len(names) - MOST_NAMES
    return listed([*names[:MOST_NAMES], f"{rest} more"] if rest > 0 else names, last)
