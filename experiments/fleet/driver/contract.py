"""The contract of drivers, which list a host's machines, read counters of their disks, and move disks of running ones.

A driver uses one connection to its host. Every call of a move may be repeated, and may be the first after a worker died
at any point: it depends on the state of the host, not on earlier calls. Everything that a move makes has its token in
the name, or in a journal on the host, so that no other image is mistaken for it. Where a host switches by itself after
a copy, the copy is ready after the switch. tests/experiments/fleet/driver/conformance.py tests each driver;
docs/placement.md explains moves.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from experiments.laboratory.transport.counters import Counts

# Listing


@dataclass(frozen=True)
class ListedPool:
    """A place where images lie or could lie. Sizes in bytes; host_fs is empty for volumes."""

    path: str  # of Proxmox VE's storages: the name, which begins with no slash
    name: str  # of the hypervisor's pool; empty: it has none there
    backend: str  # slug of host storage
    host_fs: str
    storage_kind: str  # hdd, ssd, nvme, mixed; empty: not known
    size_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class ListedDisk:
    """A writable disk of a machine. pool: the path of one of the listing's; empty: none of them.

    Of a machine that does not run a disk is left out where its size is not known.
    """

    target: str
    path: str
    pool: str
    image_format: str
    allocation: str  # sparse; empty: not known
    cache_mode: str  # empty: the hypervisor's default
    has_backing_chain: bool
    size_bytes: int
    allocated_bytes: int


@dataclass(frozen=True)
class ListedMachine:
    """A virtual machine. has_agent: its guest agent is connected, or set up, and may tell its file systems.

    number : by which Proxmox VE's commands name it; 0: its host names it by its UUID
    process : that it runs as, where the host's counters tell no UUID
    """

    uuid: str
    name: str
    is_running: bool
    has_agent: bool
    disks: tuple[ListedDisk, ...]
    number: int = 0
    process: str = ""

    @property
    def runs_as(self) -> str:
        """Return its key in read_counters, which no later machine of the same name has."""
        return self.process or self.uuid


@dataclass(frozen=True)
class Listing:
    pools: tuple[ListedPool, ...]
    machines: tuple[ListedMachine, ...]


class ListingDriver(Protocol):
    """Lists the machines of a host and reads the counters of their disks; changes nothing.

    Methods raise Refused where the host's answer is wrong, and the errors of its connection (ssh.SshError).
    shortest_seconds : least time between two looks, s, where a look costs the host much
    """

    shortest_seconds: float

    def list_all(self) -> Listing:
        """Return all pools and machines except those that a campaign made; called every few minutes."""

    def read_counters(self) -> dict[str, dict[str, Counts]]:
        """Return the counters of each disk since its machine started, by runs_as and target; called every few seconds.

        One command reads all machines. A disk without counters is left out, not zero.
        """

    def guest_file_systems(self, machine: ListedMachine) -> list[str]:
        """Return the kinds of file systems that a guest agent reports, without those that only serve booting."""


# Moving


class Image(StrEnum):
    """The image that a machine runs from, or would start from where it is stopped."""

    OLD = "old"
    NEW = "new"
    NOT_KNOWN = ""


class MoveError(Exception):
    """A step could not be done; the message may be shown to users."""


class Forbidden(MoveError):  # noqa: N818
    """The step is not safe here, and was not started."""


class CopyEnded(MoveError):  # noqa: N818
    """The copy ended incomplete: no space was left, the machine stopped, or somebody cancelled it."""


class NotSure(MoveError):  # noqa: N818
    """The host does not say enough for the step to be safe, or not now. Another try may succeed."""


class ImageInUse(NotSure):
    """The machine still has an image open that it no longer uses; everything else is done.

    This happens where the hypervisor's manager died between two steps. The image can be removed after the machine was
    stopped.
    """


class MachineGone(MoveError):  # noqa: N818
    """The host has no such machine any more. Nothing is done, and nothing is removed."""


@dataclass(frozen=True)
class Move:
    """One move of a disk.

    token : unique, part of the names of everything it makes; machine : UUID; disk : target in the machine's definition
    old, new : paths of images, or volumes of Proxmox VE; where the host names the new one, its storage ("local-zfs:")
    reserve_bytes : to stay free where the new image lies; copy_rate : limit, bytes/s; 0: no limit
    """

    token: str
    machine: str
    disk: str
    old: str
    new: str
    reserve_bytes: int = 0
    copy_rate: int = 0


@dataclass(frozen=True)
class Checked:
    """The image that is copied. size_bytes : as the machine sees it; warnings : what will differ, a sentence each."""

    size_bytes: int
    image_format: str
    is_sparse: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Copying:
    """The progress of a copy, in bytes.

    is_ready : whether the new image mirrors every write, so that it may be switched to, or the host has switched itself
    """

    done: int
    total: int
    is_ready: bool


class MovingDriver(Protocol):
    """Moves disks. Methods raise MoveError and its subclasses, and the errors of the connection (ssh.SshError)."""

    def check(self, move: Move) -> Checked:
        """Return what would be copied; nothing is changed. Raises Forbidden with the first reason against the move."""

    def copy(self, move: Move) -> Copying:
        """Start the copy, or follow the running one; an incomplete one that ended is started again.

        Raises Forbidden, CopyEnded.
        """

    def progress(self, move: Move) -> Copying:
        """Return how far the copy is. Raises CopyEnded where it no longer runs."""

    def switch(self, move: Move) -> None:
        """Make the machine run from the new image, now and after every restart. Returns when both are true.

        Until then it runs from the old one, and no write that was acknowledged is in one image only.
        Raises Forbidden, CopyEnded, NotSure.
        """

    def running_image(self, move: Move) -> Image:
        """Return the image from which the machine runs, or would start."""

    def locate_new(self, move: Move) -> Move:
        """Return a move that has switched with the name that the host gave its new image. Raises NotSure."""

    def kept_name(self, move: Move) -> str:
        """Return the name of the old image once the machine runs from the new one and it is kept."""

    def undo(self, move: Move) -> None:
        """Take back a move: the copy ends and is removed. Raises Forbidden where it has switched, ImageInUse."""

    def keep(self, move: Move) -> None:
        """Give the old image its kept name. Raises Forbidden where a definition still has it, ImageInUse."""

    def remove(self, move: Move) -> None:
        """Remove the kept image. Raises Forbidden where it is not surely that, or a definition has it, ImageInUse."""
