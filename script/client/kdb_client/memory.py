"""Whether the disk of a place did what a run asked for, or memory did it in its stead."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

MEMORY = "memory answered, not the disk"  # begins what is said of it
# File systems without a device of their own of which the kernel says, process by process, what went past the memory.
_COUNTED = ("tmpfs", "ramfs", "overlay", "btrfs", "zfs", "nfs", "nfs4")
_LEAST_BYTES = 2**24  # asked for, of which a share is told
_REACHED = 0.5  # of these at least, where the disk answers
_LEAST_SECONDS, _MEMORY_SPEED = 1e-5, 2e10  # of an operation that leaves the machine; bytes a second


class Counts(NamedTuple):
    """Bytes since some time: programs that have ended asked to read and write them, and these left the memory."""

    read: int
    written: int
    device_read: int
    device_written: int


def counts(folder: str) -> Counts:
    """Return the counts up to now, of the folder's device, else of all programs that this one ran."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:  # a kernel that does not count
        return Counts(0, 0, 0, 0)
    own = {name: int(value) for name, value in (line.split(": ") for line in lines)}
    if device := _device(folder):
        fields = Path(device, "stat").read_text(encoding="ascii").split()
        return Counts(own["rchar"], own["wchar"], 512 * int(fields[2]), 512 * int(fields[6]))
    return Counts(own["rchar"], own["wchar"], own["read_bytes"], own["write_bytes"])


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
    read, written, device_read, device_written = (late - early for early, late in zip(before, after, strict=True))
    if not device_read + device_written and fs not in _COUNTED:  # nobody counts
        size = max(load["read_bytes"], load["write_bytes"])
        took = min(load["threads"], os.cpu_count() or 1) / rate
        is_memory = took < _LEAST_SECONDS + size / _MEMORY_SPEED
        return f"{MEMORY}: an operation took {took * 1e6:.1f} µs" if is_memory else ""
    for word, asked, reached in (("read", read * reads, device_read), ("written", written, device_written)):
        if asked > max(_LEAST_BYTES, (read * reads + written) / 10) and reached < _REACHED * asked:
            return f"{MEMORY}, which saw {reached / asked:.0%} of the bytes {word}"
    return ""
