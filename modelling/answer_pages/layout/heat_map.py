"""Lay out an answer on file-system pairs as a grid of guest by host. No queries, no HTML."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from kdb.content import Among, taken
from kdb.shades import shades
from modelling.answers.content import RECOMMENDED, RankedEntry
from modelling.evidence.axes import AXES, entry_parts
from modelling.evidence.question import Grade

BETWEEN = "between"  # neither recommended nor advised against


@dataclass(frozen=True)
class NamedSide:
    """A file system that has a row or a column of the grid."""

    component = "Named"

    key: str
    label: str


@dataclass(frozen=True)
class Cell:
    """The answer on one pair; numbers are null where there is no evidence, or none with numbers."""

    guest_fs: str
    host_fs: str
    rank: int | None = None
    part: int | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    grade: Grade | None = None
    shade: Annotated[int | None, "0, the slowest of its part, to 4, the fastest."] = None  # of ln ratio, else of rank
    standing: Annotated[str, Among([*RECOMMENDED, BETWEEN, "no evidence"]), "As the answer has it."] = "no evidence"


@dataclass(frozen=True)
class Grid:
    """File-system pairs as a grid: `cells[i][j]` is guest i on host j."""

    component = "HeatMap"

    guests: tuple[NamedSide, ...]
    hosts: tuple[NamedSide, ...]
    cells: tuple[tuple[Cell, ...], ...]

    @property
    def rows(self) -> list[tuple[NamedSide, tuple[Cell, ...]]]:
        """Return each guest with its cells."""
        return list(zip(self.guests, self.cells, strict=True))


def heat_map(entries: Sequence[RankedEntry], labels: Mapping[str, str]) -> Grid:
    """Return the grid of an answer's entries on the axis fs-pair. labels : file system to its name"""
    of_pair = {}
    for entry in entries:
        parts = entry_parts(AXES["fs-pair"], entry.key)
        of_pair[parts["guest_fs"], parts["host_fs"]] = entry
    guests, hosts = (
        sorted({pair[side] for pair in of_pair}, key=lambda slug: labels.get(slug, slug)) for side in (0, 1)
    )
    of_entry = _shades(entries)
    return Grid(
        tuple(NamedSide(guest, labels.get(guest, guest)) for guest in guests),
        tuple(NamedSide(host, labels.get(host, host)) for host in hosts),
        tuple(tuple(_cell(guest, host, of_pair.get((guest, host)), of_entry) for host in hosts) for guest in guests),
    )


def _cell(guest: str, host: str, entry: RankedEntry | None, of_entry: Mapping[str, int]) -> Cell:
    if entry is None:
        return Cell(guest, host)
    standing = entry.recommended or BETWEEN
    return taken(Cell, entry, guest_fs=guest, host_fs=host, shade=of_entry[entry.key], standing=standing)


def _shades(entries: Sequence[RankedEntry]) -> dict[str, int]:
    of_entry: dict[str, int] = {}
    for part in {entry.part for entry in entries}:
        scale = _heights([entry for entry in entries if entry.part == part])
        of_entry.update(zip(scale, shades(list(scale.values())), strict=True))
    return of_entry


def _heights(members: Sequence[RankedEntry]) -> dict[str, float]:
    """Return ln(ratio) of the entries if all have one, else minus their rank."""
    ratios = {entry.key: math.log(entry.ratio) for entry in members if entry.ratio is not None}
    return ratios if len(ratios) == len(members) else {entry.key: -float(entry.rank) for entry in members}
