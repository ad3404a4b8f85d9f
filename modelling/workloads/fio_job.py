"""Compute what a fio job file does to a file system from its options. No Django. It opens and executes nothing.

All jobs are taken to do equally many operations per process (numjobs). Units are binary, as in fio (kb_base=1024).
The notes name every option that is not read.
Source: docs/models/profiles.md, section "A fio job file"; https://fio.readthedocs.io/en/latest/fio_doc.html.
"""

import re
from collections.abc import Iterator

from .profiles import RANDOM_EXTENT, Accesses, Profile, Requests
from .wml import Place, WmlError

MOST_JOBS = 1_000
MOST = 2**60  # largest size accepted, bytes
_SECTION = re.compile(r"\[([^\[\]]{1,200})\]")
_SIZE = re.compile(r"([0-9]{1,18})([kmgtp]?)(?:i?b)?", re.ASCII)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_TIME = re.compile(r"([0-9]{1,15}) ?(us|ms|s|)", re.ASCII)
_SECONDS = {"": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_ALIASES = {"readwrite": "rw", "blocksize": "bs"}
_KINDS = ("random_read", "sequential_read", "random_write", "sequential_write")
_DIRECTIONS = ("read", "write", "rw", "readwrite")
_SYNCHRONOUS = ("1", "sync", "dsync")
_READ = {
    *("rw", "bs", "rwmixread", "rwmixwrite", "percentage_random", "numjobs", "fsync", "fdatasync", "sync"),
    *("size", "filesize", "nrfiles", "thinktime"),
}
_REFUSED = {
    "bssplit": "sizes of several shares are not read here; give one bs",
    "bsrange": "a range of sizes is not read here; give one bs",
    "include": "other files are not read here; put their options into this one",
}


def is_fio_job(text: str) -> bool:
    """Tell whether the first line that is neither empty nor a comment is the head of a section."""
    return next((line for _, line in _lines(text)), "").startswith("[")


def fio_profile(text: str) -> Profile:
    """Return the profile of a job file. Raises WmlError, with line and reason, where it is not understood."""
    jobs, others = _parse_jobs(text)
    if not jobs:
        raise WmlError(Place(1, 1), "a job file has at least one job, a section beside [global]")
    operations, moved = dict.fromkeys(_KINDS, 0.0), dict.fromkeys(_KINDS, 0.0)
    flushes = written = synchronous = think_seconds = 0.0
    threads = files = 0
    sizes = []
    for job in jobs:
        copies, reads, flush_rate = job.whole("numjobs", 1, least=1, most=10**6), job.read_share(), job.flush_rate()
        shares = (reads, 1 - reads)
        for direction, share, size, random in zip(
            ("read", "write"), shares, job.sizes(), job.random_shares(), strict=True
        ):
            times, jump = copies * share, min(size, RANDOM_EXTENT) * random
            operations[f"random_{direction}"] += times * random
            operations[f"sequential_{direction}"] += times * (1 - random)
            moved[f"random_{direction}"] += times * jump
            moved[f"sequential_{direction}"] += times * (size - jump)
        writes = copies * (1 - reads)
        written += writes
        flushes += writes * flush_rate
        synchronous += writes * (1.0 if job.text("sync", "0") in _SYNCHRONOUS else min(1.0, flush_rate))
        think_seconds += copies * job.think_seconds()
        threads += copies
        files += copies * job.whole("nrfiles", 1, least=1)
        sizes.append(job.file_bytes(copies))
    requests, all_bytes = sum(operations.values()), sum(moved.values())
    total = requests + flushes
    known = [size for size in sizes if size is not None]
    working_set = sum(known) if len(known) == len(sizes) else None
    return Profile(
        operations=Accesses(**{kind: times / total for kind, times in operations.items()}),
        bytes=Accesses(**{kind: size / all_bytes for kind, size in moved.items()}),
        flush_share=flushes / total,
        sync_share=synchronous / written if written else 0.0,
        concurrency=threads,
        files=files,
        mean_file_bytes=None if working_set is None else working_set / files,
        working_set_bytes=working_set,
        mean_io_bytes=all_bytes / requests,
        requests=Requests((requests - written) / total, written / total, flushes / total),
        think_seconds=think_seconds / requests,
        notes=tuple(_notes(others, is_unsized=working_set is None)),
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not empty, without comments, which begin with # or ;."""
    for number, raw in enumerate(text.splitlines(), start=1):
        if line := re.split("[#;]", raw, maxsplit=1)[0].strip():
            yield number, line


def _parse_jobs(text: str) -> tuple[list["_Job"], list[str]]:
    """Return the jobs of a job file, and the names of the options that are ignored."""
    jobs: list[_Job] = []
    others: set[str] = set()
    shared: dict[str, tuple[int, str]] = {}
    options: dict[str, tuple[int, str]] | None = None  # of the section
    for number, line in _lines(text):
        place = Place(number, 1)
        if line.startswith("["):
            section = _SECTION.fullmatch(line)
            if section is None:
                raise WmlError(place, "the head of a section is a name in brackets: [mail]")
            is_global = section[1].strip().lower() == "global"
            options = shared if is_global else dict(shared)
            if not is_global:
                jobs.append(_Job(options))
            if len(jobs) > MOST_JOBS:
                raise WmlError(place, f"more than {MOST_JOBS} jobs are not read")
            continue
        if options is None:
            raise WmlError(place, "an option stands below the head of a section: [global] or a job's name")
        name, _, value = (part.strip().lower() for part in line.partition("="))
        name = _ALIASES.get(name, name)
        if name in _REFUSED:
            raise WmlError(place, _REFUSED[name])
        if name in _READ:
            options[name] = number, value
        else:
            others.add(name)
    return jobs, sorted(others)


class _Job:
    """One job. options : name to line number and value, with those of [global] before it"""

    def __init__(self, options: dict[str, tuple[int, str]]) -> None:
        self.options = options

    def read_share(self) -> float:
        access = self.text("rw", "read").partition(":")[0]
        direction = access.removeprefix("rand")
        if direction not in _DIRECTIONS:
            allowed = ", ".join([*_DIRECTIONS, "randread", "randwrite", "randrw"])
            raise self.refuse("rw", access, f"allowed are {allowed}")
        if direction in ("read", "write"):
            return float(direction == "read")
        if "rwmixwrite" in self.options and "rwmixread" not in self.options:
            return 1 - self.whole("rwmixwrite", 50, most=100) / 100
        return self.whole("rwmixread", 50, most=100) / 100

    def random_shares(self) -> list[float]:
        """Return the shares of the reads and of the writes that are random."""
        if not self.text("rw", "read").startswith("rand"):
            return [0.0, 0.0]
        name = "percentage_random"
        return [self.parsed(name, share, 0, 100) / 100 for share in self.by_direction(name, "100")]

    def sizes(self) -> list[int]:
        """Return the bytes of a read and of a write."""
        sizes = [self.bytes("bs", size) for size in self.by_direction("bs", "4k")]
        if not all(sizes):
            raise self.refuse("bs", "0", "an operation moves at least one byte")
        return sizes

    def flush_rate(self) -> float:
        """Return the number of flushes per write."""
        return sum(1 / every for name in ("fsync", "fdatasync") if (every := self.whole(name, 0)))

    def file_bytes(self, copies: int) -> int | None:
        """Return the bytes of all files; None where the job does not state them."""
        if "filesize" in self.options:
            return copies * self.whole("nrfiles", 1, least=1) * self.bytes("filesize", self.text("filesize", ""))
        return copies * self.bytes("size", self.text("size", "")) if "size" in self.options else None

    def think_seconds(self) -> float:
        text = self.text("thinktime", "0")
        match = _TIME.fullmatch(text)
        if match is None:
            raise self.refuse("thinktime", text, "give microseconds, or a number with us, ms or s")
        return int(match[1]) * _SECONDS[match[2]]

    def text(self, name: str, default: str) -> str:
        return self.options[name][1] if name in self.options else default

    def refuse(self, name: str, value: str, reason: str) -> WmlError:
        return WmlError(Place(self.options[name][0], 1), f"{name}={value[:40]}: {reason}")

    def whole(self, name: str, default: int, *, least: int = 0, most: int = 10**12) -> int:
        return self.parsed(name, self.text(name, str(default)), least, most)

    def parsed(self, name: str, text: str, least: int, most: int) -> int:
        number = int(text) if re.fullmatch(r"[0-9]{1,13}", text, re.ASCII) else -1
        if not least <= number <= most:
            raise self.refuse(name, text, f"give a whole number from {least} to {most}")
        return number

    def bytes(self, name: str, text: str) -> int:
        match = _SIZE.fullmatch(text)
        size = int(match[1]) * _UNITS[match[2]] if match else MOST + 1
        if size > MOST:
            raise self.refuse(name, text, "give bytes, or a number with k, m, g or t")
        return size

    def by_direction(self, name: str, default: str) -> tuple[str, str]:
        """Return the values for reads and writes: both of "4k,8k", "4k" twice for "4k"."""
        reads, *writes = (part.strip() or default for part in self.text(name, default).split(","))
        return reads, writes[0] if writes else reads


def _notes(others: list[str], *, is_unsized: bool) -> Iterator[str]:
    yield "A fio job opens its files once: metadata operations are taken to be none."
    if is_unsized:
        yield "Not every job says its size: how much is worked on is not known."
    if others:
        yield f"Not read: {', '.join(name[:40] for name in others[:20])}{', ...' if len(others) > 20 else ''}."
