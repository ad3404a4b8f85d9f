"""The content of a sitting: how its choices stand on this machine and elsewhere, and what to run next. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kdb.content import Among
from modelling.estimation import verdict

# A sitting unless it is told otherwise, as kdb measure begins it.
SECONDS, MOST_RUNS = 30, 24
_KIB, _MIB = 2**10, 2**20
# Of each: percent of reads; bytes of a read and of a write; threads, files of each, bytes of a file; writes a flush of
# files and of their data alone; whether files are written over, and whether from end to end.
LOADS = {
    "fileserver": (33, 128 * _KIB, 128 * _KIB, 50, 200, 128 * _KIB, 0, 0, 0, 0),
    "varmail": (50, 16 * _KIB, 16 * _KIB, 16, 62, 16 * _KIB, 1, 0, 0, 0),
    "webserver": (91, 16 * _KIB, 16 * _KIB, 100, 10, 16 * _KIB, 0, 0, 0, 0),
    "randomfileaccess": (67, 8 * _KIB, 16 * _KIB, 5, 2000, 32 * _KIB, 0, 0, 0, 0),
    "database": (70, 8 * _KIB, 16 * _KIB, 8, 1, 128 * _MIB, 0, 1, 1, 0),
    "sync-write": (0, 4 * _KIB, 4 * _KIB, 4, 1, 64 * _MIB, 0, 1, 1, 0),
    "vm-boot": (90, 16 * _KIB, 8 * _KIB, 4, 1, 256 * _MIB, 0, 0, 1, 0),
    "small-files": (75, 16 * _KIB, 16 * _KIB, 8, 2000, 16 * _KIB, 0, 0, 0, 0),
    "sequential-write": (0, 1 * _MIB, 1 * _MIB, 2, 1, 512 * _MIB, 0, 0, 0, 1),
    "sequential-mixed": (70, 1 * _MIB, 1 * _MIB, 16, 8, 4 * _MIB, 0, 0, 0, 1),
    "sqlite": (50, 4 * _KIB, 4 * _KIB, 1, 1, 256 * _MIB, 0, 1, 1, 0),
    "pgbench": (50, 8 * _KIB, 8 * _KIB, 8, 1, 64 * _MIB, 0, 1, 1, 0),
}
NUMBERS = (
    *("read_percent", "read_bytes", "write_bytes", "threads", "files", "file_bytes", "fsync_every", "fdatasync_every"),
    *("overwrite", "sequential"),
)
PROGRAMS = ("sqlite", "pgbench")  # that make their own load, of which the numbers above say about the size
WORKLOADS = tuple(LOADS)
LIKE = "like "  # before the name of an observed machine: its load, as a session played it

MOST_SET_MIB = 8192  # of the files of a run
BETWEEN_SECONDS = 15  # that a run takes to be made ready

NO_CHANGE, CHANGED, NOT_SURE = CHANGE_KINDS = "no change that matters", "changed", "not sure"
USE, NO_DIFFERENCE, NOT_YET = KINDS = "use", "no difference", "not yet"


class Refused(Exception):  # noqa: N818
    """A request about a laboratory or a session cannot be carried out; the text says why."""


@dataclass(frozen=True)
class Choice:
    """One of the things that are compared on a machine."""

    component: ClassVar[str] = "SittingChoice"

    name: Annotated[str, "As its owner calls it; each once."]
    place: Annotated[str, "The disk or folder it is on: what is on one place is equally fast but for the settings."]
    settings: Annotated[Mapping[str, str], "guest_fs, host_fs, backend and the settings of the disk's path."]


@dataclass(frozen=True)
class Standing:
    """The standing of one choice."""

    component: ClassVar[str] = "SittingStanding"

    name: str
    runs: Annotated[int, "That count, on this machine."]
    ratio: Annotated[float, "Speed here as a multiple of the one to use."]
    low: Annotated[float, "Lower end of its 95 % interval."]
    high: Annotated[float, "Upper end of its 95 % interval."]
    within: Annotated[float, "Probability of being within the margin of the best here, 0 to 1."]
    loss: Annotated[float, "Expected loss against the best here, percent."]
    elsewhere_ratio: Annotated[float, "The same before any run here, from what others published."]
    elsewhere_low: float
    elsewhere_high: float


@dataclass(frozen=True)
class PlannedRun:
    """A run to make now; those of one block one right after the other, in this order."""

    number: int
    block: int
    choice: Annotated[str, "The name of what it measures."]


@dataclass(frozen=True)
class Load:
    """The load that a run makes, as numbers: whoever runs it forms the job himself, and runs no text of a server."""

    engine: str
    seconds: int
    warm_up_seconds: Annotated[int, "That it goes on before what counts."]
    threads: int
    files: Annotated[int, "Of each thread."]
    file_bytes: Annotated[int, "Of each file."]
    read_percent: Annotated[int, "Of the requests; the others write."]
    read_bytes: Annotated[int, "Of a read."]
    read_doubled_percent: Annotated[int, "Of the reads, those of twice as many bytes."]
    write_bytes: Annotated[int, "Of a write."]
    write_doubled_percent: Annotated[int, "Of the writes, those of twice as many bytes."]
    fsync_every: Annotated[int, "Writes; 0: never."]
    fdatasync_every: Annotated[int, "Writes; 0: never."]
    overwrite: Annotated[int, "1: files are written before and then over, and blocks are met in any order; else 0."]
    sequential: Annotated[int, "1: each file from end to end; 0: blocks in random order."]


@dataclass(frozen=True)
class Like:
    """An observed machine whose load the runs are under, in place of a workload's, as it was when the sitting began."""

    component: ClassVar[str] = "SittingLike"

    machine: Annotated[str, "Its host and name: lab-1/vm-117."]
    sentence: Annotated[str, "What the load is made of, and what was assumed."]


@dataclass(frozen=True)
class Change:
    """The change of one choice since the decision before."""

    component: ClassVar[str] = "SittingChange"

    name: str
    kind: Annotated[str, Among(CHANGE_KINDS)]
    ratio: Annotated[float, "Speed as a multiple of what it was."]
    low: Annotated[float, "Lower end of its 95 % interval."]
    high: Annotated[float, "Upper end of its 95 % interval."]
    sentence: str


@dataclass(frozen=True)
class Decision:
    """The decision on a machine from what is known so far, the best choice first."""

    component: ClassVar[str] = "SittingDecision"

    kind: Annotated[str, Among(KINDS)]
    sentence: str
    choices: tuple[Standing, ...]
    runs: Annotated[int, "That count."]
    further: Annotated[int | None, "Runs that it may still take; null: it stands, or more than may be made."]
    changes: Annotated[tuple[Change, ...], "Since the decision that it measures again; empty: it is a first one."]
    set_up: Annotated[tuple[str, ...], "Command lines that make the one to use; names after $ are your own."]
    published: Annotated[str, "The question whose published evidence it began with; empty: none bears on it."]


# An answer to a question, on the machine of a laboratory


@dataclass(frozen=True)
class EntryHere:
    """The standing of one entry on the machine, and elsewhere; speed as a multiple of the first one's."""

    key: str
    label: str
    runs: Annotated[int, "On this machine under this workload; 0: what else was measured or published tells."]
    ratio: float
    low: Annotated[float, "Lower end of its 95 % interval."]
    high: Annotated[float, "Upper end of it."]
    within: Annotated[float, "Probability of being within the margin of the best here, 0 to 1."]
    loss: Annotated[float, "Expected loss against the best here, percent."]
    elsewhere_ratio: Annotated[float | None, "The same in a laboratory that nobody has seen; null: nothing published."]
    elsewhere_low: float | None
    elsewhere_high: float | None


@dataclass(frozen=True)
class Here:
    """The answer on the machine of one of your laboratories: published evidence, conditional on what was measured there
    under any workload."""

    component: ClassVar[str] = "Here"

    laboratory: str
    name: Annotated[str, "Of the laboratory."]
    machine: Annotated[str, "That was measured last under this workload, else under any."]
    place: Annotated[str, "The disk or folder on it; empty: the entries are on several."]
    sittings: Annotated[tuple[int, ...], "That count; first those that rule, one a workload."]
    kind: Annotated[str, Among(verdict.KINDS)]
    sentence: str
    entries: Annotated[tuple[EntryHere, ...], "The one to use, then what was measured, each by loss."]

    @property
    def is_decided(self) -> bool:
        """Tell whether nothing more needs to be measured."""
        return self.kind in (verdict.USE, verdict.NO_DIFFERENCE)


@dataclass(frozen=True)
class MixHere(Here):
    """The answer under a mix of workloads on the machine of one of your laboratories."""

    component = "MixHere"

    missing: Annotated[
        tuple[str, ...], "Workloads under which no two of the entries were measured there; others tell of them."
    ]


@dataclass(frozen=True)
class Command:
    """The way to measure on the reader's own machine what an answer leaves open.

    minutes : that it takes at most; gain : percent by which the choice after it is on average faster; None: not known
    asked : the question, as addresses have it
    """

    text: str
    minutes: int
    gain: float | None
    asked: str
