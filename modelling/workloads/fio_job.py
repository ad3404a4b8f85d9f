"""Compute what a fio job file does to a file system from its options. No Django. It opens and executes nothing.

Jobs go round equally often, each as many times as numjobs says. Units are binary, as fio has them (kb_base=1024). The
notes name every option that is not read.
Source: docs/models/profiles.md, section "A fio job file"; https://fio.readthedocs.io/en/latest/fio_doc.html.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .profiles import RANDOM_EXTENT, Accesses, Profile, Requests
from .wml.tree import Place, WmlError

MOST_JOBS = 1_000
MOST = 2**60  # of any number
_SECTION = re.compile(r"\[([^\[\]]{1,200})\]")
_SIZE = re.compile(r"([0-9]{1,18})([kmgtp]?)(?:i?b)?", re.ASCII)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_ALIASES = {"readwrite": "rw", "blocksize": "bs"}
_SHARE_OF_READS = {"read": 1.0, "write": 0.0, "rw": None, "readwrite": None}  # None: rwmixread says it
_SYNCHRONOUS = ("1", "sync", "dsync")
_READ = {
    *("rw", "bs", "rwmixread", "rwmixwrite", "percentage_random", "numjobs", "fsync", "fdatasync", "sync"),
    *("size", "filesize", "nrfiles", "thinktime"),
}
_TIME = re.compile(r"([0-9]{1,15}) ?(us|ms|s|)", re.ASCII)
_SECONDS = {"": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_KINDS = ("random_read", "sequential_read", "random_write", "sequential_write")
_REFUSED = {
    "bssplit": "sizes of several shares are not read here; give one bs",
    "bsrange": "a range of sizes is not read here; give one bs",
    "include": "other files are not read here; put their options into this one",
}

Options = Mapping[str, tuple[int, str]]  # option to its line and value


@dataclass(frozen=True, slots=True)
class _Load:
    """The load of one job for each of its operations. Sizes in bytes."""

    copies: int
    reads: float
    random: tuple[float, float]  # share of the reads and of the writes that jump
    sizes: tuple[int, int]  # of a read, of a write
    flushes: float  # for each write
    synchronous: float  # share of the writes
    file_bytes: int | None
    files: int
    think_seconds: float  # for each operation


def is_fio_job(text: str) -> bool:
    """Tell whether the first line that says anything is the head of a section."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and line[0] not in "#;"), "").startswith("[")


def fio_profile(text: str) -> Profile:
    """Return the profile of a job file. Raises WmlError, with line and reason, where it is not understood."""
    jobs, others = _jobs(text)
    if not jobs:
        raise WmlError(Place(1, 1), "a job file has at least one job, a section beside [global]")
    loads = [_load(options) for options in jobs]
    operations, moved = dict.fromkeys(_KINDS, 0.0), dict.fromkeys(_KINDS, 0.0)
    flushes = written = synchronous = 0.0
    for load in loads:
        shares = (load.reads, 1 - load.reads)
        for direction, share, size, random in zip(("read", "write"), shares, load.sizes, load.random, strict=True):
            times = share * load.copies
            operations[f"random_{direction}"] += times * random
            operations[f"sequential_{direction}"] += times * (1 - random)
            jump = min(size, RANDOM_EXTENT) * random
            moved[f"random_{direction}"] += times * jump
            moved[f"sequential_{direction}"] += times * (size - jump)
        writes = (1 - load.reads) * load.copies
        written += writes
        flushes += writes * load.flushes
        synchronous += writes * load.synchronous
    requests = sum(operations.values())
    total, all_bytes = requests + flushes, sum(moved.values())
    sized = [load for load in loads if load.file_bytes is not None]
    files = sum(load.files * load.copies for load in loads)
    whole = sum((load.file_bytes or 0) * load.copies for load in sized) if len(sized) == len(loads) else None
    return Profile(
        operations=Accesses(**{kind: times / total for kind, times in operations.items()}),
        bytes=Accesses(**{kind: size / all_bytes for kind, size in moved.items()}),
        flush_share=flushes / total,
        sync_share=synchronous / written if written else 0.0,
        concurrency=sum(load.copies for load in loads),
        files=files,
        mean_file_bytes=None if whole is None else whole / files,
        working_set_bytes=whole,
        mean_io_bytes=all_bytes / requests,
        requests=Requests((requests - written) / total, written / total, flushes / total),
        think_seconds=sum(load.copies * load.think_seconds for load in loads) / requests,
        notes=tuple(_notes(others, whole is None)),
    )


def _jobs(text: str) -> tuple[list[Options], list[str]]:
    """Return the options that are read of each job, [global] before it included, and the names of all others."""
    jobs: list[Options] = []
    others: set[str] = set()
    shared: dict[str, tuple[int, str]] = {}
    job: dict[str, tuple[int, str]] | None = None
    is_global = False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("["):
            section = _SECTION.fullmatch(line)
            if section is None:
                raise WmlError(Place(number, 1), "the head of a section is a name in brackets: [mail]")
            is_global = section[1].strip().lower() == "global"
            job = None if is_global else dict(shared)
            if job is not None:
                jobs.append(job)
            if len(jobs) > MOST_JOBS:
                raise WmlError(Place(number, 1), f"more than {MOST_JOBS} jobs are not read")
            continue
        name, _, value = (part.strip() for part in line.partition("="))
        name = _ALIASES.get(name.lower(), name.lower())
        if job is None and not is_global:
            raise WmlError(Place(number, 1), "an option stands below the head of a section: [global] or a job's name")
        if name in _READ or name in _REFUSED:
            (shared if job is None else job)[name] = number, value.lower()
        else:
            others.add(name)
    return jobs, sorted(others)


def _load(options: Options) -> _Load:
    for name, reason in _REFUSED.items():
        if name in options:
            raise WmlError(Place(options[name][0], 1), reason)
    line, access = options.get("rw", (1, "read"))
    access = access.partition(":")[0]
    is_random = access.startswith("rand")
    direction = access.removeprefix("rand")
    if direction not in _SHARE_OF_READS:
        allowed = ", ".join([*_SHARE_OF_READS, "randread", "randwrite", "randrw"])
        raise WmlError(Place(line, 1), f"rw={access[:40]}: allowed are {allowed}")
    reads = _SHARE_OF_READS[direction]
    if reads is None:
        mixed = "rwmixread" if "rwmixread" in options or "rwmixwrite" not in options else "rwmixwrite"
        share = _number(options, mixed, 50, most=100) / 100
        reads = share if mixed == "rwmixread" else 1 - share
    every = [number for name in ("fsync", "fdatasync") if (number := _number(options, name, 0))]
    flushes = sum(1 / number for number in every)
    files = _number(options, "nrfiles", 1, least=1)
    file_size = _size(options, "filesize", options.get("filesize", (1, ""))[1]) if "filesize" in options else None
    size = _size(options, "size", options["size"][1]) if "size" in options else None
    return _Load(
        copies=_number(options, "numjobs", 1, least=1, most=10**6),
        reads=reads,
        random=_random(options) if is_random else (0.0, 0.0),
        sizes=_sizes(options),
        flushes=flushes,
        synchronous=1.0 if options.get("sync", (1, "0"))[1] in _SYNCHRONOUS else min(1.0, flushes),
        file_bytes=file_size * files if file_size is not None else size,
        files=files,
        think_seconds=_think_seconds(options),
    )


def _random(options: Options) -> tuple[float, float]:
    """Return the share of the reads and of the writes of a random job that jump."""
    line, text = options.get("percentage_random", (1, "100"))
    name, parts = "percentage_random", [part.strip() for part in text.split(",")]
    reads, writes = (_number({name: (line, part)}, name, 100, most=100) / 100 for part in (parts * 2)[:2])
    return reads, writes


def _think_seconds(options: Options) -> float:
    line, text = options.get("thinktime", (1, "0"))
    match = _TIME.fullmatch(text)
    if match is None:
        raise WmlError(Place(line, 1), f"thinktime={text[:40]}: give microseconds, or a number with us, ms or s")
    return int(match[1]) * _SECONDS[match[2]]


def _sizes(options: Options) -> tuple[int, int]:
    """Return the bytes of a read and of a write."""
    sizes = [part.strip() for part in options.get("bs", (1, "4k"))[1].split(",")]
    reads = _size(options, "bs", sizes[0] or "4k")
    writes = _size(options, "bs", sizes[1] or "4k") if len(sizes) > 1 else reads
    if not reads or not writes:
        raise WmlError(Place(options["bs"][0], 1), "bs=0: an operation moves at least one byte")
    return reads, writes


def _size(options: Options, name: str, text: str) -> int:
    match = _SIZE.fullmatch(text)
    size = int(match[1]) * _UNITS[match[2]] if match else MOST + 1
    if size > MOST:
        line = options.get(name, (1, ""))[0]
        raise WmlError(Place(line, 1), f"{name}={text[:40]}: give bytes, or a number with k, m, g or t")
    return size


def _number(options: Options, name: str, default: int, *, least: int = 0, most: int = 10**12) -> int:
    line, text = options.get(name, (1, str(default)))
    number = int(text) if re.fullmatch(r"[0-9]{1,13}", text, re.ASCII) else -1
    if not least <= number <= most:
        raise WmlError(Place(line, 1), f"{name}={text[:40]}: give a whole number from {least} to {most}")
    return number


def _notes(others: list[str], is_unsized: bool) -> Iterator[str]:
    yield "A fio job opens its files once: metadata operations are taken to be none."
    if is_unsized:
        yield "Not every job says its size: how much is worked on is not known."
    if others:
        yield f"Not read: {', '.join(name[:40] for name in others[:20])}{', ...' if len(others) > 20 else ''}."
