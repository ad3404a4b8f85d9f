"""qm config: a virtual machine of Proxmox VE, with its disks.

    cores: 4
    memory: 8192
    scsi0: local-zfs:vm-100-disk-0,cache=writeback,discard=on,iothread=1,size=32G,ssd=1
    scsihw: virtio-scsi-single

What a disk leaves out has the default of its release, and is not filled in here. Where all disks agree, its settings
fill the fields of a configuration. A disk at a SCSI bus is virtio-scsi's where scsihw says so.

Source: the manual of qm (Proxmox VE 8).
"""

import re
from dataclasses import replace

from experiments.readers.base import Fact, Reading, Refusal, lines_of, text_of, whole_or_nothing

MAX_LINE = 2_000
MAX_DISKS = 200

_LINE = re.compile(r"([a-z][a-z_]{0,20}\d{0,3}): (.{1,1900})$")
_DISK = re.compile(r"(scsi|virtio|sata|ide)\d{1,3}$")
_KNOWN = {
    "cores",
    "sockets",
    "memory",
    "scsihw",
    "boot",
    "ostype",
    "numa",
    "machine",
    "cpu",
    "smbios1",
    "vmgenid",
    "agent",
}
_OPTIONS = {
    "cache": "cache_mode",
    "discard": "discard",
    "iothread": "iothread",
    "aio": "io_mode",
    "size": "size",
    "ssd": "shown_as_ssd",
    "format": "image_format",
}
_FILLS = ("cache_mode", "image_format", "discard", "iothread", "io_mode")
_VALUES = {"discard": {"on": "unmap", "ignore": "ignore"}, "iothread": {"1": "yes", "0": "no"}}
_CONTROLLERS = {"virtio": "scsi", "lsi": "lsilogic", "lsi53c810": "lsilogic", "pvscsi": "pvscsi"}
_ANONYMOUS = "storage"  # as collect.sh writes it


class Qm:
    name = "qm-config"

    def recognises(self, data: bytes) -> bool:
        names = set()
        for line in text_of(data[: 2**14]).splitlines()[:80]:
            if match := _LINE.match(line[:MAX_LINE].strip()):
                names.add(match[1])
        return len(names & _KNOWN) >= 2 and any(_DISK.match(name) for name in names)

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        facts: list[Fact] = []
        counts = {"sockets": 1, "cores": 1}
        counted: int | None = None
        disks = 0
        controller = ""
        for number, line in lines_of(text_of(data)):
            match = _LINE.match(line[:MAX_LINE].strip())
            if not match:
                continue
            name, value = match[1], match[2].strip()
            if name in counts and value.isascii() and value.isdecimal() and len(value) < 6:
                counts[name], counted = int(value), number
            elif name == "memory" and value.isascii() and value.isdecimal() and len(value) < 10:
                facts.append(Fact("machine", "ram_gib", int(value) / 1024, number, "vm_ram_gib"))
            elif name == "scsihw":
                facts.append(Fact("machine", "scsi_controller", value[:80], number))
                controller = _CONTROLLERS.get(value.partition("-")[0], "")
            elif (bus := _DISK.match(name)) and "media=cdrom" not in value and value != "none":
                disks += 1
                if disks > MAX_DISKS:
                    return Reading(self.name, refused=(Refusal(number, f"more than {MAX_DISKS} disks"),))
                facts += _disk(number, name, bus[1], value)
        if counted:
            facts.append(Fact("machine", "vcpus", counts["sockets"] * counts["cores"], counted, "vm_vcpus"))
        facts = [
            replace(fact, value=controller or "scsi", fills="disk_bus" if controller else "")
            if (fact.name, fact.value) == ("bus", "scsi")
            else fact
            for fact in facts
        ]
        if not facts:
            return Reading(self.name, refused=(Refusal(None, "the configuration has neither disks nor processors"),))
        return Reading(self.name, facts=tuple(facts))


def _disk(line: int, disk: str, bus: str, value: str) -> list[Fact]:
    volume, *options = value.split(",", 40)
    storage, sign, path = volume.partition(":")
    values: dict[str, str | bool] = {"storage": storage[:80]} if sign and storage != _ANONYMOUS else {}
    if path.endswith((".qcow2", ".raw", ".vmdk")):
        values["image_format"] = path.rpartition(".")[2]
    for option in options:
        key, _, text = option.partition("=")
        if (name := _OPTIONS.get(key)) in _VALUES:
            values[name] = _VALUES[name].get(text, text[:40])
        elif name:
            values[name] = {"1": True, "0": False}.get(text, text[:40])
    facts = [Fact(disk, key, stated, line, key if key in _FILLS else "") for key, stated in values.items()]
    return [*facts, Fact(disk, "bus", bus, line, "disk_bus")]
