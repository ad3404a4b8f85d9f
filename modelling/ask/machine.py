"""The facts of a visitor's machine that are compared with the evidence but filter none of it. No Django."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

# Kinds of disks: the kinds of storage of case studies, and one that none has.
DISKS = {"hdd": "hard disks", "ssd": "solid state (SSD)", "nvme": "NVMe", "network": "network storage"}
# Facts of a machine that an address holds.
FACTS_OF_MACHINE = ("hypervisor", "disks", "images", "guest_os_family", "vm_count")


@dataclass(frozen=True)
class Machine:
    """The visitor's machine. disks : of DISKS; images : slug of host storage. None: not given"""

    disks: str | None = None
    images: str | None = None

    @classmethod
    def of(cls, data: Mapping[str, str | None]) -> "Machine":
        """Return the machine in the cleaned data of a form with machine_fields."""
        return cls(disks=data["disks"] or None, images=data["images"] or None)

    @property
    def given(self) -> dict[str, str]:
        """Return the given facts as query parameters."""
        return {name: value for name, value in asdict(self).items() if value}
