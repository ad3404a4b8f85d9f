"""The content of conflicts between research groups."""

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Side:
    """The finding of one research group about the pair."""

    component = "ConflictSide"

    group: str
    case_studies: tuple[str, ...]
    ratio: Annotated[float, "Speed of the first entry over that of the second."]
    low: Annotated[float, "Of the 95 % interval by its runs alone."]
    high: float


@dataclass(frozen=True)
class DifferingSetting:
    """A setting in which the two differ, with the values of each; none: not stated."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True)
class Conflict:
    """A pair of entries on which two research groups differ by more than laboratories usually do."""

    workload: str
    axis: str
    title: Annotated[str, "The question that the pair belongs to."]
    url: Annotated[str, "Its answer."]
    first: Annotated[str, "Key of the first entry."]
    second: Annotated[str, "Key of the second entry."]
    labels: Annotated[tuple[str, ...], "Of both entries, as a reader would write them."]
    z: Annotated[float, "The difference of the two ln ratios, in standard deviations of what groups usually differ by."]
    sides: Annotated[tuple[Side, ...], "Two."]
    settings: Annotated[tuple[DifferingSetting, ...], "Those that both state come first."]


@dataclass(frozen=True)
class Conflicts:
    """The conflicts of everything published at one knowledge revision, the furthest apart first."""

    revision: int
    compared: Annotated[int, "Pairs of findings that were held against each other."]
    conflicts: tuple[Conflict, ...]
    left_out: Annotated[int, "Conflicts that are not listed."]
