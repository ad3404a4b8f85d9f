"""virsh dumpxml: a virtual machine of libvirt, with its disks. Names, addresses and identifiers are not taken.

    <domain type='kvm'><memory unit='KiB'>8388608</memory><vcpu>4</vcpu>
      <devices><disk type='file' device='disk'>
        <driver name='qemu' type='qcow2' cache='none' io='native' discard='unmap' iothread='1'/>
        <target dev='vda' bus='virtio'/></disk></devices></domain>

Source: libvirt's formatdomain, and a domain of libvirt 9.0.
"""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ..base import Fact, LineNumbers, text_of, whole_number
from ..reader import Outcome, Reader
from ..xml_tree import root_of, text_at

_DOMAIN = re.compile(rb"<domain\s[^>]{0,200}\btype=['\"]")
_KIB = {
    "b": 1 / 1024,
    "bytes": 1 / 1024,
    "k": 1.0,
    "kib": 1.0,
    "m": 2.0**10,
    "mib": 2.0**10,
    "g": 2.0**20,
    "gib": 2.0**20,
}
_DRIVER = {
    "type": "image_format",
    "cache": "cache_mode",
    "io": "io_mode",
    "discard": "discard",
    "iothread": "iothread",
    "detect_zeroes": "detect_zeroes",
}
_FILLS = ("image_format", "cache_mode", "io_mode", "discard", "iothread")
_CONTROLLERS = {"virtio-scsi": "scsi", "virtio-transitional": "scsi", "lsilogic": "lsilogic", "vmpvscsi": "pvscsi"}


class Virsh(Reader):
    name = "virsh-dumpxml"
    benchmark, counted = "", "facts"
    nothing = "the domain has neither disks nor processors"

    def recognises(self, data: bytes) -> bool:
        return bool(_DOMAIN.search(data[: 2**14]))

    def parse(self, data: bytes) -> Iterator[Outcome]:
        root = root_of(data[data.find(b"<domain") :] if b"<domain" in data else data)
        text = text_of(data)
        numbers = LineNumbers(text)
        lines = [numbers.at(match.start()) for match in re.finditer(r"<disk\b", text)]
        disks, controllers = root.findall("devices/disk"), root.findall("devices/controller")
        models = {controller.get("model", "") for controller in controllers if controller.get("type") == "scsi"}
        bus_of_scsi = _CONTROLLERS.get(models.pop(), "") if len(models) == 1 else ""
        yield from _machine(root, text)
        for number, disk in enumerate(disks):
            if disk.get("device", "disk") in ("disk", "lun"):
                yield from _disk(disk, lines[number] if len(lines) == len(disks) else None, bus_of_scsi)


def _machine(root: Element, text: str) -> Iterator[Fact]:
    def line(tag: str) -> int | None:
        at = text.find(f"<{tag}")
        return text.count("\n", 0, at) + 1 if at >= 0 else None

    if root.get("type") == "kvm":
        yield Fact("machine", "hypervisor", "kvm", line("domain"), "hypervisor")
    if (vcpus := whole_number(text_at(root, "vcpu"), 5)) is not None:
        yield Fact("machine", "vcpus", vcpus, line("vcpu"), "vm_vcpus")
    memory, element = whole_number(text_at(root, "memory"), 15), root.find("memory")
    factor = _KIB.get((element.get("unit", "KiB") if element is not None else "").lower())
    if factor and memory is not None:
        yield Fact("machine", "ram_gib", memory * factor / 2**20, line("memory"), "vm_ram_gib")


def _disk(disk: Element, line: int | None, scsi: str) -> Iterator[Fact]:
    """Yield the facts of a disk; scsi : the bus by the model of all SCSI controllers, where it is known."""
    target, driver = disk.find("target"), disk.find("driver")
    about = (target.get("dev", "") if target is not None else "")[:40] or "disk"
    if disk.get("type"):
        yield Fact(about, "backend", disk.get("type", "")[:40], line)
    for key, name in _DRIVER.items():
        value = driver.get(key, "")[:40] if driver is not None else ""
        if name == "iothread" and value:
            value = "yes"  # it is the number of the thread
        if value and value != "default":
            yield Fact(about, name, value, line, name if name in _FILLS else "")
    bus = target.get("bus", "")[:40] if target is not None else ""
    if bus == "scsi":
        yield Fact(about, "bus", scsi or bus, line, "disk_bus" if scsi else "")
    elif bus:
        yield Fact(about, "bus", bus, line, "disk_bus")
