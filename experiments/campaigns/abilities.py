"""The file systems and volumes a host can lay runs on, by its record and as its last check found it."""

from collections.abc import Iterable

from experiments.laboratory.targets import disks, drivers, proxmox
from experiments.laboratory.transport.facts import HostFacts
from experiments.models import Host, StoragePool

MAKES = {"ext4": 32, "xfs": 320, "btrfs": 128}  # file systems that remote.sh makes, and their least size in MiB

BACKENDS = tuple(dict.fromkeys((*disks.VOLUMES, *proxmox.BACKENDS.values())))  # stand in place of a host file system


def missing_programs(facts: HostFacts) -> set[str]:
    """Return the programs that campaigns use and a check did not find."""
    return {item["program"] for item in facts.get("missing", [])}


def host_storage(host: Host) -> list[str]:
    """Return the file systems, and volumes in their place, that some campaign on the host can name."""
    missing, slugs = missing_programs(host.facts), []
    for pool in host.pools.all():
        if pool.kind != StoragePool.Kind.IMAGE:
            slugs.append(_mounted(pool))
            continue
        if "loop devices" in missing:
            continue
        slugs += [name for name in MAKES if f"mkfs.{name}" not in missing]
        if {Host.Driver.LIBVIRT, Host.Driver.XEN} & {*host.drivers}:
            has_lvm = "lvm" not in missing and "device_mapper" in host.facts
            slugs += [name for name in disks.VOLUMES if name != "lvm" or has_lvm]
    if Host.Driver.ATTACHED in host.drivers:
        slugs += [pool.host_fs.slug for pool in _of_machines(host) if pool.host_fs]
    return _sorted_names(slugs)


def guest_file_systems(host: Host) -> list[str]:
    """Return the file systems that the host's guests, or its attached machines, can work on."""
    slugs: list[str] = []
    if drivers.HYPERVISORS.keys() & {*host.drivers}:
        slugs += MAKES
    if Host.Driver.ATTACHED in host.drivers:
        for pool in _of_machines(host):
            slugs += MAKES if pool.kind == StoragePool.Kind.IMAGE else [_mounted(pool)]
    return _sorted_names(slugs)


def _of_machines(host: Host) -> Iterable[StoragePool]:
    return StoragePool.objects.filter(host__runs_on=host).select_related("host", "host_fs").order_by("pk")


def _mounted(pool: StoragePool) -> str:
    """Return the file system that a pool was found on; empty where it was not there."""
    file_system: str = pool.host.facts.get("pools", {}).get(pool.path, {}).get("file_system", "")
    return file_system


def _sorted_names(names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name})
