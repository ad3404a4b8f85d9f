"""Read what collect.sh found on a machine: a setting on each line, and what it could not see.

    kdb settings 1, host
    machine<TAB>kernel<TAB>6.8.12-4-pve
    scsi0<TAB>backend<TAB>zvol
    scsi0<TAB>zfs_volblocksize<TAB>16384
    not seen<TAB>lvs<TAB>the program is not here

The first column names the subject: the machine, the folder that was named, or a virtual disk. Each line becomes a fact
unchanged; a setting that follows from several lines (snapshot, encryption, allocation ...) is a fact of its own. The
first line tells whether the machine is host or guest.

Source: experiments/imports/drafts/collect.sh; zfsprops(7), lvs(8), lsblk(8), qemu-img(1).
"""

import re
from collections.abc import Iterator, Mapping

from ..base import Fact, FileRefusedError, text_of, whole_number
from ..reader import LineReader, Outcome

NOT_SEEN = "not seen"

_HEADER = re.compile(r"kdb settings 1, (host|guest)$")
_LINE = re.compile(r"([\w .:-]{1,80})\t([\w ().:-]{1,80})\t(.{1,200})$")

# Of one side of the machine: host_kernel, guest_kernel.
_OF_SIDE = {"kernel": "kernel", "scheduler": "io_scheduler", "file_system": "fs", "mount_options": "mount_options"}
_OF_MACHINE = {"backend": "backend", "bus": "disk_bus", "image_format": "image_format"}
_BLOCKS = ("cluster_bytes", "zfs_volblocksize", "lvm_chunk_bytes", "zfs_recordsize")  # nearest to the guest first
_UNCOMPRESSED = ("ext2", "ext3", "ext4", "xfs")  # these cannot compress
_RAIDS = {"raid0": "stripe", "raid1": "mirror", "raid10": "striped-mirrors", "raid5": "raid5", "raid6": "raid6"}
_SPARSE_BELOW = 90  # percent of a raw image's space


class Settings(LineReader):
    name = "kdb-settings"
    benchmark, counted, limit = "", "settings", 5_000
    nothing = "there is no setting below the first line: it is cut"

    def recognises(self, data: bytes) -> bool:
        return bool(_HEADER.match(text_of(data[:200]).partition("\n")[0].strip()))

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        header = _HEADER.match(next(lines, (1, ""))[1])
        if not header:
            raise FileRefusedError(self.nothing)
        side = header[1]
        settings: dict[str, dict[str, tuple[int, str]]] = {}
        for number, line in lines:
            if match := _LINE.match(line):
                about, name, text = match.groups()
                value = whole_number(text, 15)
                fills = ""
                if about != NOT_SEEN:
                    settings.setdefault(about, {})[name] = number, text
                    fills = f"{side}_{_OF_SIDE[name]}" if name in _OF_SIDE else _OF_MACHINE.get(name, "")
                yield Fact(about, name, text if value is None else value, number, fills)
        for about, stated in settings.items():
            yield from _derived_facts(side, about, stated)


def _derived_facts(side: str, about: str, settings: Mapping[str, tuple[int, str]]) -> Iterator[Fact]:
    """Yield the settings that follow from the lines on one thing, each with the line that decides."""

    def value(name: str) -> str:
        return settings[name][1] if name in settings else ""

    def fact(setting: str, derived_value: str | int, *names: str) -> Fact:
        return Fact(
            about,
            setting,
            derived_value,
            next((settings[name][0] for name in names if name in settings), None),
            setting,
        )

    if about == "machine":
        yield from _releases(side, settings)
        return
    if side == "guest":
        return
    for name in _BLOCKS:
        if value(name).isdecimal() and int(value(name)):
            yield fact("volume_block_bytes", int(value(name)), name)
            break
    if compression := _compression(settings):
        yield fact("compression", compression, "zfs_compression", "mount_options", "file_system")
    chain = value("lies_on").split()
    if value("image_encrypted") == "yes":
        yield fact("encryption", "image", "image_encrypted")
    elif value("zfs_encryption") not in ("", "off"):
        yield fact("encryption", "file-system", "zfs_encryption")
    elif chain:
        yield fact("encryption", "block" if "crypt" in chain else "none", "lies_on")
    kept = [value(name) for name in ("backing_file", "image_snapshots", "zfs_snapshots", "lvm_snapshots")]
    if kept[0] == "yes" or kept[1] == "yes":
        yield fact("snapshot", "overlay" if kept[0] == "yes" else "internal", "backing_file", "image_snapshots")
    elif any(count.isdecimal() and int(count) for count in kept[2:]):
        yield fact("snapshot", "storage", "zfs_snapshots", "lvm_snapshots")
    elif any(kept):
        yield fact("snapshot", "none", "image_snapshots", "zfs_snapshots", "lvm_snapshots")
    if allocation := _allocation(settings):
        yield fact("allocation", allocation, "lvm_segment", "zfs_refreservation", "allocated_percent")
    if "zfs_type" not in settings and (raids := {word for word in chain if word in _RAIDS}):
        if len(raids) == 1:
            yield fact("pool_layout", _RAIDS[raids.pop()], "lies_on")
    elif (
        "zfs_type" not in settings
        and chain.count("disk") == 1
        and value("transport")
        and value("file_system") != "btrfs"
    ):
        yield fact("pool_layout", "single", "lies_on")  # a controller that hides its disks tells no transport
    if kind := _storage_kind(value("disks_rotate"), value("transport")):
        yield fact("storage_kind", kind, "transport", "disks_rotate")


def _releases(side: str, settings: Mapping[str, tuple[int, str]]) -> Iterator[Fact]:
    line, qemu = settings.get("qemu_release", (None, ""))
    if "pve_release" in settings:
        line, release = settings["pve_release"]
        yield Fact("machine", "hypervisor", "proxmox-ve", line, "hypervisor")
        product = f"Proxmox VE {release} (QEMU {qemu})" if qemu else f"Proxmox VE {release}"
        yield Fact("machine", "hypervisor_release", product, line, "hypervisor_release")
    elif qemu:
        yield Fact("machine", "hypervisor_release", f"QEMU {qemu}", line, "hypervisor_release")
    if "zfs_release" in settings:
        line, release = settings["zfs_release"]
        yield Fact("machine", f"{side}_fs_release", f"OpenZFS {release}", line, f"{side}_fs_release")


def _compression(settings: Mapping[str, tuple[int, str]]) -> str:
    """Return the setting of KDB: "on" of ZFS is LZ4, and levels are left out; "" where it is not known."""
    if "zfs_compression" in settings:
        compression = settings["zfs_compression"][1]
        return "lz4" if compression == "on" else re.sub(r"^(zstd|gzip)-.*", r"\1", compression)
    file_system = settings.get("file_system", (0, ""))[1]
    if file_system == "btrfs":
        options = settings.get("mount_options", (0, ""))[1]
        stated = re.search(r"(?:^|,)compress(?:-force)?=([a-z]{1,10})", options)
        return stated[1] if stated else "" if "compress" in options else "off"
    return "off" if file_system in _UNCOMPRESSED else ""


def _allocation(settings: Mapping[str, tuple[int, str]]) -> str:
    segment = settings.get("lvm_segment", (0, ""))[1]
    if segment:
        return "sparse" if segment == "thin" else "falloc"
    if settings.get("zfs_type", (0, ""))[1] == "volume" and "zfs_refreservation" in settings:
        return "sparse" if settings["zfs_refreservation"][1] in ("none", "0") else "falloc"
    taken = settings.get("allocated_percent", (0, ""))[1]
    if settings.get("image_format", (0, ""))[1] == "raw" and taken.isdecimal() and int(taken) < _SPARSE_BELOW:
        return "sparse"
    return ""  # qcow2 may be empty or have its tables alone, and what is full may be reserved or written


def _storage_kind(rotates: str, transport: str) -> str:
    """Return the kind that all disks share; NVMe is known by the transport."""
    if set(rotates.split()) == {"0", "1"}:
        return "mixed"
    if transport == "nvme":
        return "nvme"
    return {"0": "ssd", "1": "hdd"}.get(rotates, "") if transport and "nvme" not in transport else ""
