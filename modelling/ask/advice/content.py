"""The content of advice. No Django."""

from dataclasses import dataclass
from typing import Annotated

from modelling.answers.content import AnswerVerdict
from modelling.workloads.profiles import Profile


@dataclass(frozen=True)
class NearWorkload:
    """A known workload, its distance to the load, 0 (the same profile) to 1, and its answer."""

    workload: str
    label: str
    distance: float
    is_far: Annotated[bool, "Its answer does not carry over."]
    title: Annotated[str, "The question about it."]
    url: Annotated[str, "Its answer as a page."]
    api_url: Annotated[str, "Its answer as data."]
    verdict: Annotated[AnswerVerdict | None, "Of its answer; null where that is too far, or another one is nearer."]


@dataclass(frozen=True)
class Advice:
    """Advice for a load: its profile, and the known workloads, nearest first, with the answers that carry over."""

    summary: tuple[str, ...]
    profile: Profile
    assumptions: tuple[str, ...]
    nearest: tuple[NearWorkload, ...]
    revision: Annotated[int, "Knowledge revision it rests on."]
