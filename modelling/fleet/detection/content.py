"""The results of detection, as data. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mix:
    """The work of a machine over some hours, in the workloads that are known.

    shares : workload to its share of the minutes that are like something known; they add up to 1, or there are none
    probability : mean over these minutes of the probability of the likeliest workload
    minutes : that were watched; idle and unlike are shares of them
    why_not : why there are no shares; empty where there are
    """

    shares: Mapping[str, float]
    probability: float
    minutes: int
    idle: float
    unlike: float
    why_not: str = ""


@dataclass(frozen=True)
class Bin:
    """Signatures whose likeliest workload was given a probability from low to high."""

    low: float
    high: float
    signatures: int
    mean: float  # of the given probabilities
    right: float  # share whose likeliest workload it was


@dataclass(frozen=True)
class Report:
    """The quality of a model, by runs left out. Rows of the confusion are what ran, columns what was said.

    stretch : of single signatures; of whole runs (about a minute) where `whole`
    foreign : kind of a load that is no workload here, from which nothing was learnt, to what was said of its runs
    """

    workloads: list[str]
    signatures: dict[str, int]
    runs: dict[str, int]
    too_few: dict[str, int]  # workload to signatures, where they do not suffice
    idle: dict[str, int]  # workload to signatures on which the disk was idle, which were not used
    confusion: dict[str, dict[str, int]]
    confusion_of_runs: dict[str, dict[str, int]]
    calibration: list[Bin]
    log_score: float
    penalty: float
    farthest: float
    foreign: dict[str, dict[str, int]] = field(default_factory=dict)
