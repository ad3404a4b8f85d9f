"""The facts that a check finds on a host, as its row keeps them. A missing key was not found, or the host has none."""

from typing import TypedDict

from .health import Health


class PoolFacts(TypedDict, total=False):
    """The facts of a storage pool. allocation : of a storage, by format of its images"""

    is_missing: bool
    why: str
    file_system: str
    free_mib: int
    mount_options: str
    disk: str
    allocation: dict[str, str]


class ImageFacts(TypedDict, total=False):
    """The contents of a guest image's image.json."""

    distribution: str
    distribution_id: str
    distribution_version: str
    kernel: str
    sha256: dict[str, str]
    packages: dict[str, str]
    filebench: str
    host_key: str
    disk_buses: list[str]


class HostFacts(TypedDict, total=False):
    """The facts of the last check. Programs by their version."""

    pools: dict[str, PoolFacts]
    missing: list[dict[str, str]]
    cores: int
    ram_mib: int
    root: str
    limits_memory: str
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
