"""The results of detection, as data. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

IDLE, UNLIKE = "idle", "unlike"  # results other than classes
OR = " or "  # between classes that cannot be distinguished
HELD_BACK = ":"  # in "flushed-database:pgbench", a program of the class for tests, not for training

# Classes of loads outside the catalogue, with their names.
OTHERS = {
    "flushed-database": "a database that reads and flushes",
    "log": "small writes, each flushed",
    "unflushed": "writes that are not flushed",
    "backup": "everything read, one file after another",
    "boot": "a start of a machine",
}
# The load of `kdb measure` that does to a disk what loads of a class do. Of the others none does.
MEASURED_AS = {"flushed-database": "database", "log": "sync-write", "unflushed": "sequential-write", "boot": "vm-boot"}


@dataclass(frozen=True)
class Mix:
    """The work of a machine in the last 24 hours, in the workloads that are known."""

    component = "DetectedMix"

    # They add up to 1, or there are none.
    shares: Annotated[Mapping[str, float], "Workload to its share of the minutes that are like it alone."]
    probability: Annotated[float, "Mean over these minutes of the probability that it is right, 0 to 1."]
    minutes: Annotated[int, "That were watched."]
    idle: Annotated[float, "Share of these minutes in which its disks were idle."]
    unlike: Annotated[float, "Share of these minutes that are unlike anything known."]
    others: Annotated[
        Mapping[str, float],
        f"Share of these minutes that are like a load that is no workload here, or, joined by '{OR}', like several.",
    ]
    why_not: Annotated[str | None, "Why there are no shares; null where there are."] = None


Counted = Annotated[dict[str, int], "Class to number."]
Confusion = Annotated[
    dict[str, dict[str, int]],
    f"What ran to what was said (a class, several joined by '{OR}', {IDLE!r} or {UNLIKE!r}) to how often.",
]


@dataclass(frozen=True)
class Report:
    """The figures that tell how good a model is, by runs left out and by programs held back."""

    component = "DetectionReport"

    workloads: list[str]
    others: Annotated[list[str], "Classes that are no workload."]
    signatures: Counted
    runs: Counted
    too_few: Counted  # workload to signatures, where they do not suffice
    idle: Counted  # class to signatures on which the disk was idle, which were not used
    cached: Counted  # workload to signatures whose reads or writes memory hid, which were not used
    confusion_of_runs: Confusion  # of whole runs, about a minute, by models of other runs
    held_back: Confusion  # of programs that teach nothing, named "class:program"
    sureness: Annotated[dict[str, float], "Workload to the probability that it ran where it alone is told."]
    known_right: Annotated[
        float | None, "Share of runs of workloads that are not cached, told right by models of others."
    ]
    foreign_told: Annotated[
        float | None, "Share of programs held back, none of them a workload, that were told as another class alone."
    ]
