"""What a reader is, and what it yields. Standard library only: no database, no Django, no files.

A reader turns the bytes of one result file into Runs, or refuses with the line and the reason. It
never raises on any input and never hangs: time and memory are bounded by the size of the input.
Units are converted here, once: throughput in MiB/s, rates in operations a second, times in
milliseconds and seconds. What a tool does not print is None, never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

MAX_BYTES = 64 * 2**20  # of one result file; more is refused before it is read


@dataclass(frozen=True)
class Refusal:
    """Why a run, or the whole file, does not count. line is 1-based; None where no line can be named."""

    line: int | None
    reason: str


@dataclass(frozen=True)
class Operation:
    """One line of a run's breakdown, in the tool's own name: "read", "createfile1", "4KiB write"."""

    name: str
    line: int | None = None
    operations: int | None = None
    ops_per_s: float | None = None
    throughput_mib_s: float | None = None
    latency_ms: float | None = None  # mean
    block_size_bytes: int | None = None


@dataclass(frozen=True)
class Run:
    """One finished run of one workload: the figures become up to three measurements.

    workload : as the tool names it; the catalogue's name is found later (experiments.normalise)
    line : of the summary the figures stand on
    operation : "read", "write", "random-read" ... where the run did nothing else; "mixed" is the whole load
    benchmark, tool_version : of this run; empty where the Reading's own hold for it
    working_set_bytes : size of all files it works on, where the file tells; it may vary from run to run
    parameters : what the file itself says of the load and what is the same in every run of it, because
        runs are compared where these are equal: threads, files, queue depth ...
    operations : the breakdown, in printed order; shown, and kept with the file, never a measurement
    warnings : sentences that stay with the data
    """

    workload: str
    line: int | None
    throughput_mib_s: float | None = None
    ops_per_s: float | None = None
    latency_ms: float | None = None
    duration_s: float | None = None
    operation: str = "mixed"
    block_size_bytes: int | None = None
    benchmark: str = ""
    tool_version: str = ""
    working_set_bytes: int | None = None
    operations: tuple[Operation, ...] = ()
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What one file holds. A file may hold good runs and refused ones."""

    format: str
    tool_version: str = ""  # empty: the file does not say
    benchmark: str = ""  # the tool, as the catalogue's aliases know it: "filebench", "fio"
    runs: tuple[Run, ...] = ()
    refused: tuple[Refusal, ...] = ()


class Reader(Protocol):
    """One format, one module, one instance in experiments.importers.READERS."""

    name: str  # "filebench", "fio-json"

    def recognises(self, data: bytes) -> bool:
        """Whether the content, not the name, looks like this format; quick, and never raises."""

    def read(self, data: bytes) -> Reading:
        """Everything the file holds."""


def text_of(data: bytes) -> str:
    """The bytes as text: UTF-8, UTF-16 by its mark, else Latin-1, so that no byte is lost; no NULs."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    return text.replace("\x00", "\ufffd")
