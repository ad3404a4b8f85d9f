"""Describe the load that an observed machine put on its disks, and the numbers that replay it. No Django.

Source: docs/models/profiles.md, section "The load of an observed machine".
"""

import re
from collections.abc import Iterable

from experiments.laboratory.transport.counters import Counts, total

from .profiles import RANDOM_EXTENT, Accesses, Profile, Requests

ALIGNED = 4096  # bytes; requests are a multiple of it, as every disk accepts that for direct I/O
FILES_BYTES = 2**30  # of all files together, an assumption: counters do not tell the size of the working set
LEFT_OPEN = f"Files of {FILES_BYTES // 2**20:,} MiB in all, as the size of the set is not known."
MOST_THREADS = 1000
_FIRST_THAT_FLUSHES_AFTER_WRITES_ONLY = (3, 38)  # https://github.com/axboe/fio/commit/704a8cfe


class NotPlayedError(ValueError):
    """The load cannot be replayed by fio; the text says why."""


def observed_profile(disks: Iterable[tuple[Counts, float]]) -> Profile:
    """Return the profile of a machine's load on all its disks.

    disks : the counters of each, and the seconds in which it was busy

    Every request is taken to be random, because counters do not say where it went. The threads are the mean number of
    requests in flight (Little's law: the sum of their times over the busy time), so bursts are averaged out.
    Raises NotPlayedError where nothing was read or written.
    """
    disks = list(disks)
    counts = total(disk for disk, _ in disks)
    moved = counts.read_bytes + counts.write_bytes
    if not counts.reads + counts.writes or not moved:
        raise NotPlayedError("It neither reads nor writes, so there is nothing for fio to play.")
    in_flight = sum(
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
        operations=Accesses(random_read=counts.reads / counts.requests, random_write=counts.writes / counts.requests),
        bytes=Accesses(**parts),
        flush_share=counts.flushes / counts.requests,
        sync_share=min(1.0, counts.flushes / counts.writes) if counts.writes else 0.0,
        concurrency=min(MOST_THREADS, max(1, round(in_flight))),
        mean_io_bytes=moved / (counts.reads + counts.writes),
        requests=Requests(
            counts.reads / counts.requests, counts.writes / counts.requests, counts.flushes / counts.requests
        ),
        notes=("Every request is taken to jump: counters do not say where it went.",),
    )


def observed_numbers(profile: Profile, version: str) -> dict[str, int]:
    """Return the numbers of the load that replays a profile of observed_profile, as Load of the API names them.

    version : of the fio that will run it, as fio prints it: "3.33"; "": a recent one
    """
    requests, threads = profile.requests, profile.concurrency
    assert requests
    assert threads
    reads = round(100 * requests.reads / (requests.reads + requests.writes))
    sizes = [_request_bytes(profile, requests, direction) for direction in ("read", "write")]
    if reads in (0, 100):  # one direction has no requests, and the size of the other
        sizes = [sizes[0 if reads else 1]] * 2
    largest = max(-(-int(size) // ALIGNED) * ALIGNED for size in sizes)
    (read_bytes, read_doubled), (write_bytes, write_doubled) = map(_size, sizes)
    return {
        "threads": threads,
        "files": 1,
        "file_bytes": max(1, round(FILES_BYTES / threads / largest)) * largest,
        "read_percent": reads,
        "read_bytes": read_bytes,
        "read_doubled_percent": read_doubled,
        "write_bytes": write_bytes,
        "write_doubled_percent": write_doubled,
        "fsync_every": 0,
        "fdatasync_every": _writes_a_flush(requests, version, is_mixed=0 < reads < 100),
        "overwrite": 1,  # or a load without reads would allocate what it writes
        "sequential": 0,
    }


def _request_bytes(profile: Profile, requests: Requests, direction: str) -> float:
    """Return the mean size of a read or a write, at least ALIGNED."""
    shares = profile.bytes.shares()
    share, moved = (requests.reads, sum(shares[:2])) if direction == "read" else (requests.writes, sum(shares[2:]))
    if not share or not profile.mean_io_bytes:
        return ALIGNED
    return max(ALIGNED, moved * profile.mean_io_bytes * (requests.reads + requests.writes) / share)


def _size(size: float) -> tuple[int, int]:
    """Return a multiple of ALIGNED, and the percent of requests of twice that, with this mean within 20 %."""
    nearest = max(1, round(size / ALIGNED)) * ALIGNED
    return (nearest, 0) if abs(nearest / size - 1) <= 0.2 else (ALIGNED, round(100 * (size / ALIGNED - 1)))


def _writes_a_flush(requests: Requests, version: str, *, is_mixed: bool) -> int:
    """Return how many writes a flush follows; 0: it never does. What a hypervisor asks of the storage is fdatasync."""
    if not (requests.flushes and requests.writes):
        return 0
    of = requests.reads + requests.writes if is_mixed and _flushes_after_reads(version) else requests.writes
    return max(1, round(of / requests.flushes))


def _flushes_after_reads(version: str) -> bool:
    """Tell whether this version, once a flush is due, also flushes after each read until the next write."""
    match = re.match(r"(?:fio-)?([0-9]{1,4})\.([0-9]{1,4})", version)
    return match is not None and (int(match[1]), int(match[2])) < _FIRST_THAT_FLUSHES_AFTER_WRITES_ONLY
