"""The content of an explanation; the fields are those of the JSON that the API gives. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from kdb.content import Among
from modelling.evidence.question import Question

from .facts import Contrast, Ranked

# What a step rests on, from the strongest.
MEASURED, ESTIMATED, STATED, MODEL, OPEN = "measured", "estimated", "stated", "model", "open"
FORECAST = "forecast"
KINDS = (
    *("comparison", "components", "workload", "mechanisms", "shares", FORECAST, "cache", "scaling"),
    *("evidence", "agreement", "open"),
)
MOST_NAMED = 2  # case studies in a sentence
MOST_SHOWN = 40  # fair-play groups, and references of one step; the text counts them all


@dataclass(frozen=True)
class Reference:
    """Something a step rests on that a reader can open."""

    kind: str  # case study, claims, workload or file system
    key: str
    label: str
    anchor: str = ""  # the source inside it, "Table III"
    url: Annotated[str, "Its page on this server."] = ""  # given where the explanation leaves the room


@dataclass(frozen=True)
class Step:
    """One step: what it says, as sentences and as data, and how firm it is."""

    kind: Annotated[str, Among(KINDS)]
    title: str
    basis: Annotated[str, Among([MEASURED, ESTIMATED, STATED, MODEL, OPEN])]
    text: str
    data: Annotated[Mapping[str, Any], "The same as values; its keys depend on `kind`."]
    evidence: tuple[Reference, ...] = ()
    source: Annotated[str, "Equation, rule or page it applies."] = ""


@dataclass(frozen=True)
class Explanation:
    """The reasons why a stands where it does against b. Both are null where the question has no answer."""

    question: Question
    revision: Annotated[int, "Knowledge revision it was computed from."]
    a: Ranked | None
    b: Ranked | None
    contrast: Annotated[Contrast | None, "Null where no chain of numbers joins them."]
    steps: tuple[Step, ...]
