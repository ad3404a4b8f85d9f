"""The report on the models' quality; its fields are those of the JSON that the API gives. No Django."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from experiments.rules.plausibility import FlaggedNumber
from kdb.content import Among

FORMS = ("all", "laboratory", "choice", "load", "storage", "group")


@dataclass(frozen=True)
class Form:
    """How forecasts of one form did: all of them, or those of a choice, a load, a kind of disk. Logs are natural."""

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
    """Every research group left out in turn, with its contrasts predicted by the model of all others."""

    cells: Annotated[int, "Configurations under one load that can be compared."]
    groups: int
    forms: Annotated[tuple[Form, ...], "Empty: fewer than two groups compared anything."]
    calibration: Annotated[tuple[Calibration, ...], "Empty: nothing was foretold."]
    examples: Annotated[tuple[Example, ...], "At most 60, spread over the groups."]


@dataclass(frozen=True)
class ForecastsInUse:
    """The model that forecasts what nobody measured."""

    method: str
    label: str
    since: date
    shortfalls: Annotated[
        tuple[str, ...],
        'Why it should not: "inside" (fewer than 90 % of ratios are in their interval) or "log_score" (below that of '
        "“no difference”).",
    ]


@dataclass(frozen=True)
class ModelQuality:
    """Every research group left out in turn, with its results predicted from all others."""

    revision: Annotated[int, "Knowledge revision it was computed from."]
    forecasts: ForecastsInUse
    groups: GroupsLeftOut
    notes: tuple[str, ...]
    flagged: Annotated[tuple[FlaggedNumber, ...], "Published numbers that look like no disk's, at most 500."]
