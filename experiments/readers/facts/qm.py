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
from collections.abc import Iterator

from ..base import Fact, text_of
from ..reader import Outcome, Report, ReportReader

_DISK = r"(scsi|virtio|sata|ide)\d{1,3}"
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


class Qm(ReportReader):
    name = "qm-config"
    benchmark, counted = "", "facts"
    nothing = "the configuration has neither disks nor processors"
    longest_line = 2_000
    labels = {
        "memory": re.compile(r"memory: (\d{1,9})$", re.ASCII),
        "scsihw": re.compile(r"scsihw: (.{1,80})"),
        "count": re.compile(r"(?:sockets|cores): (\d{1,5})$", re.ASCII),
        "disk": re.compile(rf"({_DISK}): (.{{1,1900}})$"),
    }

    def recognises(self, data: bytes) -> bool:
        lines = (line.strip()[:2_000] for line in text_of(data[: 2**14]).splitlines()[:80])
        names = {line.partition(": ")[0] for line in lines if re.match(r"[a-z][a-z_]{0,20}\d{0,3}: .", line)}
        return len(names & _KNOWN) >= 2 and any(re.fullmatch(_DISK, name) for name in names)

    def judge(self, report: Report) -> Iterator[Outcome]:
        controller = report.last("scsihw")
        bus_of_scsi = _CONTROLLERS.get(controller.match[1].partition("-")[0], "") if controller else ""
        for hit in report.all("memory", "scsihw", "disk"):
            if hit.label == "memory":
                yield Fact("machine", "ram_gib", int(hit.match[1]) / 1024, hit.line, "vm_ram_gib")
            elif hit.label == "scsihw":
                yield Fact("machine", "scsi_controller", hit.match[1], hit.line)
            elif "media=cdrom" not in hit.match[3] and hit.match[3] != "none":
                disk, bus = hit.match[1], hit.match[2]
                for name, value in _settings(hit.match[3]).items():
                    yield Fact(disk, name, value, hit.line, name if name in _FILLS else "")
                if bus == "scsi":
                    yield Fact(disk, "bus", bus_of_scsi or "scsi", hit.line, "disk_bus" if bus_of_scsi else "")
                else:
                    yield Fact(disk, "bus", bus, hit.line, "disk_bus")
        if counts := report.all("count"):
            numbers = {hit.match[0].partition(":")[0]: int(hit.match[1]) for hit in counts}
            vcpus = numbers.get("sockets", 1) * numbers.get("cores", 1)
            yield Fact("machine", "vcpus", vcpus, counts[-1].line, "vm_vcpus")


def _settings(value: str) -> dict[str, str | bool]:
    volume, *options = value.split(",", 40)
    storage, sign, path = volume.partition(":")
    settings: dict[str, str | bool] = {"storage": storage[:80]} if sign and storage != _ANONYMOUS else {}
    if path.endswith((".qcow2", ".raw", ".vmdk")):
        settings["image_format"] = path.rpartition(".")[2]
    for option in options:
        key, _, text = option.partition("=")
        if (name := _OPTIONS.get(key)) in _VALUES:
            settings[name] = _VALUES[name].get(text, text[:40])
        elif name:
            settings[name] = {"1": True, "0": False}.get(text, text[:40])
    return settings
