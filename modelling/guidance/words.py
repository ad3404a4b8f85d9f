"""Define the values that the files of makers' advice may use, with their labels. No Django."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from experiments.published_evidence.files import read_json
from kdb.disk_path import size_label
from kdb.host_storage import host_storages
from modelling.evidence.axes import AXES

AXIS_LABELS = {
    **{name: axis.label for name, axis in AXES.items()},
    "mount-options": "Mount options",
    "guest-block-size": "Block size in the guest",
    "scheduler": "I/O scheduler",
    "other": "Other settings",
}
_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FREE = ("mount-options", "guest-block-size", "other")  # subjects whose values are texts


def _catalogue(section: str) -> dict[str, str]:
    """Return slug to name of the catalogue that KDB comes with."""
    files = (_FIXTURES / "catalogue.json", _FIXTURES / "outside" / "catalogue.json")
    return {entry.fields["slug"]: entry.fields["name"] for file in files for entry in read_json(file)[section]}


HYPERVISORS = _catalogue("hypervisors")
FILE_SYSTEMS = _catalogue("file_systems")
HOST_STORAGES = {**host_storages(FILE_SYSTEMS, _catalogue("host_storages")), "dir": "Image file in a directory"}
_SIZES = ("512", "4096", "8192", "16384", "32768", "65536", "131072", "524288", "1048576", "33554432", "134217728")
_TEXTS_OF_SIZES = (
    *("16 to 128 KiB", "128 KiB to 1 MiB", "larger than 16 KiB", "small blocks", "other record sizes"),
    *("the guest's block size", "smaller than guest blocks or ashift", "much larger than the guest's writes"),
    *("the workload's allocation size", "larger than the workload's writes", "at least the database's record size"),
    *("larger qcow2 clusters", "smaller qcow2 clusters", "small qcow2 clusters"),
)
# Values in addition to those of kdb.disk_path.
_FURTHER: Mapping[str, Mapping[str, str]] = {
    "cache-mode": {"writearound": "writearound"},
    "iothread": {"shared": "one shared by several disks"},
    "pool-layout": {
        **{"hardware-raid": "hardware RAID", "software-raid": "software RAID"},
        **{"nested-resiliency": "nested resiliency", "mirror-accelerated-parity": "mirror-accelerated parity"},
    },
    "scheduler": {name: name for name in ("none", "noop", "deadline", "mq-deadline", "cfq")},
    "volume-block-size": {
        **{size: size_label(int(size)) for size in _SIZES},
        **{text: text for text in _TEXTS_OF_SIZES},
    },
}
STORAGES = {"hdd": "hard disk", "ssd": "SSD", "nvme": "NVMe", "network": "network storage"}
GUEST_OSES = {"linux": "Linux", "windows": "Windows", "freebsd": "FreeBSD"}
FAMILIES = {
    **{"backup": "backup", "database": "database", "database-sync-writes": "database, synchronous writes"},
    **{"file-server": "file server", "mail": "mail", "media": "media", "object-store": "object store"},
    **{"random-read": "random reads", "random-write": "random writes", "sequential": "sequential"},
    **{"virtual-desktop": "virtual desktop", "web-server": "web server"},
}
# Column of the file to the field of Statement, and its values with their labels.
CONTEXT: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "hypervisor": ("hypervisors", HYPERVISORS),
    "host_storage": ("host_storages", HOST_STORAGES),
    "storage": ("storages", STORAGES),
    "guest_os": ("guest_oses", GUEST_OSES),
    "workload": ("workloads", FAMILIES),
}
# Strength of the wording of the source, with the text to show it by.
WORDINGS = {
    **{"must": "must be {}", "should": "{}", "default": "{}, the default", "may": "{}, an option"},
    **{"avoid": "{}", "never": "{}", "no difference": "{}: no difference", "product default": "{}"},
}
REASONS = ("", "performance", "durability", "space", "compatibility", "manageability")
KINDS = ("vendor manual", "project documentation", "paper", "product default")
READ = ("whole", "excerpt")
# Workload of the catalogue to its families; to other workloads only advice on any workload applies.
FAMILIES_OF = {
    "atto": ("sequential",),
    "blog": ("database", "web-server"),
    "database": ("database", "database-sync-writes"),
    "fileserver": ("file-server",),
    "random-mixed": ("random-read", "random-write"),
    "random-read": ("random-read",),
    "random-write": ("random-write",),
    "randomfileaccess": ("random-read", "random-write"),
    "sequential-mixed": ("sequential",),
    "sequential-read": ("sequential",),
    "sequential-write": ("sequential",),
    "sync-write": ("database-sync-writes",),
    "varmail": ("mail",),
    "webserver": ("web-server",),
}


def values(axis: str) -> Mapping[str, str] | None:
    """Return the values that advice on an axis may name, with their labels; None for any text."""
    if axis in FREE:
        return None
    if axis in ("guest-fs", "host-fs"):
        return FILE_SYSTEMS
    if axis == "fs-pair":
        pairs = ((guest, host) for guest in FILE_SYSTEMS for host in FILE_SYSTEMS)
        return {f"{g}-on-{h}": f"{FILE_SYSTEMS[g]} on {FILE_SYSTEMS[h]}" for g, h in pairs}
    if axis in ("host-storage", "hypervisor"):
        return HOST_STORAGES if axis == "host-storage" else HYPERVISORS
    setting = AXES[axis].setting if axis in AXES else None
    known = {value.name: value.label for value in setting.values} if setting else {}
    return {**known, **_FURTHER.get(axis, {})}


def label(axis: str, value: str) -> str:
    """Return the label of a value of an axis."""
    return (values(axis) or {}).get(value, value)


def either(labels: Iterable[str]) -> str:
    """Join labels to a choice: "ext4, XFS or Btrfs"."""
    *first, last = labels
    return f"{', '.join(first)} or {last}" if first else last


def in_sentence(axis: str) -> str:
    """Return an axis's label as it stands inside a sentence."""
    text = AXIS_LABELS[axis]
    return text if text[1:2] == "/" else text[:1].lower() + text[1:]
