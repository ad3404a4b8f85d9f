"""Guests through virsh on the host: their XML, their life, and the way to their sshd."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from experiments.laboratory.transport.remote import Area, NotNow, Refused
from experiments.laboratory.transport.ssh import Connection

from . import disks, hypervisors
from .hypervisors import KERNEL_LINE, MAC, SERIAL, Guest, GuestGone, GuestStopped, forwarded

# The disk that the benchmark works on, by its bus. The root disk is vda.
TESTED = {"virtio": "vdb", "scsi": "sda", "sata": "sda", "ide": "hda"}
URI = "qemu:///system"  # where other drivers are installed too, virsh would choose one of them by itself
# What virsh says where libvirtd is not there, or goes while it is asked (src/rpc/virnetsocket.c, virnetclient.c).
_SILENCE = re.compile(
    r"failed to connect|connect socket|Unable to connect|recv data|write data|client socket is closed|end of file"
    r"|keepalive|Connection reset|Broken pipe|Disconnected from|acquire state change lock"
)
_QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
ElementTree.register_namespace("qemu", _QEMU)


def domain_xml(guest: Guest, owner: str = "") -> str:
    """Return the domain as libvirt wants it.

    owner : as `owner_of` says, where the files were given to it: libvirt then changes the owner of none, because it
    would not give back the image that guests share
    """
    domain = Element("domain", type=guest.accelerator)
    _text(domain, "name", guest.name)
    _text(domain, "memory", guest.ram_mib, unit="MiB")
    _text(domain, "vcpu", guest.vcpus)
    has_thread = guest.options.iothread == "yes"
    if has_thread:
        _text(domain, "iothreads", 1)
    if guest.pinned_cpus:
        tuning = SubElement(domain, "cputune")
        for vcpu, cpu in enumerate(guest.pinned_cpus):
            SubElement(tuning, "vcpupin", vcpu=str(vcpu), cpuset=str(cpu))
    system = SubElement(domain, "os")
    _text(system, "type", "hvm", arch="x86_64", machine="pc")
    _text(system, "kernel", f"{guest.image_folder}/vmlinuz")
    _text(system, "initrd", f"{guest.image_folder}/initrd")
    _text(system, "cmdline", KERNEL_LINE)
    SubElement(SubElement(domain, "features"), "acpi")
    if guest.accelerator == "kvm":
        SubElement(domain, "cpu", mode="host-passthrough")
    SubElement(domain, "clock", offset="utc")
    for event, action in (("on_poweroff", "destroy"), ("on_reboot", "destroy"), ("on_crash", "destroy")):
        _text(domain, event, action)
    devices = SubElement(domain, "devices")
    shared = _disk(devices, f"{guest.image_folder}/root.squashfs", "vda", "virtio", cache="unsafe")
    SubElement(shared, "readonly")
    SubElement(shared, "shareable")
    bus = guest.options.disk_bus
    tested = _disk(
        devices,
        guest.disk,
        TESTED[bus],
        bus,
        **disks.libvirt_attributes(guest.options.values),
        # A write that fails stops the guest: a benchmark that goes on would count it as done.
        error_policy="stop",
        rerror_policy="stop",
    )
    _text(tested, "serial", SERIAL)
    if bus == "scsi":
        controller = SubElement(devices, "controller", type="scsi", index="0", model="virtio-scsi")
        if has_thread:
            SubElement(controller, "driver", iothread="1")
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
        *("-device", f"virtio-net-pci,netdev=kdb,mac={MAC},addr=0x1e,romfile="),
    ):
        SubElement(line, f"{{{_QEMU}}}arg", value=argument)
    if owner:
        label = SubElement(domain, "seclabel", type="static", model="dac", relabel="no")
        _text(label, "label", "+{}:+{}".format(*owner.split(":")))
    return ElementTree.tostring(domain, encoding="unicode")


def _text(parent: Element, name: str, text: object, **attributes: str) -> Element:
    element = SubElement(parent, name, attributes)
    element.text = str(text)
    return element


def _disk(devices: Element, path: str, target: str, bus: str, **driver: str) -> Element:
    """Add a disk on an image file or a block device, and return it."""
    kind = "block" if path.startswith("/dev/") else "file"
    disk = SubElement(devices, "disk", type=kind, device="disk")
    SubElement(disk, "driver", {"name": "qemu", "type": "raw", **driver})
    SubElement(disk, "source", {"dev" if kind == "block" else "file": path})
    SubElement(disk, "target", dev=target, bus=bus)
    return disk


def virsh(host: Connection, *words: str, given: str = "", timeout: float = 60) -> str:
    """Run virsh and return what it prints, in English. Raises Refused, and NotNow where libvirt does not answer."""
    command = ["env", "LC_ALL=C", "virsh", "-c", URI, "--quiet", *words]
    answer = host.run(command, given=given.encode(), timeout=timeout)
    if answer.status:
        kind = NotNow if _SILENCE.search(answer.errors) else Refused
        raise kind(f"{host.address}: virsh {words[0]}: {answer.errors.strip()[-500:]}")
    return answer.text


make_disk = hypervisors.make_image


def owner_of(host: Connection, accelerator: str) -> str:
    """Return who runs guests there, as libvirt says it: "64055:64055", numbers of the user and of the group.

    Empty where libvirt does not separate them from itself. Raises Refused.
    """
    match = re.search(rf"<baselabel type='{accelerator}'>\+(\d+):\+(\d+)</baselabel>", virsh(host, "capabilities"))
    return f"{match[1]}:{match[2]}" if match else ""


def start(area: Area, guest: Guest) -> None:
    """Define and start a guest; its name is recorded first, so that a clean-up finds it.

    Raises Refused, also where those who run guests there may not reach its files.
    """
    area.call("note-domain", guest.name)
    if owner := owner_of(area.machine, guest.accelerator):
        read = (f"{guest.image_folder}/{name}" for name in ("vmlinuz", "initrd", "root.squashfs"))
        area.call("give", owner, guest.disk, guest.console, "--", *read)
    virsh(area.machine, "define", "/dev/stdin", given=domain_xml(guest, owner))
    virsh(area.machine, "start", guest.name)


def state(host: Connection, name: str) -> str:
    """Return the guest's state: "running (booted)", "paused (I/O error)", "shut off (crashed)" ..."""
    return virsh(host, "domstate", name, "--reason").strip()


def check_running(host: Connection, name: str) -> None:
    """Raise GuestGone, GuestStopped where libvirt says that the guest is anything but running."""
    try:
        condition = state(host, name)
    except NotNow:
        raise
    except Refused as error:
        if name in virsh(host, "list", "--all", "--name").split():
            raise NotNow(str(error)) from error
        raise GuestGone(f"the virtual machine {name} is gone: {error}") from error
    if condition.startswith(("shut off", "crashed", "in shutdown")):
        raise GuestGone(f"the virtual machine {name} is {condition}")
    if not condition.startswith(("running", "idle")):
        raise GuestStopped(f"the virtual machine {name} is {condition}")


def way_in(host: Connection, name: str) -> tuple[str, int]:
    """Return address and port by which the host reaches the guest's sshd."""
    return forwarded(virsh(host, "qemu-monitor-command", name, "--hmp", "info usernet"), name)
