"""The contract of what makes a campaign's virtual machines on a host, and what all that keep it have in common.

Every guest boots the kernel of the guest image directly, with the image's root disk as its first disk: read-only, under
Xen below a writable layer. The disk under test has a serial number or a place of its own. A guest has no network but a
way in from the host, and ends, never restarts, when it panics. What is made is named in the area first, and taken away
by `begin` and `clean` of the area, whatever happened in between. tests/experiments/laboratory/conformance.py holds any
of them to this.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from experiments.laboratory.transport import remote
from experiments.laboratory.transport.remote import Area
from experiments.laboratory.transport.ssh import Address, Connection

from . import disks

SERIAL = "kdb-under-test"
READY, FAILED = "KDB-GUEST-READY", "KDB-GUEST-FAILED"
GUEST_POOL = "/srv/kdb"  # in the guest; made with the image
BOOT_SECONDS = 120
MAC = "52:54:00:6b:64:62"  # of each guest: every one has a network of its own
KERNEL_LINE = "console=ttyS0 quiet panic=-1 net.ifnames=0"


class GuestGone(Exception):  # noqa: N818 - the machine's decision
    """A virtual machine ended: its hypervisor was asked, and says so in the text."""


class GuestNotUp(Exception):  # noqa: N818
    """A virtual machine runs, and did not come up in time; the text has the last lines of its console."""


class GuestStopped(Exception):  # noqa: N818
    """A virtual machine is there and does nothing: paused, by an I/O error or by somebody."""


@dataclass(frozen=True)
class Guest:
    """One virtual machine to be. accelerator: "kvm", "qemu" for software emulation, or "xen".

    number : counts from 1; disk : as `make_disk` gave it; pinned_cpus : of the host, one a vCPU; empty: any
    """

    name: str
    number: int
    image_folder: str
    disk: str
    console: str
    ram_mib: int
    vcpus: int
    accelerator: str
    options: disks.Options = field(default_factory=disks.Options)
    pinned_cpus: tuple[int, ...] = ()


class Hypervisor(Protocol):
    """A maker of guests by programs of the host.

    Each call raises remote.Refused, remote.NotNow where the hypervisor does not answer, and what the way to the host
    raises.
    """

    def make_disk(
        self, area: Area, place: str, host_storage: str, number: int, mib: int, options: disks.Options
    ) -> str:
        """Make the disk of a machine to be, as `start` wants it.

        place : a folder of the area, or the hypervisor's name of a storage; host_storage : the file system in the
        folder, or a volume
        """

    def start(self, area: Area, guest: Guest) -> None:
        """Define and start a guest; its name is recorded first, so that a clean-up finds it."""

    def check_running(self, host: Connection, name: str) -> None:
        """Raise GuestGone, GuestStopped where the hypervisor says that the guest is anything but running."""

    def way_in(self, host: Connection, name: str) -> tuple[str, int]:
        """Return address and port by which the host reaches the guest's sshd."""


def wait_ready(
    hypervisor: Hypervisor,
    area: Area,
    guest: Guest,
    *,
    seconds: float = BOOT_SECONDS,
    keep: Callable[[], object] = lambda: None,
) -> None:
    """Wait for the guest's sign on its console. Raises GuestNotUp, and what check_running raises.

    Its sshd cannot be asked: QEMU accepts connections on the forwarded port before anybody listens.
    """
    deadline = time.monotonic() + seconds
    while True:
        keep()
        text = remote.call(area.machine, "read-file", area.pool, area.token, guest.console.rpartition("/")[2])
        if READY in text:
            return
        last = " / ".join(line.strip() for line in text.splitlines()[-3:] if line.strip())
        if FAILED in text or time.monotonic() > deadline:
            raise GuestNotUp(
                f"the virtual machine {guest.name} did not come up within {seconds:.0f} s. Console: {last or 'empty'}"
            )
        hypervisor.check_running(area.machine, guest.name)
        time.sleep(0.2)


def make_image(area: Area, place: str, host_storage: str, number: int, mib: int, options: disks.Options) -> str:
    """Make an image file in the folder of the area, or a volume; return its path. Raises Refused."""
    name = f"disk{number}"
    if host_storage in disks.VOLUMES:
        return area.call("make-volume", name, mib, host_storage, timeout=600)["path"]
    layout = (options.image_format, options.allocation, options.volume_block_bytes)
    return area.call("make-image", place, name, mib, *layout, timeout=3600)["path"]


def forwarded(usernet: str, name: str) -> tuple[str, int]:
    """Return the way in by the port of the host's loopback in QEMU's `info usernet`. Raises Refused."""
    match = re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)\s+\S+\s+22\b", usernet)
    if not match:
        raise remote.Refused(f"the virtual machine {name} has no forwarded port")
    return "127.0.0.1", int(match[1])


def connection(host: Connection, name: str, way_in: tuple[str, int], host_key: str) -> Connection:
    """Return a connection to the guest's sshd, through the host, with the key that logs in to the host."""
    key_file = host.address.key_file
    return Connection(Address(*way_in, "root", host_key, key_file, label=name), via=host)
