"""The rows of the table on a guide's page. No Django."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WorkloadRow:
    """The recommendation of the stored answer under one workload.

    workload : slug; address : of the question; recommended : "ext4 or XFS", "" without a ranked answer
    strength : of the evidence; groups : number of its research groups
    """

    workload: str
    label: str
    address: str
    recommended: str = ""
    strength: str = ""
    groups: int = 0
