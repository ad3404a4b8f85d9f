"""The content of what stands beside a guide. No Django."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WorkloadRow:
    """What the kept answer under one workload recommends.

    workload : slug; recommended : "ext4 or XFS"; "": no answer that ranks anything is kept
    strength : of the evidence; groups : research groups behind it
    address : of the question
    """

    workload: str
    label: str
    address: str
    recommended: str = ""
    strength: str = ""
    groups: int = 0
