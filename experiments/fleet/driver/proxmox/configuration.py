"""Parse a machine's file of Proxmox VE, /etc/pve/qemu-server/NUMBER.conf: disks, pending changes, snapshots.

Source: qm.conf(5), https://pve.proxmox.com/pve-docs/qm.conf.5.html, and how the file is read by PVE::QemuServer
(parse_vm_config, https://git.proxmox.com/?p=qemu-server.git at e6352be67f70). Not yet tried on a real host.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID, uuid5

FILES = "/etc/pve/qemu-server"  # of the machines of the node itself; one for each
BUSES = ("ide", "sata", "scsi", "virtio")

_SECTION = re.compile(r"\[([^\]]*)\]\s*")
_ENTRY = re.compile(r"([a-z][a-z0-9_-]*):(.*)")
_DISK = re.compile(rf"({'|'.join(BUSES)})\d+")
_UNUSED = re.compile(r"unused\d+")
_OWNER = re.compile(r"(?:vm|base)-(\d+)-")
_SIZE = re.compile(r"(\d{1,20}(?:\.\d{1,9})?)([KMGT]?)")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_UUID_NAMESPACE = UUID("5c1d4a0e-6b1f-4d38-9a0b-0d6f6c9f4d11")  # of machines whose file states no UUID


@dataclass(frozen=True)
class Drive:
    """One disk of a machine. volume : "local-lvm:vm-100-disk-0", or the path of a device of the host"""

    volume: str
    options: Mapping[str, str]

    @property
    def storage(self) -> str:
        """Return the storage that it lies on; "" for a device of the host."""
        return storage_of(self.volume)

    @property
    def size_bytes(self) -> int | None:
        return size(self.options.get("size", ""))

    @property
    def image_format(self) -> str:
        """Return the format: as stated, else by the name's ending, else raw."""
        ending = self.volume.rpartition(".")[2]
        return self.options.get("format") or (ending if ending in ("qcow2", "vmdk") else "raw")

    @property
    def is_linked(self) -> bool:
        """Tell whether it lies on the image of a template: "local:100/base-100-disk-0.raw/101/vm-101-disk-0.qcow2"."""
        return "base-" in self.volume


@dataclass(frozen=True)
class Configuration:
    """The parsed file of a machine. now, pending, each of snapshots : option to value, unchanged"""

    number: int
    now: Mapping[str, str]
    pending: Mapping[str, str] = field(default_factory=dict)
    snapshots: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.now.get("name") or f"VM {self.number}"

    @property
    def uuid(self) -> str:
        """Return the UUID that the machine sees; where none is stated, one of its number and creation time."""
        stated = _options(self.now.get("smbios1", "")).get("uuid", "").lower()
        try:
            return str(UUID(stated))
        except ValueError:
            return self.uuid_of_number

    @property
    def uuid_of_number(self) -> str:
        return str(uuid5(_UUID_NAMESPACE, f"{self.number} {_options(self.now.get('meta', '')).get('ctime', '')}"))

    @property
    def lock(self) -> str:
        return self.now.get("lock", "")

    @property
    def is_template(self) -> bool:
        return self.now.get("template") == "1"

    @property
    def has_agent(self) -> bool:
        first, *rest = self.now.get("agent", "0").split(",")
        return "1" in (first, _options(",".join([first, *rest])).get("enabled"))

    @property
    def disks(self) -> dict[str, Drive]:
        """Return the writable disks by target, without CDs, cloud-init drives and firmware."""
        drives = {target: drive_of(value) for target, value in self.now.items() if _DISK.fullmatch(target)}
        return {target: drive for target, drive in drives.items() if _is_writable_disk(drive)}

    @property
    def unused(self) -> dict[str, str]:
        """Return the volumes that it keeps unused, by key ("unused0")."""
        return {key: drive_of(value).volume for key, value in self.now.items() if _UNUSED.fullmatch(key)}

    def snapshots_with(self, volume: str) -> list[str]:
        return [
            name
            for name, options in self.snapshots.items()
            if any(drive_of(value).volume == volume for value in options.values())
        ]


def parse_configuration(number: int, text: str) -> Configuration:
    sections: dict[str, dict[str, str]] = {"": {}}
    section = sections[""]
    for line in text.splitlines():
        if heading := _SECTION.fullmatch(line):
            section = sections.setdefault(heading[1], {})
        elif not line.startswith("#") and (entry := _ENTRY.fullmatch(line)):
            section[entry[1]] = entry[2].strip()
    pending = next((sections.pop(name) for name in list(sections) if name.upper() == "PENDING"), {})
    snapshots = {name: options for name, options in sections.items() if name and not name.startswith("special:")}
    return Configuration(number, sections[""], pending, snapshots)


def drive_of(value: str) -> Drive:
    first, _, rest = value.partition(",")
    return Drive(first.removeprefix("file="), _options(rest))


def storage_of(volume: str) -> str:
    storage, colon, _ = volume.partition(":")
    return "" if volume.startswith("/") or not colon else storage


def owner_of(volume: str) -> int | None:
    """Return the number of the machine that a volume belongs to by its name."""
    match = _OWNER.search(volume.rpartition("/")[2])
    return int(match[1]) if match else None


def size(text: str) -> int | None:
    """Return the bytes of "32G"; None where it is no size."""
    match = _SIZE.fullmatch(text)
    return int(float(match[1]) * _UNITS[match[2]]) if match else None


def _options(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def _is_writable_disk(drive: Drive) -> bool:
    is_medium = drive.options.get("media") == "cdrom" or drive.volume in ("none", "cdrom")
    return not is_medium and "cloudinit" not in drive.volume and drive.options.get("ro") != "1"
