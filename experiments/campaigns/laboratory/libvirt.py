"""Guests through virsh on the host: their XML, their life, and the way to their sshd."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from . import hypervisors
from .hypervisors import KERNEL_LINE, MAC, SEED, SERIAL, Guest, GuestGone, GuestStopped, forwarded
from .remote import Area, Refused
from .ssh import Connection

# The disk that the benchmark works on, by its bus. The root disk is vda.
TESTED = {"virtio": "vdb", "scsi": "sda", "sata": "sda", "ide": "hda"}
URI = "qemu:///system"  # where other drivers are installed too, virsh would choose one of them by itself
_QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
ElementTree.register_namespace("qemu", _QEMU)


def domain_xml(guest: Guest) -> str:
    """The domain as libvirt wants it."""
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
    if not guest.root:
        _text(system, "kernel", f"{guest.image_folder}/vmlinuz")
        _text(system, "initrd", f"{guest.image_folder}/initrd")
        _text(system, "cmdline", KERNEL_LINE)
    SubElement(SubElement(domain, "features"), "acpi")
    if guest.accelerator == "kvm":
        SubElement(domain, "cpu", mode="host-passthrough")
    elif guest.root:
        SubElement(domain, "cpu", mode="maximum")  # some distributions do not start on QEMU's usual one
    SubElement(domain, "clock", offset="utc")
    for event, action in (("on_poweroff", "destroy"), ("on_reboot", "destroy"), ("on_crash", "destroy")):
        _text(domain, event, action)
    devices = SubElement(domain, "devices")
    if guest.root:
        root = _disk(devices, guest.root, "vda", "virtio", type="qcow2", cache="unsafe")
        SubElement(root, "boot", order="1")
        shared = _disk(devices, f"{guest.image_folder}/{SEED}", "vdc", "virtio")
    else:
        shared = _disk(devices, f"{guest.image_folder}/root.squashfs", "vda", "virtio", cache="unsafe")
    SubElement(shared, "readonly")
    SubElement(shared, "shareable")
    bus, thread = guest.options.disk_bus, {"iothread": "1"} if has_thread else {}
    tested = _disk(
        devices,
        guest.disk,
        TESTED[bus],
        bus,
        type=guest.options.image_format,
        cache=guest.options.cache_mode,
        io=guest.options.io_mode,
        discard=guest.options.discard,
        # A write that fails stops the guest: a benchmark that goes on would count it as done.
        error_policy="stop",
        rerror_policy="stop",
        **(thread if bus == "virtio" else {}),
    )
    _text(tested, "serial", SERIAL)
    if bus == "scsi":
        controller = SubElement(devices, "controller", type="scsi", index="0", model="virtio-scsi")
        if thread:
            SubElement(controller, "driver", thread)
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
    return ElementTree.tostring(domain, encoding="unicode")


def _text(parent: Element, name: str, text: object, **attributes: str) -> Element:
    element = SubElement(parent, name, attributes)
    element.text = str(text)
    return element


def _disk(devices: Element, path: str, target: str, bus: str, **driver: str) -> Element:
    """A disk on an image file or a block device."""
    kind = "block" if path.startswith("/dev/") else "file"
    disk = SubElement(devices, "disk", type=kind, device="disk")
    SubElement(disk, "driver", {"name": "qemu", "type": "raw", **driver})
    SubElement(disk, "source", {"dev" if kind == "block" else "file": path})
    SubElement(disk, "target", dev=target, bus=bus)
    return disk


def virsh(host: Connection, *words: str, given: str = "", timeout: float = 60) -> str:
    """What virsh prints. Raises Refused."""
    answer = host.run(["virsh", "-c", URI, "--quiet", *words], given=given.encode(), timeout=timeout)
    if answer.status:
        raise Refused(f"{host.address}: virsh {words[0]}: {answer.errors.strip()[-500:]}")
    return answer.text


make_disk = hypervisors.make_image


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


def way_in(host: Connection, name: str) -> tuple[str, int]:
    """Address and port by which the host reaches the guest's sshd. Raises GuestGone."""
    return forwarded(virsh(host, "qemu-monitor-command", name, "--hmp", "info usernet"), name)
