"""Compute what a workload does to a file system from its personality. No Django.

An access is sequential if it continues, in the same direction, where the same thread's last access to the open file
ended. Any other access begins with a jump: its first RANDOM_EXTENT bytes are random, the rest of it is sequential.

Source: docs/models/profiles.md, with the formula of each share and the four personalities computed by hand.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import numpy as np
from scipy.special import rel_entr

from kdb.content import NOT_SERVED

from . import wml
from .wml.flowops import FINISHES, FLUSHES, LIMITS, METADATA, READS, WAITS, WHOLE_FILE, WRITES
from .wml.tree import Budget
from .wml.workload import flatten

# Bytes that take about as long to move as to position. Also half-way, in powers of two, between the largest files that
# the papers call randomly accessed and the smallest that they call sequentially accessed.
RANDOM_EXTENT = 64 * 2**10

MOST_NOTES = 20  # notes of the parser that are shown
PERSONALITIES = Path(__file__).parent / "personalities"
KNOWN = ("fileserver", "randomfileaccess", "varmail", "webserver")


@dataclass(frozen=True, slots=True)
class Accesses:
    """A share in 0..1 for each kind of access."""

    random_read: float = 0.0
    sequential_read: float = 0.0
    random_write: float = 0.0
    sequential_write: float = 0.0

    def shares(self) -> tuple[float, float, float, float]:
        return self.random_read, self.sequential_read, self.random_write, self.sequential_write

    @property
    def reads(self) -> float:
        return self.random_read + self.sequential_read


@dataclass(frozen=True, slots=True)
class Requests:
    """A share in 0..1 for each kind of request; one operation may need several requests."""

    reads: float
    writes: float
    flushes: float


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of the load. Null: not known."""

    # With metadata_share and flush_share the operations, as Filebench would count them, add up to 1; bytes do, too,
    # or are all 0 where nothing is moved.
    operations: Annotated[Accesses, "Shares of all operations."]
    bytes: Annotated[Accesses, "Shares of the bytes moved."]
    metadata_share: Annotated[float, "Of all operations."] = 0.0  # open, create, close, delete, stat, directories
    flush_share: Annotated[float, "Of all operations."] = 0.0  # fsync and the like
    sync_share: Annotated[float, "Of the writes."] = 0.0  # O_DSYNC, or followed by an fsync before the close
    concurrency: int | None = None  # threads at work, over all processes
    files: int | None = None  # in use, as for the next two
    mean_file_bytes: float | None = None
    working_set_bytes: float | None = None
    mean_io_bytes: float | None = None  # of one request
    directory_width: int | None = None  # mean entries of a directory, of the largest fileset
    requests: Annotated[Requests | None, "Shares of all requests; null: not known, one for each operation."] = None
    think_seconds: Annotated[float, "That a thread waits for each read or write, s, mean."] = 0.0
    notes: Annotated[tuple[str, ...], NOT_SERVED] = ()  # what was assumed, in sentences


def profile(workload: wml.Workload) -> Profile:
    """Return the profile of a workload.

    Each thread repeats its list of flowops, each flowop `iters` times. All threads are taken to repeat their lists
    equally often, weighted by their instances; random sizes enter by their mean.

    Raises WmlError where no flowop that runs works on files, a number overflows, or the text needs more steps than
    wml.tree.Budget allows.
    """
    tally, budget = _Tally(), Budget(workload.steps)
    for thread in workload.threads:
        if thread.instances:
            _Loop(workload, tally, budget, thread.instances).run(thread.flows)
    total = tally.reads + tally.writes + tally.metadata + tally.flushes
    moved = sum(tally.bytes.values())
    if not total:
        raise wml.WmlError(workload.threads[0].place, "no flowop that runs does anything to a file")
    if not math.isfinite(total + moved + tally.read_requests + tally.write_requests + tally.waited_seconds):
        raise wml.WmlError(workload.threads[0].place, "iterations and sizes multiply to more than a number can hold")
    filesets = [fileset for name, fileset in workload.filesets.items() if name in tally.filesets]
    files = sum(fileset.entries for fileset in filesets)
    whole_bytes = sum(fileset.entries * fileset.mean_bytes for fileset in filesets)
    trees = [fileset for fileset in filesets if fileset.directory_width is not None]
    requests = tally.read_requests + tally.write_requests
    return Profile(
        operations=_shares(tally.operations, total),
        bytes=_shares(tally.bytes, moved),
        metadata_share=tally.metadata / total,
        flush_share=tally.flushes / total,
        sync_share=tally.synchronous_writes / tally.writes if tally.writes else 0.0,
        concurrency=sum(thread.instances for thread in workload.threads),
        files=files,
        mean_file_bytes=whole_bytes / files if files else 0.0,
        working_set_bytes=sum(
            fileset.entries * min(fileset.mean_bytes, tally.workingset(fileset.name)) for fileset in filesets
        ),
        mean_io_bytes=moved / requests if requests else 0.0,
        directory_width=max(trees, key=lambda fileset: fileset.entries).directory_width if trees else None,
        requests=_requests(tally),
        think_seconds=tally.waited_seconds / requests if requests else 0.0,
        notes=tuple(_notes(workload, tally)),
    )


def _requests(tally: "_Tally") -> Requests | None:
    total = tally.read_requests + tally.write_requests + tally.flushes
    if not total:
        return None
    return Requests(tally.read_requests / total, tally.write_requests / total, tally.flushes / total)


def _shares(amounts: Mapping[str, float], total: float) -> Accesses:
    return Accesses(**{kind: amount / total for kind, amount in amounts.items()}) if total else Accesses()


def _zero_shares() -> dict[str, float]:
    return dict.fromkeys((kind.name for kind in fields(Accesses)), 0.0)


@dataclass
class _Tally:
    """Sums over all threads, each of which runs its list once."""

    operations: dict[str, float] = field(default_factory=_zero_shares)
    bytes: dict[str, float] = field(default_factory=_zero_shares)
    reads: float = 0.0
    writes: float = 0.0
    synchronous_writes: float = 0.0
    metadata: float = 0.0
    flushes: float = 0.0
    read_requests: float = 0.0
    write_requests: float = 0.0
    waited_seconds: float = 0.0
    filesets: set[str] = field(default_factory=set)
    workingsets: dict[str, float] = field(default_factory=dict)
    late_sync: bool = False

    def workingset(self, fileset: str) -> float:
        """Return the bytes of each file that are accessed; infinite where an access is not limited to a part."""
        return self.workingsets.get(fileset, math.inf)


@dataclass
class _OpenFile:
    """An open file; each time a file is opened makes a new object."""

    fileset: str
    synchronous: bool
    unsynced: float = 0.0  # writes that wait for an fsync, as a weight in the tally


class _Loop:
    """Run one thread's list three times and count the second, in which open files and positions are those of the loop.

    The third run tells whether an fsync follows the writes at the end of the second.
    """

    def __init__(self, workload: wml.Workload, tally: _Tally, budget: Budget, instances: int) -> None:
        self.workload = workload
        self.tally = tally
        self.budget = budget
        self.instances = instances
        self.open: dict[int | str, _OpenFile] = {}  # by descriptor; files without one by fileset
        self.default: str | None = None  # the fileset of descriptor 0
        self.place: tuple[_OpenFile, bool] | None = None  # the file last accessed, and whether it was written
        self.counting = False

    def run(self, flows: tuple[wml.Flow, ...]) -> None:
        for number in range(3):
            self.counting = number == 1
            self.walk(flows, self.instances)

    def walk(self, flows: Iterable[wml.Flow], weight: float) -> None:
        for flow in flows:
            # The first iteration may jump; each further one continues where the iteration before it ended.
            for times in (min(flow.iterations, 1.0), flow.iterations - 1.0):
                if times <= 0:
                    continue
                self.budget.spend(1, flow.place)
                if flow.body:
                    self.walk(flow.body, weight * times)
                else:
                    self.step(flow, weight * times)

    def step(self, flow: wml.Flow, weight: float) -> None:
        tally = self.tally
        if self.counting and flow.fileset is not None:
            tally.filesets.add(flow.fileset)
        if flow.kind in READS or flow.kind in WRITES:
            self.access(flow, weight)
        elif flow.kind in FLUSHES:
            self.flush(flow)
            tally.flushes += weight if self.counting else 0.0
        elif flow.kind in METADATA:
            tally.metadata += weight if self.counting else 0.0
            if flow.kind in ("openfile", "createfile"):
                assert flow.fileset is not None  # these operations are refused without (wml.flowops.NEED_FILESET)
                self.open[self.key(flow)] = _OpenFile(flow.fileset, flow.synchronous)
            elif flow.kind == "closefile":
                self.open.pop(self.key(flow), None)
        elif self.counting:
            tally.waited_seconds += weight * flow.wait_seconds

    def key(self, flow: wml.Flow) -> int | str:
        if flow.fd:
            return flow.fd
        self.default = flow.fileset or self.default
        return self.default or 0

    def file(self, flow: wml.Flow) -> _OpenFile | None:
        """Return the open file of a flowop; as in Filebench, reading or writing opens a file that is not open."""
        key = self.key(flow)
        if flow.next_file or key not in self.open:
            if flow.fileset is None:
                return None
            self.open[key] = _OpenFile(flow.fileset, flow.synchronous)
        return self.open[key]

    def access(self, flow: wml.Flow, weight: float) -> None:
        file = self.file(flow)
        if file is None:
            if self.counting:
                raise wml.WmlError(flow.place, f"the file under fd {flow.fd or 0} is closed here")
            return
        write = flow.kind in WRITES
        continues = (
            self.place is not None
            and self.place[0] is file
            and self.place[1] == write
            and not flow.random
            and flow.kind != "readwholefile"  # starts at the beginning each time
        )
        self.place = file, write
        moved, requests = self.size(flow, file)
        jump = 0.0 if continues else min(moved, RANDOM_EXTENT) / moved if moved else 1.0
        if write:
            file.unsynced += 0.0 if not self.counting or file.synchronous else weight
        if not self.counting:
            return
        tally = self.tally
        direction = "write" if write else "read"
        for kind, share in ((f"random_{direction}", jump), (f"sequential_{direction}", 1.0 - jump)):
            tally.operations[kind] += weight * share
            tally.bytes[kind] += weight * share * moved
        if write:
            tally.write_requests += weight * requests
            tally.writes += weight
            tally.synchronous_writes += weight if file.synchronous else 0.0
            tally.late_sync |= flow.synchronous and not file.synchronous
        else:
            tally.read_requests += weight * requests
            tally.reads += weight
        seen = tally.workingsets.get(file.fileset, 0.0)
        tally.workingsets[file.fileset] = max(seen, flow.workingset_bytes or math.inf)

    def size(self, flow: wml.Flow, file: _OpenFile) -> tuple[float, float]:
        """Return the mean bytes that one execution moves, and the mean number of requests it takes."""
        if flow.kind in WHOLE_FILE:
            source = self.open.get(flow.source_fd, file) if flow.source_fd else file
            moved = self.workload.filesets[source.fileset].mean_bytes
            return moved, max(1.0, moved / flow.io_bytes) if flow.io_bytes else 1.0
        # appendfilerand draws its size evenly between 0 and iosize
        return (flow.io_bytes / 2 if flow.kind == "appendfilerand" else flow.io_bytes), 1.0

    def flush(self, flow: wml.Flow) -> None:
        if flow.kind == "fsyncset":
            self.budget.spend(len(self.open), flow.place)
            files = [file for file in self.open.values() if file.fileset == flow.fileset]
        else:
            files = [file for file in (self.open.get(self.key(flow)),) if file]
        for file in files:
            self.tally.synchronous_writes += file.unsynced
            file.unsynced = 0.0


def _notes(workload: wml.Workload, tally: _Tally) -> list[str]:
    flows = [flow for thread in workload.threads for flow in flatten(thread.flows)]
    kinds = {flow.kind for flow in flows}
    notes = list(workload.notes[:MOST_NOTES])
    if (more := len(workload.notes) - MOST_NOTES) > 0:
        notes.append(f"{more:,} more notes like these are left out.")
    if tally.reads + tally.writes:
        extent = RANDOM_EXTENT // 1024
        notes.append(f"After a jump the first {extent} KiB count as random, the rest of the access as sequential.")
    if len([thread for thread in workload.threads if thread.instances]) > 1:
        notes.append("Threads that differ are taken to repeat their lists equally often.")
    if kinds & {"createfile", "deletefile", "appendfile", "appendfilerand", "writewholefile"}:
        notes.append("Files have the size of their definition, though appends and new files change it as it runs.")
    if kinds.intersection(LIMITS) and workload.event_rate:
        notes.append(f"The rate is limited to {workload.event_rate:g} events a second; shares do not show that.")
    if kinds.intersection(FINISHES):
        notes.append("It ends after a count or amount and not with the time.")
    if kinds.intersection(WAITS):
        notes.append("Threads wait for each other, for requests or for time; shares do not show how long.")
    if any(flow.direct for flow in flows):
        notes.append("Some files are opened for direct I/O, past the page cache.")
    if tally.late_sync:
        notes.append("dsync on a write counts only where that write opens the file; some here do not.")
    if any(flow.kind in WRITES and flow.iterations > 1 for flow in flows) and kinds.intersection(FLUSHES):
        notes.append("One fsync follows many writes; all of them count as synchronous.")
    return list(dict.fromkeys(notes))


# The distance of profiles.

WEIGHTS = MappingProxyType({"operations": 0.3, "bytes": 0.3, "sync": 0.2, "size": 0.2})
SIZES = ("concurrency", "working_set_bytes", "mean_file_bytes", "mean_io_bytes")


def distance(a: Profile, b: Profile) -> float:
    """Measure how different two profiles are, in 0..1; 0 for equal ones, symmetric.

    The weighted mean (WEIGHTS) of: the Jensen-Shannon distance of the operations over six kinds; that of
    the bytes over four; the difference of sync_share; and the mean over SIZES of x / (x + ln 10), where x
    is the absolute log ratio, so that a factor of ten counts one half in any unit. Sizes that are not known
    of both are left out. Source: docs/models/profiles.md.
    """
    parts = {
        "operations": _jensen_shannon(_operation_shares(a), _operation_shares(b)),
        "bytes": _jensen_shannon(a.bytes.shares(), b.bytes.shares()),
        "sync": abs(a.sync_share - b.sync_share),
    }
    pairs = [(getattr(a, name), getattr(b, name)) for name in SIZES]
    if known := [(one, other) for one, other in pairs if one is not None and other is not None]:
        parts["size"] = sum(_size_difference(*pair) for pair in known) / len(known)
    return sum(WEIGHTS[name] * part for name, part in parts.items()) / sum(WEIGHTS[name] for name in parts)


def _operation_shares(profile: Profile) -> tuple[float, ...]:
    return (*profile.operations.shares(), profile.metadata_share, profile.flush_share)


def _jensen_shannon(p: tuple[float, ...], q: tuple[float, ...]) -> float:
    """Return the square root of the divergence to base 2: a metric in 0..1. It is 1 if one of them is all 0."""
    if not sum(p) or not sum(q):
        return float(bool(sum(p)) != bool(sum(q)))
    one, other = np.array(p) / sum(p), np.array(q) / sum(q)
    mean = (one + other) / 2
    # scipy.spatial.distance.jensenshannon is NaN for nearly equal ones: rounding leaves it a root of -1e-17.
    divergence = (rel_entr(one, mean).sum() + rel_entr(other, mean).sum()) / math.log(4)
    return math.sqrt(min(max(divergence, 0.0), 1.0))


def _size_difference(a: float, b: float) -> float:
    if not a or not b:
        return float(bool(a) != bool(b))
    ratio = abs(math.log(a) - math.log(b))
    return ratio / (ratio + math.log(10))


@cache
def known_profiles() -> Mapping[str, Profile]:
    """Return the papers' four workloads, from modelling/workloads/personalities, by the catalogue's names."""
    texts = {name: (PERSONALITIES / f"{name}.f").read_text("utf-8") for name in KNOWN}
    return MappingProxyType({name: profile(wml.parse(text)) for name, text in texts.items()})
