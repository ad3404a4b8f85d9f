"""The content of the overview; the fields are those of the JSON that the API gives. No Django."""

from dataclasses import dataclass
from typing import Annotated

from kdb.content import Among
from modelling.estimation.verdict import KINDS, STRENGTHS
from modelling.evidence.question import AxisName

NOTHING, WAITING = "nothing compared", "being worked out"
STATES = (*KINDS, NOTHING, WAITING)


@dataclass(frozen=True)
class OverviewCell:
    """One choice under one workload: the kind of its answer and how well it is known; null without an answer."""

    axis: AxisName
    kind: Annotated[
        str, Among(STATES), "Of the verdict; the last two: no published numbers or lists compare; ask again."
    ]
    strength: Annotated[str | None, Among(reversed(STRENGTHS)), "How strongly the verdict may be said."] = None
    leading: Annotated[tuple[str, ...], "Names of what is recommended, of which either is fine."] = ()
    rather_not: Annotated[tuple[str, ...], "Names of what is not recommended."] = ()
    groups: Annotated[int | None, "Research groups behind it; only groups are independent of one another."] = None
    laboratories: Annotated[int | None, "Laboratories of these groups."] = None
    revision: Annotated[int | None, "Knowledge revision the answer was computed from."] = None
    superseded_by: Annotated[int | None, "Revision that is being worked in; null: it is of today."] = None
    address: Annotated[str, "Page of the answer."] = ""


@dataclass(frozen=True)
class OverviewColumn:
    """One choice that can be made: an axis."""

    axis: AxisName
    label: Annotated[str, "What is chosen."]


@dataclass(frozen=True)
class OverviewRow:
    """One workload, with a cell for each column."""

    workload: str
    label: str
    cells: tuple[OverviewCell, ...]


@dataclass(frozen=True)
class Overview:
    """Every choice under every workload, with what is known of it."""

    revision: Annotated[int, "Knowledge revision now."]
    columns: tuple[OverviewColumn, ...]
    rows: Annotated[tuple[OverviewRow, ...], "Workloads with the most choices answered first."]
