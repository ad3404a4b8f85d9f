"""The record of a run, as its row keeps it: the shapes are those of the JSON there."""

from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from experiments.laboratory.transport.health import Health
from experiments.laboratory.transport.remote import Area


class Figure(TypedDict):
    machine: Annotated[int, "From 1; 0 is the host itself."]
    operation: str
    throughput_mib_s: float | None
    ops_per_s: float | None
    latency_ms: float | None
    duration_s: float | None


class Curve(TypedDict):
    """The throughput that the benchmark read and wrote at over the time of the run."""

    machine: Annotated[int, "From 1; 0 is the host itself."]
    until_s: Annotated[list[float], "Ends of the intervals."]
    mib_s: Annotated[list[float], "Of each interval."]
    warm_up_intervals: Annotated[int | None, "That are warm-up; null: no steady part is seen."]


class GuestImage(TypedDict):
    distribution: str
    sha256: dict[str, str]


class BackgroundLoad(TypedDict):
    """The load of others on a machine: CPU-seconds a second, and MiB/s; None where the login may not see it."""

    where: str
    cpu: float
    steal: float
    read_mib_s: float | None
    write_mib_s: float | None


class Facts(TypedDict, total=False):
    """The facts of a run that it found out itself; one that failed has those that it came to.

    machines : each with its name, kernel, mount options, and how its file system was made
    """

    host_kernel: str
    accelerator: str
    guest_image: GuestImage
    machines: list[dict[str, str]]
    health: Health
    parameters: dict[str, Any]
    working_set_bytes: int
    benchmark_seconds: float
    start_spread_seconds: float
    start_spread_unsure_seconds: float
    background: list[BackgroundLoad]
    tool_version: str


@dataclass
class Record:
    """The record of an attempt so far, stored where the run ends.

    areas : not stored; where the attempt may have made something, which is taken away again
    disturbed : what others did beyond the limits; empty: nothing
    """

    areas: list[Area] = field(default_factory=list)
    facts: Facts = field(default_factory=Facts)
    warnings: list[str] = field(default_factory=list)
    disturbed: str = ""
    curves: list[Curve] = field(default_factory=list)
