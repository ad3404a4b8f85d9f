"""The results of detection, as data. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

IDLE, UNLIKE = "idle", "unlike"  # what may be said beside a workload


@dataclass(frozen=True)
class Mix:
    """The work of a machine in the last 24 hours, in the workloads that are known."""

    component = "DetectedMix"

    # They add up to 1, or there are none.
    shares: Annotated[Mapping[str, float], "Workload to its share of the minutes that are like a known one."]
    probability: Annotated[float, "Mean of the probability of the likeliest workload, 0 to 1."]
    minutes: Annotated[int, "That were watched."]
    idle: Annotated[float, "Share of these minutes in which its disks were idle."]
    unlike: Annotated[float, "Share of these minutes that are unlike anything known."]
    why_not: Annotated[str | None, "Why there are no shares; null where there are."] = None


@dataclass(frozen=True)
class Bin:
    """Signatures whose likeliest workload was given a probability from low to high."""

    component = "CalibrationBin"

    low: Annotated[float, "Probability of the likeliest workload, from here"]
    high: Annotated[float, "to here."]
    signatures: int
    mean: Annotated[float, "Of these probabilities."]
    right: Annotated[float, "Share of these whose likeliest workload ran."]


Counted = Annotated[dict[str, int], "Workload to number."]
Confusion = Annotated[
    dict[str, dict[str, int]],
    f"Workload that ran to what was said (a workload, {IDLE!r} or {UNLIKE!r}) to how often.",
]


@dataclass(frozen=True)
class Report:
    """The figures that tell how good a model is, by runs left out."""

    component = "DetectionReport"

    workloads: list[str]
    signatures: Counted
    runs: Counted
    too_few: Counted  # workload to signatures, where they do not suffice
    idle: Counted  # workload to signatures on which the disk was idle, which were not used
    confusion: Confusion  # of single signatures
    confusion_of_runs: Confusion  # of whole runs, about a minute
    calibration: list[Bin]
    log_score: Annotated[float, "Mean ln of the probability of what ran; 0 is best."]
    penalty: Annotated[float, "Of a signature on the wrong side (C)."]
    farthest: Annotated[float, "Distance beyond which nothing is known, standard deviations."]
    foreign: Confusion = field(default_factory=dict)  # of loads that are no workload here, learnt from by nobody
