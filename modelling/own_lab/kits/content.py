"""A kit with what laboratories measured by it. No Django."""

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class KitWay:
    """One way to run the kit: on hosts with one of these drivers."""

    drivers: tuple[str, ...]
    compares: Annotated[str, "In words."]
    held: Annotated[str, "What is the same in all runs."]
    runs: int
    seconds: Annotated[int, "About, on a host with KVM."]


@dataclass(frozen=True)
class KitRun:
    """A published case study by a kit's plan."""

    case_study: str
    title: str
    who: Annotated[str, "The laboratory; where none is stated, the publication or the case study."]
    contributor: Annotated[str, "Who brought it and chose to be named; empty: nobody did."]
    year: int | None
    version: int
    counts: Annotated[bool, "Whether it is of the kit's present version, and so in its pairs."]
    run_seconds: int | None


@dataclass(frozen=True)
class MeasuredByKit:
    """How many times as fast as the second one laboratory measured the first, with its 95 % interval."""

    who: str
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class ExpectedRatio:
    """The same ratio as all published evidence together has it in another laboratory, with its 95 % interval."""

    ratio: float
    low: float
    high: float
    laboratories: Annotated[int, "That measured both side by side."]


@dataclass(frozen=True)
class KitPair:
    """Two of the kit's options under one workload."""

    axis: str
    choice: Annotated[str, "The axis in words."]
    workload: str
    first: str
    second: Annotated[str, "The option that the kit names first."]
    address: Annotated[str, "Of the answer that counts all evidence."]
    measured: tuple[MeasuredByKit, ...]
    expected: Annotated[ExpectedRatio | None, "null: nobody compared them."]


@dataclass(frozen=True)
class KitSummary:
    """A kit in a list of all."""

    kit: Annotated[str, "With its version: `cache-mode/1`."]
    slug: str
    version: int
    question: str
    guides: tuple[str, ...]
    ran: Annotated[tuple[str, ...], "Who ran it, of any version, first come first."]


@dataclass(frozen=True)
class KitReport(KitSummary):
    """A kit: its plan, who ran it, and what they measured."""

    engine: str
    workloads: tuple[str, ...]
    run_seconds: int
    repetitions: int
    ways: Annotated[tuple[KitWay, ...], "The first that a host can do is run."]
    runs: tuple[KitRun, ...]
    pairs: tuple[KitPair, ...]
