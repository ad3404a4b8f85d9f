"""Guests through virsh on the host: their XML, their life, and the way to their sshd.

Each guest boots the kernel of the guest image directly, with the image's root disk read-only as vda and
the disk under test as vdb, with a serial number of its own. It has no network but a forwarded port on the
host's loopback, and ends, never restarts, when it panics.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from . import remote
from .remote import Area, Refused
from .ssh import Address, Connection

SERIAL = "kdb-under-test"
TESTED = "vdb"  # the disk that the benchmark works on
URI = "qemu:///system"  # where other drivers are installed too, virsh would choose one of them by itself
READY, FAILED = "KDB-GUEST-READY", "KDB-GUEST-FAILED"
GUEST_POOL = "/srv/kdb"  # in the guest; made with the image
BOOT_SECONDS = 120
_QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
ElementTree.register_namespace("qemu", _QEMU)


class GuestGone(Exception):  # noqa: N818 - the machine's decision
    """A virtual machine ended or never came; the text says what libvirt says of it."""


class GuestStopped(Exception):  # noqa: N818
    """A virtual machine is there and does nothing: paused, by an I/O error or by somebody."""


@dataclass(frozen=True)
class Guest:
    """One virtual machine to be. accelerator: "kvm", or "qemu" for software emulation."""

    name: str
    image_folder: str
    disk: str
    console: str
    ram_mib: int
    vcpus: int
    cache_mode: str
    accelerator: str


def domain_xml(guest: Guest) -> str:
    """The domain as libvirt wants it."""
    domain = Element("domain", type=guest.accelerator)
    _text(domain, "name", guest.name)
    _text(domain, "memory", guest.ram_mib, unit="MiB")
    _text(domain, "vcpu", guest.vcpus)
    system = SubElement(domain, "os")
    _text(system, "type", "hvm", arch="x86_64", machine="pc")
    _text(system, "kernel", f"{guest.image_folder}/vmlinuz")
    _text(system, "initrd", f"{guest.image_folder}/initrd")
    _text(system, "cmdline", "console=ttyS0 quiet panic=-1 net.ifnames=0")
    SubElement(SubElement(domain, "features"), "acpi")
    if guest.accelerator == "kvm":
        SubElement(domain, "cpu", mode="host-passthrough")
    SubElement(domain, "clock", offset="utc")
    for event, action in (("on_poweroff", "destroy"), ("on_reboot", "destroy"), ("on_crash", "destroy")):
        _text(domain, event, action)
    devices = SubElement(domain, "devices")
    root = _disk(devices, f"{guest.image_folder}/root.squashfs", "vda", cache="unsafe")
    SubElement(root, "readonly")
    SubElement(root, "shareable")
    # A write that fails stops the guest: a benchmark that goes on would count it as done.
    tested = _disk(devices, guest.disk, TESTED, cache=guest.cache_mode, error_policy="stop", rerror_policy="stop")
    _text(tested, "serial", SERIAL)
    serial = SubElement(devices, "serial", type="file")
    SubElement(serial, "source", path=guest.console)
    SubElement(serial, "target", port="0")
    rng = SubElement(devices, "rng", model="virtio")
    _text(rng, "backend", "/dev/urandom", model="random")
    SubElement(devices, "panic", model="isa")
    SubElement(devices, "memballoon", model="none")
    # libvirt has no words for a forwarded port of QEMU's user network. Port 0: QEMU finds a free one.
    line = SubElement(domain, f"{{{_QEMU}}}commandline")
    for argument in (
        *("-netdev", "user,id=kdb,restrict=on,hostfwd=tcp:127.0.0.1:0-:22"),
        *("-device", "virtio-net-pci,netdev=kdb,addr=0x1e,romfile="),
    ):
        SubElement(line, f"{{{_QEMU}}}arg", value=argument)
    return ElementTree.tostring(domain, encoding="unicode")


def _text(parent: Element, name: str, text: object, **attributes: str) -> Element:
    element = SubElement(parent, name, attributes)
    element.text = str(text)
    return element


def _disk(devices: Element, path: str, target: str, **driver: str) -> Element:
    disk = SubElement(devices, "disk", type="file", device="disk")
    SubElement(disk, "driver", {"name": "qemu", "type": "raw", **driver})
    SubElement(disk, "source", file=path)
    SubElement(disk, "target", dev=target, bus="virtio")
    return disk


def virsh(host: Connection, *words: str, given: str = "", timeout: float = 60) -> str:
    """What virsh prints. Raises Refused."""
    answer = host.run(["virsh", "-c", URI, "--quiet", *words], given=given.encode(), timeout=timeout)
    if answer.status:
        raise Refused(f"{host.address}: virsh {words[0]}: {answer.errors.strip()[-500:]}")
    return answer.text


def start(area: Area, guest: Guest) -> None:
    """Define and start a guest; its name is recorded first, so that a clean-up finds it. Raises Refused."""
    area.call("note-domain", guest.name)
    virsh(area.machine, "define", "/dev/stdin", given=domain_xml(guest))
    virsh(area.machine, "start", guest.name)


def state(host: Connection, name: str) -> str:
    """ "running (booted)", "paused (I/O error)", "shut off (crashed)" ..."""
    return virsh(host, "domstate", name, "--reason").strip()


def check_running(host: Connection, name: str) -> None:
    """Raises GuestGone, GuestStopped where the guest is anything but running."""
    try:
        found = state(host, name)
    except Refused as error:
        raise GuestGone(f"the virtual machine {name} is gone: {error}") from error
    if found.startswith("paused"):
        raise GuestStopped(f"the virtual machine {name} is {found}")
    if not found.startswith("running"):
        raise GuestGone(f"the virtual machine {name} is {found}")


def wait_ready(
    area: Area, name: str, console: str, *, seconds: float = BOOT_SECONDS, keep: Callable[[], object] = lambda: None
) -> None:
    """Wait for the guest's sign on its console. Raises GuestGone with the console's last lines.

    Its sshd cannot be asked: QEMU accepts connections on the forwarded port before anybody listens.
    """
    deadline = time.monotonic() + seconds
    while True:
        keep()
        text = remote.call(area.machine, "read-file", area.pool, area.token, console)
        if READY in text:
            return
        last = " / ".join(line.strip() for line in text.splitlines()[-3:] if line.strip())
        if FAILED in text or time.monotonic() > deadline:
            raise GuestGone(
                f"the virtual machine {name} did not come up within {seconds:.0f} s. Console: {last or 'empty'}"
            )
        check_running(area.machine, name)
        time.sleep(0.2)


def forwarded_port(host: Connection, name: str) -> int:
    """The port on the host's loopback that leads to the guest's sshd. Raises GuestGone."""
    text = virsh(host, "qemu-monitor-command", name, "--hmp", "info usernet")
    found = re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)\s+\S+\s+22\b", text)
    if not found:
        raise GuestGone(f"the virtual machine {name} has no forwarded port")
    return int(found[1])


def connection(host: Connection, name: str, port: int, host_key: str) -> Connection:
    """To the guest's sshd, through the host. The key is the one that logs in to the host."""
    key_file = host.address.key_file
    return Connection(Address("127.0.0.1", port, "root", host_key, key_file, label=name), via=host)
