"""The contract of drivers: they list what runs on a host, count what its disks do, and move one from an image to
another while its machine runs. A driver works over one connection to its host.

Every call of a move may be repeated, and may be the first after a worker died at any point:
what a call does follows from what it finds on the host, never from what an earlier call remembers. What a move makes
has the move's token in its name, or is told by a journal of that token on the host, so nobody else's image is ever
taken for its own. A host may switch by itself once a copy is whole: then the copy is ready when it has. The tests of
tests/experiments/fleet/driver/conformance.py hold any of them to this; docs/placement.md tells it in words.
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
    backend: str  # of kdb.host_storage.BACKENDS
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
        """Return its name in `counts`, which no machine has that takes its place under its name."""
        return self.process or self.uuid


@dataclass(frozen=True)
class Listing:
    pools: tuple[ListedPool, ...]
    machines: tuple[ListedMachine, ...]


class ListingDriver(Protocol):
    """A way to list what runs on a host and what its disks do; nothing is changed by any of it.

    Each raises Refused where the host does not answer as it should, and what the way to the host raises (ssh.SshError).
    shortest_seconds : least time between two looks, s, where each costs the host much
    """

    shortest_seconds: float

    def list_all(self) -> Listing:
        """Return all pools and machines except those that a campaign made; called every few minutes."""

    def read_counters(self) -> dict[str, dict[str, Counts]]:
        """Return what each disk of each running machine did since its start, by runs_as and target; every few seconds.

        One command for all machines. What is not counted is left out, and is not zero.
        """

    def guest_file_systems(self, machine: ListedMachine) -> list[str]:
        """Return the kinds of file systems in a machine as its guest agent tells, without what it only boots from."""


# Moving


class Image(StrEnum):
    """The image that a machine runs from, or would start from where it is stopped."""

    OLD = "old"
    NEW = "new"
    NOT_KNOWN = ""


class MoveError(Exception):
    """A step could not be done; the text is fit to show."""


class Forbidden(MoveError):  # noqa: N818
    """The step is not safe here, and was not begun."""


class CopyEnded(MoveError):  # noqa: N818
    """The copy ended before it was whole: no space, a machine that stopped, somebody who ended it."""


class NotSure(MoveError):  # noqa: N818
    """The host does not say enough for the step to be safe, or not now. Another try may succeed."""


class ImageInUse(NotSure):
    """All is as it should be but for an image that the machine no longer uses and still has open.

    So it is where the hypervisor's manager died between two of its own steps. The image can go once the machine was
    stopped.
    """


class MachineGone(MoveError):  # noqa: N818
    """The host has no such machine any more. Nothing is done, and nothing is removed."""


@dataclass(frozen=True)
class Move:
    """One disk on its way.

    token : of this move alone, in the name of what it makes; machine : UUID; disk : as its definition names it
    old, new : paths of the images on the host, or volumes of Proxmox VE; of a new one whose name the host gives, its
    storage ("local-zfs:"); reserve_bytes : that stay free where the new one lies
    copy_rate : bytes a second at most; 0 is no limit
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

    is_ready : the new image follows every write, and a switch may be made; or the host has made it by itself
    """

    done: int
    total: int
    is_ready: bool


class MovingDriver(Protocol):
    """A way to move disks. Raises MoveError and its kinds, and what the way to the host raises (ssh.SshError)."""

    def check(self, move: Move) -> Checked:
        """Return what would be copied; nothing is changed. Raises Forbidden with the first reason against the move."""

    def copy(self, move: Move) -> Copying:
        """Begin the copy, or take up the one that runs; what an earlier one left half is made anew.

        Raises Forbidden, CopyEnded.
        """

    def progress(self, move: Move) -> Copying:
        """Return how far the copy is. Raises CopyEnded where it runs no longer."""

    def switch(self, move: Move) -> None:
        """Let the machine run from the new image, now and after every restart. Returns when both hold.

        Until then it runs from the old one, and no write that was acknowledged is in one image only.
        Raises Forbidden, CopyEnded, NotSure.
        """

    def running_image(self, move: Move) -> Image:
        """Return from which image the machine runs, or would start."""

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
