"""A scratch disk, known by what does not turn to another disk as its name may: its number, size and sequence."""

import array
import contextlib
import fcntl
import json
import os
import stat
import subprocess
import time
from collections.abc import Iterator, Sequence

from .errors import KdbError

_BLKROGET, _BLKFLSBUF = 0x125E, 0x1261  # of linux/fs.h: is it read-only; write and forget what memory has of it
LABEL = "kdb-measure"  # of the file systems that are made here
_ENDS = 2**20  # bytes at each end, where file systems write their signatures
_SAMPLES, _SAMPLE = 100, 2**16  # places between, and bytes of each
_TRIES = 50  # of a tenth of a second each, for processes that were killed to let go


class Disk:
    """A disk that stays open, so that its number is given to no other one; `handle` is a path to it and no other.

    node : the device that the name led to when it was opened; record : what `blank` finds it by, also after a kill;
    size : bytes
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._held = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise KdbError(f"{path} cannot be looked at: {error.strerror}.") from None
        try:
            if not stat.S_ISBLK(os.fstat(self._held).st_mode):
                raise KdbError(f"{path} is no disk. A folder is named with --place.")
            self.node = os.readlink(f"/proc/self/fd/{self._held}")
            self.identity = _identity(self._held)
            self.size = os.lseek(self._held, 0, os.SEEK_END)
            read_only = array.array("i", [0])
            fcntl.ioctl(self._held, _BLKROGET, read_only)
            if read_only[0]:
                raise KdbError(f"{path} is read-only: no file system can be made on it.")
        except BaseException:
            self.close()
            raise
        self.handle = f"/proc/{os.getpid()}/fd/{self._held}"
        self.record = f"{self.identity} {self.node}"

    def close(self) -> None:
        os.close(self._held)

    def check(self) -> None:
        """Raise KdbError unless nobody uses the disk and it holds nothing."""
        path = self.path
        try:
            (device,) = json.loads(
                output_of(["lsblk", "--json", "--paths", "-o", "PATH,MOUNTPOINTS,FSTYPE,PTTYPE", self.node])
            )["blockdevices"]
        except ValueError as error:
            raise KdbError(f"{path} cannot be looked at: {error}") from None
        if device.get("children"):
            parts = ", ".join(child["path"] for child in device["children"])
            raise KdbError(f"{path} has parts ({parts}): it is in use.")
        if any(device["mountpoints"]):
            raise KdbError(f"{path} is mounted at {', '.join(filter(None, device['mountpoints']))}.")
        empty = f"only an empty disk is measured. If nothing on it is needed: wipefs -a {path} && blkdiscard -z {path}"
        if kind := device["fstype"] or device["pttype"] or " ".join(_signatures(self.node)[:1]):
            raise KdbError(f"{path} carries {kind}: {empty}")
        with _opened(self.handle) as handle:
            if any(any(os.pread(handle, length, place)) for place, length in _samples(handle)):
                raise KdbError(f"{path} holds data without a signature: {empty}")


def blank(record: str) -> str:
    """Take a file system off the disk of this record: both ends, and all that is looked at to call a disk empty.

    Say so where the disk is gone, another one has its name, or somebody made something else on it, which is left alone.
    Raises KdbError where it is in use.
    """
    identity, _, node = record.partition(" ")
    for tries_left in reversed(range(_TRIES)):
        if not os.path.exists(node):
            return f"{node} is gone"
        if (found := _signatures(node)) and LABEL not in found:
            return f"{node} carries {found[0]} that this did not make: it is left as it is"
        try:
            with _opened(node) as handle:
                if _identity(handle) != identity:
                    return f"{node} is another disk than it was, or the machine was started again: it is left as it is"
                for place, length in _samples(handle):
                    os.pwrite(handle, bytes(length), place)
                os.fsync(handle)
            return ""
        except KdbError:
            if not tries_left:
                raise
            time.sleep(0.1)
    return ""


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    """Open a disk to be written, if nobody else does. Raises KdbError."""
    try:
        # The kernel refuses an exclusive opening of what is mounted, swap, or part of an array or a volume group.
        handle = os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise KdbError(f"{path} is in use or cannot be written: {error.strerror}.") from None
    try:
        with contextlib.suppress(OSError):  # which a disk may not know
            fcntl.ioctl(handle, _BLKFLSBUF, 0)
        yield handle
    except OSError as error:
        raise KdbError(f"{path} cannot be read or written: {error.strerror}.") from None
    finally:
        os.close(handle)


def _identity(handle: int) -> str:
    """Return the number and size of an open disk, and the kernel's sequence, which a disk that comes later has not."""
    number = os.fstat(handle).st_rdev
    name = f"{os.major(number)}:{os.minor(number)}"
    sequence = ""
    for folder in (name, f"{name}/.."):  # that of a partition is its disk's
        with contextlib.suppress(OSError), open(f"/sys/dev/block/{folder}/diskseq", encoding="ascii") as file:
            sequence = sequence or file.read().strip()
    return f"{name}/{os.lseek(handle, 0, os.SEEK_END)}/{sequence}"


def _signatures(node: str) -> list[str]:
    """Return the kind of each signature on a disk, and its label if it has one."""
    return output_of(["wipefs", "--no-act", "--noheadings", "--output", "TYPE,LABEL", node]).split()


def _samples(handle: int) -> list[tuple[int, int]]:
    """Return offset and length of what is looked at: both ends, and places spread over all between."""
    size = os.lseek(handle, 0, os.SEEK_END)
    apart = size / (_SAMPLES + 1)
    between = ((int(apart * number) // 4096 * 4096, _SAMPLE) for number in range(1, _SAMPLES + 1))
    return [(at, min(length, size - at)) for at, length in [(0, _ENDS), (max(0, size - _ENDS), _ENDS), *between]]


def output_of(command: Sequence[str]) -> str:
    """Return what a command prints. Raises KdbError."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise KdbError(f"{command[0]} is not installed.") from None
    if done.returncode:
        raise KdbError(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[:500]}")
    return done.stdout
