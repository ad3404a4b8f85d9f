"""The report on the models' quality; its fields are those of the JSON that the API gives. No Django."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from experiments.plausibility import FlaggedNumber
from kdb.content import Among
from modelling.evidence.axes import AXES

FORMS = ("all", "laboratory", "choice", "load", "storage", "group")
SCORES = ("kendall", "top", "error", "inside", "log_score")


# One case study left out


@dataclass(frozen=True)
class Duel:
    """A count of how often the rank correlation is better, alike or worse than a naive method's, where both answer."""

    naive: str
    better: int
    alike: int
    worse: int


@dataclass(frozen=True)
class ReportedMethod:
    """One way to predict what a case study will find."""

    component = "Method"

    method: str
    label: str
    is_naive: bool
    axes: Annotated[tuple[str, ...], "What it can be asked about at all."]


@dataclass(frozen=True)
class Summary:
    """One method over all questions of an axis. Means are over the questions it answered."""

    component = "QualitySummary"

    axis: Annotated[str | None, Among(AXES), "Null: all axes together."]
    method: str
    asked: int
    answered: int
    kendall: Annotated[float | None, "Mean rank correlation, -1 to 1."]
    spearman: Annotated[float | None, "Mean rank correlation, -1 to 1."]
    top: Annotated[float | None, "Share of questions whose best entry was named."]
    by_chance: Annotated[float | None, "The same for a blind pick."]
    ratio_error: Annotated[float | None, "Median factor by which a ratio is off, 1 or more."]
    pairs: Annotated[int, "Ratios that were predicted and measured."]
    covered: Annotated[int, "Of these, measured inside the 95 % prediction interval."]
    duels: tuple[Duel, ...]


@dataclass(frozen=True)
class Prediction:
    """The prediction of one method for one question."""

    component = "QualityPrediction"

    method: str
    cannot: Annotated[str | None, "Why it has no prediction; then the rest is empty."]
    order: Annotated[tuple[str, ...], "The entries it knows, best first."]
    kendall: float | None
    spearman: float | None
    top: float | None
    ratio_error: float | None
    pairs: int
    covered: int


@dataclass(frozen=True)
class AskedQuestion:
    """One question that the case studies left out answer by themselves."""

    component = "QualityQuestion"

    case_studies: tuple[str, ...]
    axis: Annotated[str, Among(AXES)]
    workload: str
    hypervisor: str | None
    basis: Annotated[str, Among(["numbers", "findings"])]
    entries: Annotated[tuple[str, ...], "As found, best first."]
    predictions: tuple[Prediction, ...]


@dataclass(frozen=True)
class ForecastsInUse:
    """The method that forecasts what nobody measured."""

    method: str
    label: str
    since: date
    shortfalls: Annotated[
        dict[str, tuple[str, ...]],
        'Method to why it may not forecast: "inside" (fewer than 90 % of its ratios are in their interval) '
        'or "log_score against NAIVE" (it scores below that naive method).',
    ]


@dataclass(frozen=True)
class ClusteredScore:
    """A mean over distinct questions; the 95 % interval resamples laboratories. Null where nothing was scored."""

    method: str
    score: Annotated[
        str,
        Among(SCORES),
        "kendall; top: chance that the best was named; error: |ln(predicted / measured ratio)|; inside: "
        "share of ratios in their 95 % interval; log_score: ln density of the measured ln ratio, larger is better.",
    ]
    against: Annotated[str | None, "A naive method whose score is subtracted."]
    mean: float | None
    low: float | None
    high: float | None
    cells: Annotated[int, "Distinct questions: of one laboratory on one workload."]
    laboratories: int


@dataclass(frozen=True)
class MethodScores:
    """The means of one method; the fields are the scores of `clustered`."""

    method: str
    kendall: float | None
    top: float | None
    error: float | None
    inside: float | None
    log_score: float | None


@dataclass(frozen=True)
class QuestionGroup:
    """The scores of the questions asked of one laboratory, or of it on one workload."""

    component = "QualityGroup"

    case_studies: tuple[str, ...]
    workloads: tuple[str, ...]
    questions: int
    methods: tuple[MethodScores, ...]


# One research group left out


@dataclass(frozen=True)
class Form:
    """One form of forecast, over the contrasts of research groups that were left out in turn. Logs are natural."""

    component = "ForecastForm"

    by: Annotated[str, Among(FORMS), "What forms are told apart by."]
    name: Annotated[
        str,
        "Of choice and laboratory (what it measured under other workloads is known): an axis or a kind of "
        "choice; of load: what it does; of storage: the kind. Empty: all, or not stated.",
    ]
    contrasts: Annotated[int, "Pairs of configurations foretold."]
    groups: Annotated[int, "Research groups that measured them."]
    weight: Annotated[
        float, "The contrasts that may be compared with each other count together once, a group for ten at most."
    ]
    inside_95: Annotated[float, "Share measured inside the 95 % interval."]
    inside_50: Annotated[float, "Share measured inside the central half."]
    log_score: Annotated[float, "Mean log density of the measured log ratio: larger is better."]
    no_difference: Annotated[float, "The same of a normal distribution around no difference."]
    width: Annotated[float, "Its standard deviation, chosen to suit these results best."]
    error: Annotated[float | None, "Standard error of the difference of these scores; null: of one group."]
    sure: Annotated[float, "Weight of forecasts 80 % sure or more which is faster."]
    right: Annotated[float | None, "Share of those that came true; null: there are none."]
    is_better: Annotated[bool | None, "Than “no difference”; null: too few groups to tell."]


@dataclass(frozen=True)
class Calibration:
    """A probability that forecasts stated, and how often it came true; contrasts weighted as in the forms."""

    component = "ForecastCalibration"

    of: Annotated[str, Among(["interval", "direction"]), "That it lies inside; which of two is faster."]
    said: Annotated[float, "Probability, of a direction the mean of its bin."]
    came_true: float
    weight: float


@dataclass(frozen=True)
class Differing:
    """A kind of choice in which two configurations differ, and what each chose; empty: not stated."""

    component = "DifferingChoice"

    column: str
    first: str
    second: str


@dataclass(frozen=True)
class Example:
    """One forecast beside what the group that was left out found: the first against the second, which is the one that
    was forecast to be slower."""

    component = "ForecastExample"

    group: str
    differing: tuple[Differing, ...]
    load: Annotated[str, "What it does; empty: mixed or not stated."]
    storage: Annotated[str, "Kind of disks; empty: not stated."]
    forecast: Annotated[float, "Ratio, median."]
    low: Annotated[float, "Lower end of its 95 % interval."]
    high: Annotated[float, "Upper end of it."]
    found: float


@dataclass(frozen=True)
class GroupsLeftOut:
    """Every research group left out in turn, and its contrasts foretold by the hierarchical model of all others."""

    cells: Annotated[int, "Configurations under one load that can be compared."]
    groups: int
    forms: Annotated[tuple[Form, ...] | None, "Null: too many cells for it."]
    calibration: Annotated[tuple[Calibration, ...], "Empty: nothing was foretold."]
    examples: Annotated[tuple[Example, ...], "At most 60, spread over the groups."]


@dataclass(frozen=True)
class ModelQuality:
    """Every case study left out in turn, and foretold from all others."""

    revision: Annotated[int, "Knowledge revision it was computed from."]
    case_studies: int
    left_out: int
    methods: tuple[ReportedMethod, ...]
    summaries: tuple[Summary, ...]
    questions: tuple[AskedQuestion, ...]
    forecasts: ForecastsInUse
    clustered: tuple[ClusteredScore, ...]
    laboratories: tuple[QuestionGroup, ...]
    distinct_questions: tuple[QuestionGroup, ...]
    notes: tuple[str, ...]
    groups: GroupsLeftOut
    flagged: Annotated[tuple[FlaggedNumber, ...], "Published numbers that look like no disk's, at most 500."]
