"""The reading of a text: the content of the answer to `/api/v1/ask/`. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from kdb.content import NOT_SERVED
from modelling.evidence.question import AxisName


@dataclass(frozen=True)
class Word:
    """Words that are understood: what part of a question they are, and the name that they stand for."""

    words: Annotated[str, "As they were written."]
    role: Annotated[str, "`axis`, `workload`, `entry`, a filter of a question, `not counted`, or `not measured`."]
    name: str
    value: Annotated[str, "Slug of the name; empty: it has none."]
    note: Annotated[str, "What a reader must know of it; empty: nothing."]
    rest: Annotated[str, "The text without these words.", NOT_SERVED] = ""


@dataclass(frozen=True)
class Unknown:
    """Words that are no name here, and are not counted."""

    words: str
    nearest: Annotated[tuple[str, ...], "Words of names that are spelled most like it."]


@dataclass(frozen=True)
class Reading:
    """One way to read the text as a question."""

    axis: AxisName
    title: Annotated[str, "The question in words."]
    workload: Annotated[str, "Slug; empty: none is named, and the page offers them."]
    family: Annotated[str, "Family of workloads that was named; empty: none."]
    filters: Annotated[dict[str, str], "Filters of a question, and what is said of the machine (`disks`, `images`)."]
    entries: Annotated[
        tuple[str, ...], "Keys of the entries that the text names on the axis; two or more are compared."
    ]
    address: Annotated[str, "Its page on this server."]
    is_whole: Annotated[bool, "The text names no choice: its page says what to choose, choice by choice."] = False


@dataclass(frozen=True)
class Pointer:
    """A page that answers what no ranking does."""

    title: str
    sentence: Annotated[str, "What it says, and why it is the answer."]
    address: str


@dataclass(frozen=True)
class Said:
    """A text as it was read: nothing is guessed, and what can be read in several ways stands in each of them."""

    text: str
    understood: tuple[Word, ...]
    not_understood: tuple[Unknown, ...]
    readings: Annotated[tuple[Reading, ...], "The likeliest first."]
    pages: Annotated[tuple[Pointer, ...], "What answers where the text asks for more than a ranking."]
    guides: Annotated[tuple[Pointer, ...], "Guides to the choice that is asked about, beside its answer."] = ()

    def reading_beside(self, given: Mapping[str, object]) -> Reading | None:
        """Return the likeliest reading that agrees with the given axis and workload; None where none does.

        One without workload agrees with any.
        """
        axis, workload = given.get("axis"), given.get("workload")
        of_axis = [reading for reading in self.readings if axis in (None, "", reading.axis)]
        agreeing = (reading for reading in of_axis if not workload or reading.workload in ("", workload))
        return next(agreeing, None if axis else next(iter(of_axis), None))
