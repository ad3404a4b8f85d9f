"""The content of an explanation; the fields are those of the JSON that the API gives. No Django."""

from dataclasses import dataclass
from typing import Annotated

from kdb.content import Among
from modelling.evidence.question import Question
from modelling.workloads.mechanisms import Mechanism

from .facts import Contrast, DirectGroup, Ranked, Tier

# What a step rests on, from the strongest.
MEASURED, ESTIMATED, STATED, MODEL, OPEN = "measured", "estimated", "stated", "model", "open"
KINDS = (
    *("comparison", "components", "workload", "mechanisms", "shares", "forecast", "cache", "scaling"),
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


# A step as values


@dataclass(frozen=True)
class Nothing:
    """There is nothing to compare."""


@dataclass(frozen=True)
class ComparedNumbers(Contrast):
    """The ratio of the two by numbers.

    direct : whether some fair-play group holds both; held_equal : columns equal in every comparison
    confounded_with : columns in which those that hold both differ as well, or that they leave to the hypervisors
    group_count : how many hold both; groups : the first MOST_SHOWN of them
    """

    direct: bool
    held_equal: tuple[str, ...]
    confounded_with: tuple[str, ...]
    groups: tuple[DirectGroup, ...]
    group_count: int


@dataclass(frozen=True)
class ComparedLists:
    """The tier lists that place both."""

    lists: tuple[Tier, ...]


@dataclass(frozen=True)
class PathPart:
    """One component of the data path, with what each side has there."""

    component: str
    label: str
    can_be_the_cause: bool
    a: tuple[str, ...]
    b: tuple[str, ...]


@dataclass(frozen=True)
class Causes:
    """The components that can be the cause, those that are excluded, and all seven from the benchmark to the disk."""

    can_be_the_cause: tuple[str, ...]
    excluded: tuple[str, ...]
    path: tuple[PathPart, ...]


@dataclass(frozen=True)
class Load:
    """The load of the workload, in shares of all operations; sync_share : of the writes. None: not known."""

    operations: dict[str, float]
    metadata_share: float
    flush_share: float
    sync_share: float
    concurrency: int | None
    working_set_bytes: float | None


@dataclass(frozen=True)
class NoOpinion:
    """The file systems of which no mechanism is stated."""

    sign: None
    unstated: tuple[str, ...]


@dataclass(frozen=True)
class OpinionTerm:
    """The opinion on one kind of operation; see modelling.workloads.mechanisms.Term."""

    side: str
    operation: str
    a: Mechanism | None
    b: Mechanism | None
    weight: float
    sign: int | None
    contribution: float
    hypotheses: tuple[str, ...]


@dataclass(frozen=True)
class Opinion:
    """The model's expectation: 1 where a is ahead, -1 where b is, 0 for neither.

    right, compared : how often it was right on this workload
    """

    sign: int
    score: float | None
    right: int
    compared: int
    terms: tuple[OpinionTerm, ...]


@dataclass(frozen=True)
class ComponentShare:
    """The change by components that occur only together, in percent with its 95 % interval."""

    components: tuple[str, ...]
    percent: float
    low_percent: float
    high_percent: float
    share_of_difference: float | None


@dataclass(frozen=True)
class ForecastRatio(Contrast):
    """The ratio a / b that a new laboratory is forecast to see; since : date from which the method is in use."""

    method: str
    since: str


@dataclass(frozen=True)
class PredictedRatio:
    """The ratio a / b by the component model; None where it cannot be told, or nothing measured joins the two."""

    ratio: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Shares:
    """The shares of the components. untold : components whose contribution cannot be estimated"""

    predicted: PredictedRatio
    shares: tuple[ComponentShare, ...]
    untold: tuple[str, ...]


@dataclass(frozen=True)
class PlacedVerdict:
    """A verdict on the numbers `of` one configuration."""

    case_study: str
    of: str
    verdict: str
    sentence: str


@dataclass(frozen=True)
class PlacedVerdicts:
    """The verdicts on the numbers of each side."""

    a: tuple[PlacedVerdict, ...]
    b: tuple[PlacedVerdict, ...]


@dataclass(frozen=True)
class Sources:
    """case_studies : slug to title; claims : publication to {verdict: number}"""

    case_studies: dict[str, str]
    claims: dict[str, dict[str, int]]


@dataclass(frozen=True)
class HeldAgainst:
    """Verdict on the model's expectation; predicted, seen : 1, -1 or 0; seen is None where no evidence tests it."""

    verdict: str
    predicted: int
    seen: int | None


@dataclass(frozen=True)
class Open:
    """The gaps, in sentences."""

    missing: tuple[str, ...]


StepData = (
    Nothing
    | ComparedNumbers
    | ComparedLists
    | Causes
    | dict[str, str]  # words of the sources on a workload without profile, by kind of operation
    | Load
    | NoOpinion
    | Opinion
    | Shares
    | ForecastRatio
    | PlacedVerdicts
    | Sources
    | HeldAgainst
    | Open
)


@dataclass(frozen=True)
class Step:
    """One step: what it says, as sentences and as data, and how firm it is."""

    kind: Annotated[str, Among(KINDS)]
    title: str
    basis: Annotated[str, Among([MEASURED, ESTIMATED, STATED, MODEL, OPEN])]
    text: str
    data: Annotated[StepData, "The same as values; its keys depend on `kind`."]
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
