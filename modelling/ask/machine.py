"""What a visitor has beside what a question filters by. It narrows no evidence: it is held against it. No Django."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from experiments.imports.normalise import fold

# Kinds of disks, spelled as the kinds of storage that case studies state, and one that none has.
DISKS = {"hdd": "hard disks", "ssd": "solid state (SSD)", "nvme": "NVMe", "network": "network storage"}
# What images lie on where it is no file system of the host.
BACKENDS = {
    "lvm": "LVM volume",
    "lvm-thin": "thin LVM volume",
    "zfs": "ZFS",
    "ceph": "Ceph RBD",
    "nfs": "NFS",
    "iscsi": "iSCSI",
    "raw-device": "disk or partition itself",
}
# Kind of name in a visitor's own words: folded spelling to what it stands for.
SPELLINGS = {
    "disks": {"disk": "hdd", "disks": "hdd", "harddisks": "hdd", "hdds": "hdd", "ssds": "ssd", "san": "network"},
    "images": {**{fold(slug): slug for slug in BACKENDS}, "cephrbd": "ceph", "rbd": "ceph"},
}


@dataclass(frozen=True)
class Machine:
    """disks : of DISKS; images : of BACKENDS. None: not given"""

    disks: str | None = None
    images: str | None = None

    @classmethod
    def of(cls, said: Mapping[str, str | None]) -> "Machine":
        """From the data of a valid form that has its fields."""
        return cls(disks=said["disks"] or None, images=said["images"] or None)

    @property
    def given(self) -> dict[str, str]:
        """What is given, as it stands in an address."""
        return {name: value for name, value in asdict(self).items() if value}
