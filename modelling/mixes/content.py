"""The answer on a mix of workloads. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from kdb.content import NOT_SERVED, MetricName
from modelling.answers.content import Decision, Grounds
from modelling.estimation.mixes import MixEntry, Range
from modelling.evidence.question import AxisName, Question
from modelling.here.content import MixHere


@dataclass(frozen=True)
class NamedMixEntry(MixEntry):
    """One line of the ranking, with what a reader calls it."""

    component = "MixEntry"

    label: str


@dataclass(frozen=True)
class Share:
    """The knowledge of one workload of the mix by itself."""

    workload: str
    share: float
    has_numbers: Annotated[bool, "Whether numbers compare any entries under it."]
    verdict: Annotated[Decision, "Of the answer on it alone."]
    forecast: Annotated[str, "Without numbers: what a model expects of two entries; no mix contains it."]


@dataclass(frozen=True)
class MixAnswer:
    """Entries ranked for a mix of workloads."""

    component = "Mix"

    question: Annotated[Question, NOT_SERVED]  # its workload is ""; its metric is the one that is compared
    weights: Annotated[Mapping[str, float], "Workload to share; they add up to 1."]
    revision: Annotated[int, "Knowledge revision it was computed from."]
    verdict: Decision
    grounds: Grounds
    entries: tuple[NamedMixEntry, ...]
    ranges: tuple[Range, ...]
    left_out: Annotated[
        Mapping[str, tuple[str, ...]],
        "Entry to the workloads that have no numbers joining it to the ranked ones.",
    ]
    unmeasured: Annotated[
        Mapping[str, tuple[str, ...]],
        "Of these, entry to the workloads that have no comparable numbers of it at all.",
    ]
    shares: tuple[Share, ...]
    notes: Annotated[tuple[str, ...], "What a careful reader must know."]


@dataclass(frozen=True)
class MixAsked:
    """The question of a mix, as its answer repeats it."""

    axis: AxisName
    filters: Annotated[dict[str, Any], "That narrow the evidence, by the names of the parameters."]
    metric: Annotated[MetricName, "What is compared."]
    here: Annotated[MixHere | None, "On the machine of the laboratory `here`; null: not asked."]
