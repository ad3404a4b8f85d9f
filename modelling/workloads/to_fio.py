"""Write a profile as a job for fio, and what a machine's disks did as a profile. No Django.

fio repeats one kind of thread on files that it made before: it plays shares of reads and writes, random and
sequential, sizes of requests, flushes, threads, pauses and files, and leaves out metadata operations.
Source: docs/models/profiles.md, section "A profile as a fio job".
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from experiments.laboratory.reach.counters import Counts, total

from .profiles import RANDOM_EXTENT, Accesses, Profile, Requests

FSYNC, FDATASYNC = "fsync", "fdatasync"
ALIGNED = 4096  # bytes that requests are a multiple of: what every disk takes past the memory
FILES_BYTES = 2**30  # of all files together, where a profile says nothing of them
MOST_THREADS = 1000
_RUN = 16  # requests that a file holds at least, or a share of them would be lost at its end
_FIRST_THAT_FLUSHES_AFTER_WRITES_ONLY = (3, 38)  # https://github.com/axboe/fio/commit/704a8cfe


class NotPlayedError(ValueError):
    """The profile has no load that fio could play; the text says why."""


@dataclass(frozen=True)
class FioJob:
    """A job for fio.

    working_set_bytes : of all files that it makes
    left_open : sentences that say what was assumed, and what of the profile the job leaves out
    """

    text: str
    working_set_bytes: int
    left_open: tuple[str, ...]


def profile_to_fio(
    profile: Profile, *, folder: str, seconds: int, name: str = "load", flush: str = FSYNC, version: str = ""
) -> FioJob:
    """Return the job that plays the profile in a folder for so many seconds. Raises NotPlayedError.

    flush : FSYNC or FDATASYNC, what a flush of the profile is
    version : of the fio that will run it, as it says it: "3.33"; "": a new one
    """
    left_open: list[str] = []
    asked = profile.requests or _one_each(profile)
    if not asked.reads + asked.writes:
        raise NotPlayedError("It neither reads nor writes, so there is nothing for fio to play.")
    threads = profile.concurrency or 1
    if threads > MOST_THREADS:
        raise NotPlayedError(f"It has {threads:,} threads; fio is given at most {MOST_THREADS:,}.")
    if profile.concurrency is None:
        left_open.append("One thread, as it is not known how many are at work.")
    if not profile.mean_io_bytes:
        left_open.append(f"Requests of {ALIGNED // 1024} KiB, as their size is not known.")
    if profile.metadata_share:
        left_open.append(f"Metadata operations, {profile.metadata_share:.0%} of the load, are left out.")

    reads = round(100 * asked.reads / (asked.reads + asked.writes))
    sizes = [_request_bytes(profile, asked, "read"), _request_bytes(profile, asked, "write")]
    if reads in (0, 100):  # one direction has no requests, and the size of the other
        sizes = [sizes[0 if reads else 1]] * 2
    jumps = [_jumps(profile, direction, size) for direction, size in zip(("read", "write"), sizes, strict=True)]
    if reads in (0, 100):
        jumps = [jumps[0 if reads else 1]] * 2
    largest = max(-(-size // ALIGNED) * ALIGNED for size in map(int, sizes)) or ALIGNED
    files, file_bytes = _files(profile, threads, largest)
    if profile.mean_file_bytes is None and profile.working_set_bytes is None:
        left_open.append(f"Files of {FILES_BYTES // 2**20:,} MiB in all, as the size of the set is not known.")
    if min(jumps) < 100 and not _holds_runs(file_bytes, sizes):
        left_open.append("Every request jumps, as a file holds too few of them for sequences.")
        jumps = [100, 100]
    stays = f":{file_bytes // largest}" if min(jumps) < 100 else ""
    kind = {0: "write", 100: "read"}.get(reads, "rw")
    lines = [
        f"[{name}]",
        f"directory={folder}",
        "ioengine=psync",
        f"rw=rand{kind}" if max(jumps) else f"rw={kind}",
        *([f"rwmixread={reads}"] if kind == "rw" else []),
        *([f"percentage_random={jumps[0]},{jumps[1]}"] if max(jumps) and min(jumps) < 100 else []),
        _sizes(sizes),
        f"numjobs={threads}",
        f"nrfiles={files}",
        f"filesize={file_bytes}",
        "openfiles=100",
        f"file_service_type=random{stays}",
        "norandommap=1",  # with it a request may be cut where it meets one that was made before
        "fallocate=none",
        "overwrite=1",  # or a job without reads would allocate what it writes
        "time_based=1",
        f"runtime={seconds}",
        "group_reporting=1",
        *_flushes(profile, asked, flush, version, is_mixed=kind == "rw"),
        *([f"thinktime={round(1e6 * profile.think_seconds)}"] if profile.think_seconds >= 1e-6 else []),
    ]
    return FioJob("\n".join(lines) + "\n", threads * files * file_bytes, tuple(left_open))


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


def _one_each(profile: Profile) -> Requests:
    """Return the requests of a profile that does not say them: each operation is one."""
    operations = profile.operations
    writes = operations.random_write + operations.sequential_write
    return Requests(operations.reads, writes, profile.flush_share)


def _request_bytes(profile: Profile, asked: Requests, direction: str) -> float:
    """Return the mean size of a read or a write, at least ALIGNED."""
    share = asked.reads if direction == "read" else asked.writes
    if not profile.mean_io_bytes or not share:
        return ALIGNED
    moved = sum(_moved(profile, direction)) * profile.mean_io_bytes * (asked.reads + asked.writes)
    return max(ALIGNED, moved / share)


def _jumps(profile: Profile, direction: str, size: float) -> int:
    """Return the percentage of requests of this size that jump: of each jump RANDOM_EXTENT are random bytes."""
    random, sequential = _moved(profile, direction)
    if not random + sequential:
        return 100
    return min(100, round(100 * random / (random + sequential) * max(1.0, size / RANDOM_EXTENT)))


def _moved(profile: Profile, direction: str) -> tuple[float, float]:
    """Return the shares of all bytes that are moved at random and in sequence."""
    moved = profile.bytes
    if direction == "read":
        return moved.random_read, moved.sequential_read
    return moved.random_write, moved.sequential_write


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


def _files(profile: Profile, threads: int, largest: int) -> tuple[int, int]:
    """Return the files of each thread and the bytes of each, a multiple of the largest request."""
    files = max(1, (profile.files or 0) // threads)
    whole = profile.working_set_bytes
    if whole and (profile.files or not profile.mean_file_bytes):
        mean = whole / (profile.files or threads)
    else:
        mean = profile.mean_file_bytes if profile.mean_file_bytes is not None else FILES_BYTES / (threads * files)
    return files, max(1, round(mean / largest)) * largest


def _holds_runs(file_bytes: int, sizes: list[float]) -> bool:
    """Tell whether requests may follow one another in a file: fio skips one that meets the end, of either size."""
    return file_bytes >= _RUN * max(sizes) or all(file_bytes % _nearest(size) == 0 for size in sizes)


def _flushes(profile: Profile, asked: Requests, flush: str, version: str, *, is_mixed: bool) -> Iterator[str]:
    """Yield the option that flushes as often as the profile does.

    Where each write is flushed and reads are between them, O_SYNC does it: fio would flush another file than it wrote.
    """
    writes_a_flush = asked.writes / asked.flushes if asked.flushes else 0.0
    if not asked.writes:
        return
    if flush == FSYNC and (round(writes_a_flush) == 1 if writes_a_flush else profile.sync_share >= 0.5):
        yield "sync=1"
    elif writes_a_flush:
        after_reads = is_mixed and _flushes_after_reads(version)
        of = asked.reads + asked.writes if after_reads else asked.writes
        yield f"{flush}={max(1, round(of / asked.flushes))}"


def _flushes_after_reads(version: str) -> bool:
    """Tell whether this fio, once a flush is due, flushes after each read, too, until the next write."""
    match = re.match(r"(?:fio-)?([0-9]{1,4})\.([0-9]{1,4})", version)
    return match is not None and (int(match[1]), int(match[2])) < _FIRST_THAT_FLUSHES_AFTER_WRITES_ONLY
