"""The content of a guide and of what stands beside it. No Django."""

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True)
class Guide:
    """One file of docs/guides.

    axis : of KDB that it is about; "": none
    questions : that it answers; sources : codes of the advice that it rests on
    recommendation : in one line; html : what follows it
    terms : the words that count of its title and of each question
    """

    slug: str
    title: str
    axis: str
    questions: tuple[str, ...]
    sources: tuple[str, ...]
    recommendation: str
    html: str
    terms: tuple[Counter[str], ...]

    @property
    def address(self) -> str:
        return f"/guides/{self.slug}/"


@dataclass(frozen=True)
class WorkloadRow:
    """What the kept answer under one workload recommends.

    recommended : "ext4 or XFS"; "": no answer that ranks anything is kept
    strength : of the evidence; groups : research groups behind it
    address : of the question
    """

    label: str
    address: str
    recommended: str = ""
    strength: str = ""
    groups: int = 0
