"""What comparisons, mixes and the overview say beside answers; the fields are those of the JSON. No Django."""

from dataclasses import dataclass
from typing import Annotated, Any

from kdb.content import Among, MetricName
from modelling.answers.content import AnswerVerdict
from modelling.estimation.verdict import KINDS, STRENGTHS
from modelling.evidence.question import AxisName, Grade, Question
from modelling.own_lab.content import Here, MixHere


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
    verdict: Annotated[AnswerVerdict | None, "What to choose of these; null: of a method that did not say."] = None


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


@dataclass(frozen=True)
class MixAsked:
    """The question of a mix, as its answer repeats it."""

    axis: AxisName
    filters: Annotated[dict[str, Any], "That narrow the evidence, by the names of the parameters."]
    metric: Annotated[MetricName, "What is compared."]
    here: Annotated[MixHere | None, "On the machine of the laboratory `here`; null: not asked."]


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
    superseded_by: Annotated[int | None, "First revision that it does not contain; null: it is of today."] = None
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
