"""What a check finds on a host, as its row keeps it. A key that is missing was not found, or is of no such host."""

from typing import TypedDict

from .health import Health


class PoolFacts(TypedDict, total=False):
    """What was found at a storage pool. allocation : of a storage, by format of its images"""

    is_missing: bool
    why: str
    file_system: str
    free_mib: int
    mount_options: str
    disk: str
    allocation: dict[str, str]


class ImageFacts(TypedDict, total=False):
    """What image.json says of a guest image; of one that was brought, also what was found in a guest."""

    distribution: str
    distribution_id: str
    distribution_version: str
    kernel: str
    sha256: dict[str, str]
    packages: dict[str, str]
    filebench: str
    host_key: str
    disk: str
    disk_buses: list[str]
    missing: list[str]


class HostFacts(TypedDict, total=False):
    """What the last check found. Programs by their version."""

    pools: dict[str, PoolFacts]
    missing: list[dict[str, str]]
    cores: int
    ram_mib: int
    root: str
    distribution: str
    distribution_id: str
    distribution_version: str
    kernel: str
    device_mapper: str
    fio: str
    filebench: str
    libvirt: str
    running: str
    uri: str
    domain_types: str
    pve: str
    xen: str
    xen_caps: str
    machine_id: str
    accelerator: str
    guest_image: ImageFacts
    limits: dict[str, dict[str, float]]
    health: Health
