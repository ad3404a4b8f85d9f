"""The content of advice. No Django."""

from dataclasses import dataclass
from typing import Annotated

from modelling.answers.content import AnswerVerdict
from modelling.evidence.question import Grade, Question
from modelling.workloads.profiles import Profile

from .reasoning import Neighbour


@dataclass(frozen=True)
class Filters:
    """The choices that are made already, by slug."""

    component = "AdviceFilters"

    hypervisor: str | None
    host_fs: str | None


@dataclass(frozen=True)
class AdvisedEntry:
    """One line of the answer that the advice rests on."""

    key: str
    label: str
    grade: Annotated[Grade, "Of the evidence."]


@dataclass(frozen=True)
class AdvisedPart:
    """The entries to use and to avoid of one part of an answer."""

    part: int
    name: str
    text: Annotated[str, "Its verdict."]
    best: tuple[AdvisedEntry, ...]
    worst: tuple[AdvisedEntry, ...]


@dataclass(frozen=True)
class Recommendation:
    """The answer for a near workload. Where `is_far`, it is for orientation and does not carry over."""

    workload: str
    label: str
    distance: float
    is_far: bool
    question: Question
    title: str
    url: Annotated[str, "The whole answer as a page."]
    api_url: Annotated[str, "The whole answer as data."]
    without: Annotated[tuple[str, ...], "Filters left out, as nothing answers the question with them."]
    verdict: AnswerVerdict
    parts: tuple[AdvisedPart, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """Advice for a load: its profile, and the nearest workloads with their answers."""

    filters: Filters
    summary: tuple[str, ...]
    profile: Profile
    assumptions: tuple[str, ...]
    nearest: tuple[Neighbour, ...]
    is_far: Annotated[bool, "Nothing that was measured carries over to this load."]
    far_beyond: Annotated[float, "The distance beyond which no answer carries over."]
    recommendation: tuple[Recommendation, ...]
    revision: Annotated[int, "Knowledge revision it rests on."]
