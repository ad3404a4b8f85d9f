"""The content of a comparison; the fields are those of the JSON that the API gives. No Django."""

from dataclasses import dataclass

from modelling.evidence.question import Question


@dataclass(frozen=True)
class ComparedEntry:
    """One entry; what ranks it is None where no evidence does. case_studies : that say something of it here"""

    key: str
    label: str
    rank: int | None
    part: int | None
    ratio: float | None
    low: float | None
    high: float | None
    p_score: float | None
    grade: str | None
    case_studies: tuple[str, ...]


@dataclass(frozen=True)
class EnvironmentFact:
    """One fact of the configurations behind the entries: for each entry the values that occur, none: not stated."""

    fact: str
    differs: bool
    values: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ComparedPair:
    """Two of the entries: ratio of a to b with its 95 % interval, None where no numbers join them; above 1 a is better.

    basis : side by side, through others, lists or not at all; why : they may, or may not, be compared
    """

    a: str
    b: str
    ratio: float | None
    low: float | None
    high: float | None
    basis: str
    why: str


@dataclass(frozen=True)
class Offer:
    """A link: its text, and its address."""

    title: str
    address: str


@dataclass(frozen=True)
class Instead:
    """The links in place of a comparison that no numbers make: comparisons in numbers, nearest first; answers that hold
    the entries."""

    comparisons: tuple[Offer, ...]
    answers: tuple[Offer, ...]


@dataclass(frozen=True)
class Comparison:
    """Two to six entries of one axis side by side. metric : what is compared (kdb.units.METRICS)

    environment_of : which configurations `environment` is told of, in words
    """

    question: Question
    revision: int
    metric: str
    entries: tuple[ComparedEntry, ...]
    environment: tuple[EnvironmentFact, ...]
    environment_of: str
    pairs: tuple[ComparedPair, ...]
