"""The content of a comparison; the fields are those of the JSON that the API gives. No Django."""

from dataclasses import dataclass
from typing import Annotated

from kdb.content import Among, MetricName
from modelling.answers.content import Decision
from modelling.evidence.question import Grade, Question
from modelling.here.content import Here


@dataclass(frozen=True)
class ComparedEntry:
    """One entry of a comparison; what ranks it is null where no evidence does."""

    key: str
    label: str
    rank: int | None
    part: int | None
    ratio: Annotated[float | None, "Against the reference of its part."]
    low: Annotated[float | None, "Lower end of the 95 % interval."]
    high: Annotated[float | None, "Upper end of the 95 % interval."]
    p_score: float | None
    grade: Grade | None
    case_studies: Annotated[tuple[str, ...], "That say something of it here."]


@dataclass(frozen=True)
class EnvironmentFact:
    """One fact of the configurations behind the entries."""

    fact: Annotated[str, "Its name, as on the page."]
    differs: Annotated[bool, "Whether the entries for which it is stated differ in it."]
    values: Annotated[tuple[tuple[str, ...], ...], "For each entry the values that occur; empty: not stated."]


@dataclass(frozen=True)
class ComparedPair:
    """Two of the entries, and whether their numbers may be compared."""

    a: str
    b: str
    ratio: Annotated[float | None, "a against b; above 1: a is better. Null: no numbers."]
    low: Annotated[float | None, "Lower end of the 95 % interval."]
    high: Annotated[float | None, "Upper end of the 95 % interval."]
    basis: Annotated[str, Among(["side by side", "through others", "lists", "not at all"])]
    why: Annotated[str, "Why they may, or may not, be compared."]


@dataclass(frozen=True)
class WorkloadRatio:
    """The ratio of the first entry to another under one workload; above 1: the first is better.

    label : of the workload; low, high : the 95 % interval for a new laboratory
    """

    workload: str
    label: str
    metric: str
    other: str
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Two to six entries of one axis side by side."""

    question: Question
    revision: Annotated[int, "Knowledge revision it was computed from."]
    metric: Annotated[MetricName, "What is compared."]
    entries: tuple[ComparedEntry, ...]
    environment: tuple[EnvironmentFact, ...]
    environment_of: Annotated[str, "Which configurations the environment is told of."]
    pairs: tuple[ComparedPair, ...]
    verdict: Annotated[Decision | None, "What to choose of these; null: of a method that did not say."] = None


@dataclass(frozen=True)
class BesideComparison:
    """Fields beside the comparison of now: they say what changed since and, to members, what holds on their machine."""

    changes: Annotated[
        tuple[str, ...],
        "Confirmed changes of speed of what is compared since it was measured, each a sentence that counts against it; "
        "none at a permanent address.",
    ]
    here: Annotated[
        Here | None,
        "What is compared on the machine of the laboratory `here`, beside the entry to use there; null: not asked, or "
        "nothing measured there bears on it.",
    ]
