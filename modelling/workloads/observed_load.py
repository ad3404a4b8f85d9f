"""Describe what an observed machine asked of its disks, and write it as a job for fio. No Django.

Source: docs/models/profiles.md, section "The load of an observed machine".
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from experiments.laboratory.transport.counters import Counts, total

from .profiles import RANDOM_EXTENT, Accesses, Profile, Requests

ALIGNED = 4096  # bytes that requests are a multiple of: what every disk takes past the memory
FILES_BYTES = 2**30  # of all files together: counters do not say how large the set is
MOST_THREADS = 1000
_FIRST_THAT_FLUSHES_AFTER_WRITES_ONLY = (3, 38)  # https://github.com/axboe/fio/commit/704a8cfe


class NotPlayedError(ValueError):
    """The load is none that fio could play; the text says why."""


@dataclass(frozen=True)
class FioJob:
    """A job for fio.

    working_set_bytes : of all files that it makes
    left_open : sentences that say what was assumed
    """

    text: str
    working_set_bytes: int
    left_open: tuple[str, ...]


def observed_profile(disks: Iterable[tuple[Counts, float]]) -> Profile:
    """Return the profile of what a machine's disks did together.

    disks : of each what was counted, and the seconds in which it did anything

    Every request is taken to jump, because counters do not say where it went. The threads are the requests that
    were under way together (Little's law: the sum of their times over the time), so bursts within the busy
    seconds count as their mean. Raises NotPlayedError where nothing was read or written.
    """
    disks = list(disks)
    counts = total(disk for disk, _ in disks)
    moved = counts.read_bytes + counts.write_bytes
    if not counts.reads + counts.writes or not moved:
        raise NotPlayedError("It neither reads nor writes, so there is nothing for fio to play.")
    of_all = counts.requests
    under_way = sum(
        (disk.read_seconds + disk.write_seconds + disk.flush_seconds) / busy for disk, busy in disks if busy > 0
    )
    parts: dict[str, float] = {}
    for direction, requests, size in (
        ("read", counts.reads, counts.read_bytes),
        ("write", counts.writes, counts.write_bytes),
    ):
        jump = min(size, requests * RANDOM_EXTENT)
        parts |= {f"random_{direction}": jump / moved, f"sequential_{direction}": (size - jump) / moved}
    return Profile(
        operations=Accesses(random_read=counts.reads / of_all, random_write=counts.writes / of_all),
        bytes=Accesses(**parts),
        flush_share=counts.flushes / of_all,
        sync_share=min(1.0, counts.flushes / counts.writes) if counts.writes else 0.0,
        concurrency=min(MOST_THREADS, max(1, round(under_way))),
        mean_io_bytes=moved / (counts.reads + counts.writes),
        requests=Requests(counts.reads / of_all, counts.writes / of_all, counts.flushes / of_all),
        notes=("Every request is taken to jump: counters do not say where it went.",),
    )


def observed_to_fio(profile: Profile, *, folder: str, seconds: int, name: str, version: str) -> FioJob:
    """Return the job that plays a profile of observed_profile in a folder for so many seconds.

    version : of the fio that will run it, as it says it: "3.33"; "": a new one
    """
    asked, threads = profile.requests, profile.concurrency
    assert asked
    assert threads
    reads = round(100 * asked.reads / (asked.reads + asked.writes))
    sizes = [_request_bytes(profile, asked, direction) for direction in ("read", "write")]
    if reads in (0, 100):  # one direction has no requests, and the size of the other
        sizes = [sizes[0 if reads else 1]] * 2
    largest = max(-(-int(size) // ALIGNED) * ALIGNED for size in sizes)
    file_bytes = max(1, round(FILES_BYTES / threads / largest)) * largest
    kind = {0: "write", 100: "read"}.get(reads, "rw")
    lines = [
        f"[{name}]",
        f"directory={folder}",
        "ioengine=psync",
        f"rw=rand{kind}",
        *([f"rwmixread={reads}"] if kind == "rw" else []),
        _sizes(sizes),
        f"numjobs={threads}",
        "nrfiles=1",
        f"filesize={file_bytes}",
        "openfiles=100",
        "file_service_type=random",
        "norandommap=1",  # with it a request may be cut where it meets one that was made before
        "fallocate=none",
        "overwrite=1",  # or a job without reads would allocate what it writes
        "time_based=1",
        f"runtime={seconds}",
        "group_reporting=1",
        *_flushes(asked, version, is_mixed=kind == "rw"),
    ]
    left_open = f"Files of {FILES_BYTES // 2**20:,} MiB in all, as the size of the set is not known."
    return FioJob("\n".join(lines) + "\n", threads * file_bytes, (left_open,))


def _request_bytes(profile: Profile, asked: Requests, direction: str) -> float:
    """Return the mean size of a read or a write, at least ALIGNED."""
    shares = profile.bytes.shares()
    share, moved = (asked.reads, sum(shares[:2])) if direction == "read" else (asked.writes, sum(shares[2:]))
    if not share or not profile.mean_io_bytes:
        return ALIGNED
    return max(ALIGNED, moved * profile.mean_io_bytes * (asked.reads + asked.writes) / share)


def _sizes(sizes: list[float]) -> str:
    """Return the option that says sizes of reads and writes: multiples of ALIGNED, with these means within 20 %."""
    if any(map(_is_between, sizes)):
        return "bssplit=" + ",".join(_split(size) if _is_between(size) else f"{_nearest(size)}/100" for size in sizes)
    return "bs=" + ",".join(str(_nearest(size)) for size in sizes)


def _is_between(size: float) -> bool:
    return abs(_nearest(size) / size - 1) > 0.2


def _nearest(size: float) -> int:
    return max(1, round(size / ALIGNED)) * ALIGNED


def _split(size: float) -> str:
    """Return ALIGNED and twice that with the shares whose mean is the size, which lies between them."""
    larger = round(100 * (size / ALIGNED - 1))
    return f"{ALIGNED}/{100 - larger}:{2 * ALIGNED}/{larger}"


def _flushes(asked: Requests, version: str, *, is_mixed: bool) -> Iterator[str]:
    """Yield the option that flushes as often as the machine did: what a hypervisor asks of the storage is fdatasync."""
    if asked.flushes and asked.writes:
        of = asked.reads + asked.writes if is_mixed and _flushes_after_reads(version) else asked.writes
        yield f"fdatasync={max(1, round(of / asked.flushes))}"


def _flushes_after_reads(version: str) -> bool:
    """Tell whether this fio, once a flush is due, flushes after each read, too, until the next write."""
    match = re.match(r"(?:fio-)?([0-9]{1,4})\.([0-9]{1,4})", version)
    return match is not None and (int(match[1]), int(match[2])) < _FIRST_THAT_FLUSHES_AFTER_WRITES_ONLY
