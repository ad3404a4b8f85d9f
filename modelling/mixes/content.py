"""The answer on a mix of workloads. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass

from modelling.answers.content import Decision, Grounds
from modelling.estimation.mixes import MixEntry, Range
from modelling.evidence.question import Question


@dataclass(frozen=True)
class NamedMixEntry(MixEntry):
    """One line of the ranking, with what a reader calls it."""

    label: str


@dataclass(frozen=True)
class Share:
    """The knowledge of one workload of the mix by itself.

    share : of 1; has_numbers : whether numbers compare any entries under it
    verdict : of the answer to the same question on it alone
    forecast : where it has no numbers, what a model expects of two entries; "": nothing, or it has numbers
    """

    workload: str
    share: float
    has_numbers: bool
    verdict: Decision
    forecast: str


@dataclass(frozen=True)
class MixAnswer:
    """The answer to a question under a mix of workloads, at a knowledge revision.

    question : its workload is ""; its metric is the one that is compared
    weights : workload to share, their sum is 1
    left_out, unmeasured : as of modelling.estimation.mixes.Mix
    notes : what a careful reader must know
    """

    question: Question
    weights: Mapping[str, float]
    revision: int
    verdict: Decision
    grounds: Grounds
    entries: tuple[NamedMixEntry, ...]
    ranges: tuple[Range, ...]
    left_out: Mapping[str, tuple[str, ...]]
    unmeasured: Mapping[str, tuple[str, ...]]
    shares: tuple[Share, ...]
    notes: tuple[str, ...]
