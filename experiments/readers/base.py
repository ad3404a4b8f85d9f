"""The results of readers. Standard library only: no database, no Django, no files.

Readers convert units: throughput in MiB/s, rates in operations a second, times in milliseconds and seconds.
What a tool does not print is None, never zero.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

MAX_BYTES = 64 * 2**20  # of one result file; more is refused before it is read
MAX_LINES = 1_000_000  # of one text
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # what begins such a text
_LINES_AT_ONCE = 2**16  # characters


@dataclass(frozen=True)
class Refusal:
    """The reason why a run, or the whole file, does not count. line is 1-based; None where no line can be named."""

    line: int | None
    reason: str


@dataclass(frozen=True)
class Fact:
    """One fact about a machine, or about what ran on it. It is only shown until a user confirms it.

    about : "sda", "scsi0", "pool tank", "machine", as the program names it
    name : with its unit: "size_bytes", "cache_mode", "busy_percent"
    fills : the field of a configuration that it answers; "fs" and "mount_options" are the host's or the guest's
    """

    about: str
    name: str
    value: str | int | float | bool
    line: int | None = None
    fills: str = ""


@dataclass(frozen=True)
class Run:
    """One finished run of one workload. Its figures become up to six measurements.

    workload : as the tool names it; the catalogue's name is found later (experiments.imports.normalise)
    line : of the summary the figures stand on
    operation : "read", "write", "random-read" ... where the run did nothing else; "mixed" is the whole load
    could_be : possible operations where the file does not tell and operation is ""; the user is asked
    benchmark, tool_version : of this run; empty where the Reading's own hold for it
    working_set_bytes : size of all files it works on, where the file tells; it may vary from run to run
    parameters : settings of the load that the file states, like threads and queue depth; runs are compared only where
        all of them are equal, so nothing that varies from run to run belongs here
    percentiles_ms : "p50", "p95", "p99" of the latency, ms, above zero; each becomes a measurement of its own metric
    note : kept with each of its measurements; warnings : sentences kept with the import
    """

    workload: str
    line: int | None
    throughput_mib_s: float | None = None
    ops_per_s: float | None = None
    latency_ms: float | None = None
    duration_s: float | None = None
    operation: str = "mixed"
    could_be: tuple[str, ...] = ()
    block_size_bytes: int | None = None
    benchmark: str = ""
    tool_version: str = ""
    working_set_bytes: int | None = None
    percentiles_ms: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    note: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """The content of one file. A file may hold good runs and refused ones, or facts and no runs.

    parts : of a file with results of several systems that can be told apart; then it has no runs itself, and its first
        refusal names them
    """

    format: str
    tool_version: str = ""  # empty: the file does not say
    benchmark: str = ""  # the tool, as the catalogue's aliases know it: "filebench", "fio"
    runs: tuple[Run, ...] = ()
    refused: tuple[Refusal, ...] = ()
    facts: tuple[Fact, ...] = ()
    parts: "tuple[Part, ...]" = ()


@dataclass(frozen=True)
class Part:
    """The runs of one of several systems in a file; the user says which system it is.

    name : what the file calls it: a file system, a machine, a format
    line : the first that names it
    reading : as of a file of its own, with runs
    """

    name: str
    line: int
    reading: Reading


class FileRefusedError(ValueError):
    """A whole file is refused; the message may be shown to users."""

    def __init__(self, reason: str | Refusal, line: int | None = None) -> None:
        self.refusal = reason if isinstance(reason, Refusal) else Refusal(line, reason)
        super().__init__(self.refusal.reason)


class TooMuchError(FileRefusedError):
    """A file holds more of something than is read."""

    def __init__(self, count: int, what: str, limit: int) -> None:
        super().__init__(f"{count:,} {what} in one file; at most {limit:,} are read: split it")


def lines_of(text: str, limit: int = MAX_LINES) -> Iterator[tuple[int, str]]:
    """Yield number and line, as str.splitlines would, without a list of all of them. Raises TooMuchError."""
    number = start = 0
    while start < len(text):
        end = text.find("\n", start + _LINES_AT_ONCE) + 1 or len(text)
        for line in text[start:end].splitlines():
            number += 1
            if number > limit:
                raise TooMuchError(text.count("\n") + (not text.endswith("\n")), "lines", limit)
            yield number, line
        start = end


class LineNumbers:
    """Finds the line numbers of ascending positions in a text, in one pass."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.number = text, 0, 1

    def at(self, place: int) -> int:
        self.number += self.text.count("\n", self.place, place)
        self.place = place
        return self.number


def text_of(data: bytes) -> str:
    """Decode as UTF-8, as UTF-16 where it has the mark, else as Latin-1, which any bytes are; NULs are replaced."""
    if data.startswith(UTF_16):
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    return text.replace("\x00", "\ufffd")


def percentiles_of(bins: Iterable[tuple[float, float]]) -> dict[str, float]:
    """Return p50, p95 and p99 of a histogram's bins, each a latency (ms) and its count; nothing of no counts."""
    ordered = sorted(pair for pair in bins if pair[1])
    reached = [*accumulate(count for _, count in ordered)]
    places = {nth: bisect_left(reached, nth * reached[-1] / 100) for nth in (50, 95, 99)} if reached else {}
    return {f"p{nth}": ordered[place][0] for nth, place in places.items()}


def whole_number(text: str, digits: int = 18) -> int | None:
    """Return a number of at most so many ASCII digits; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None
