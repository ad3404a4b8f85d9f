"""The facts of a visitor's machine that no question filters by. Evidence is held against them. No Django."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from kdb.host_storage import SHARED_DIRECTORIES, VOLUMES

# Kinds of disks, spelled as the kinds of storage that case studies state, and one that none has.
DISKS = {"hdd": "hard disks", "ssd": "solid state (SSD)", "nvme": "NVMe", "network": "network storage"}
# What may be said of a machine and kept of it.
KEPT_FACTS = ("hypervisor", "disks", "images", "guest_os_family", "vm_count")
# What images lie on where it is no file system of the host.
BACKENDS = {**VOLUMES, **SHARED_DIRECTORIES}


@dataclass(frozen=True)
class Machine:
    """The visitor's machine. disks : of DISKS; images : of BACKENDS. None: not given"""

    disks: str | None = None
    images: str | None = None

    @classmethod
    def of(cls, data: Mapping[str, str | None]) -> "Machine":
        """Make one from the data of a valid form that has its fields."""
        return cls(disks=data["disks"] or None, images=data["images"] or None)

    @property
    def given(self) -> dict[str, str]:
        """Return what is given, as it stands in an address."""
        return {name: value for name, value in asdict(self).items() if value}
