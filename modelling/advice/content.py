"""The content of advice. No Django."""

from dataclasses import dataclass

from modelling.answers.content import Decision, Grounds
from modelling.evidence.question import Question
from modelling.workloads.profiles import Profile

from .reasoning import Neighbour


@dataclass(frozen=True)
class Filters:
    """The choices that are made already, by slug."""

    hypervisor: str | None
    host_fs: str | None


@dataclass(frozen=True)
class NamedNeighbour(Neighbour):
    """A known workload, and what a reader calls it."""

    label: str


@dataclass(frozen=True)
class AdvisedEntry:
    """One line of the answer that the advice rests on."""

    key: str
    label: str
    grade: str
    ratio: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class AdvisedPart:
    """The entries to use and to avoid of one part of an answer. text : its verdict"""

    part: int
    name: str
    text: str
    best: tuple[AdvisedEntry, ...]
    worst: tuple[AdvisedEntry, ...]


@dataclass(frozen=True)
class Recommendation:
    """The answer on a near workload.

    is_far : it is for orientation and does not carry over; without : filters left out, as nothing answers with them
    metric, verdict, grounds, notes : of the answer; entries : all that it ranks
    """

    workload: str
    label: str
    distance: float
    is_far: bool
    question: Question
    title: str
    url: str
    api_url: str
    without: tuple[str, ...]
    metric: str
    verdict: Decision
    grounds: Grounds
    notes: tuple[str, ...]
    entries: tuple[AdvisedEntry, ...]
    parts: tuple[AdvisedPart, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """The advice for a load, from the workloads nearest to it.

    is_far : nothing that was measured carries over; far_beyond : the distance from which that is so
    """

    filters: Filters
    summary: tuple[str, ...]
    profile: Profile
    assumptions: tuple[str, ...]
    nearest: tuple[NamedNeighbour, ...]
    is_far: bool
    far_beyond: float
    recommendation: tuple[Recommendation, ...]
    revision: int
