"""Whether the disk of a place did what a run asked for, or memory did it in its stead."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

MEMORY = "memory answered, not the disk"  # begins what is said of it
# File systems without a device of their own of which the kernel says, process by process, what went past the memory. Of
# ZFS it counts what its cache (ARC) answered as read, too: that cache's own counts tell.
_COUNTED = ("tmpfs", "ramfs", "overlay", "btrfs", "nfs", "nfs4")
_ARC = "/proc/spl/kstat/zfs/arcstats"  # blocks of all pools
_MOST_RECORD = 2**20  # bytes that a block of ZFS mostly has at most; reads past the cache are in no count
_LEAST_BYTES = 2**24  # asked for, of which a share is told
_REACHED = 0.5  # of these at least, where the disk answers
_LEAST_SECONDS, _MEMORY_SPEED = 1e-5, 2e10  # of an operation that leaves the machine; bytes a second


class Counts(NamedTuple):
    """Bytes since some time: programs that have ended asked to read and write them, and these left the memory.

    arc_asked, arc_missed : blocks that the cache of ZFS was asked for, and that it had not; 0: it is not there
    """

    read: int
    written: int
    device_read: int
    device_written: int
    arc_asked: int = 0
    arc_missed: int = 0


def counts(folder: str) -> Counts:
    """Return the counts up to now, of the folder's device, else of all programs that this one ran."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:  # a kernel that does not count
        return Counts(0, 0, 0, 0)
    arc = _arc()
    own = {name: int(value) for name, value in (line.split(": ") for line in lines)}
    if device := _device(folder):
        fields = Path(device, "stat").read_text(encoding="ascii").split()
        return Counts(own["rchar"], own["wchar"], 512 * int(fields[2]), 512 * int(fields[6]), *arc)
    return Counts(own["rchar"], own["wchar"], own["read_bytes"], own["write_bytes"], *arc)


def _arc() -> tuple[int, int]:
    try:
        rows = [line.split() for line in Path(_ARC).read_text(encoding="ascii").splitlines()]
    except OSError:  # no ZFS, or not of this user
        return 0, 0
    of = {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[2].isdecimal()}
    asked = (f"demand_data_{answer}" for answer in ("hits", "iohits", "misses"))
    missed = ("demand_data_misses", "prefetch_data_misses")  # what was read ahead is a hit when it is asked for
    return sum(of.get(name, 0) for name in asked), sum(of.get(name, 0) for name in missed)


def _device(path: str) -> str:
    """Return what sysfs has of the device that holds a path, below all loop devices; "": it is not on one alone."""
    number = os.stat(path).st_dev
    while os.major(number):
        device = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
        try:
            number = os.stat(Path(device, "loop/backing_file").read_text(encoding="utf-8").strip()).st_dev
        except OSError:
            return device if os.access(f"{device}/stat", os.R_OK) else ""
    return ""


def why_memory(before: Counts, after: Counts, fs: str, load: Mapping[str, int], rate: float, *, reads: bool) -> str:
    """Say that memory answered; "" where a disk may have.

    rate : operations a second of the run between the counts; reads : that they pass the memory, too
    """
    read, written, device_read, device_written, asked, missed = (
        late - early for early, late in zip(before, after, strict=True)
    )
    is_counted = fs in _COUNTED or device_read + device_written > 0
    if fs == "zfs":  # what is written leaves the memory within seconds
        is_counted = asked * _MOST_RECORD >= read > 0
        device_read, device_written = read * missed // asked if is_counted else 0, written
    if not is_counted:
        size = max(load["read_bytes"], load["write_bytes"])
        took = min(load["threads"], os.cpu_count() or 1) / rate
        is_memory = took < _LEAST_SECONDS + size / _MEMORY_SPEED
        return f"{MEMORY}: an operation took {took * 1e6:.1f} µs" if is_memory else ""
    for word, wanted, reached in (("read", read * reads, device_read), ("written", written, device_written)):
        if wanted > max(_LEAST_BYTES, (read * reads + written) / 10) and reached < _REACHED * wanted:
            return f"{MEMORY}, which saw {reached / wanted:.0%} of the bytes {word}"
    return ""
