"""Tell which hypervisors run another one, and which entries nobody can choose today. No Django.

Source: the administration guide of Proxmox VE, "Qemu/KVM Virtual Machines".
"""

import re
from collections.abc import Collection

RUNS = {"proxmox": "kvm"}  # product to the hypervisor that it runs, slugs of the catalogue


def hypervisor_of(key: str) -> str:
    """Return the hypervisor that an entry's key begins with: "kvm" of "kvm:xfs-on-ext4"."""
    return key.partition(":")[0]


def shared(named: Collection[str], entries: Collection[str]) -> list[tuple[str, str]]:
    """Return each product with the hypervisor that it runs, where a sentence opposes the two.

    named : keys that the sentence names; entries : keys that it chooses from
    """
    named_hypervisors, there = ({hypervisor_of(key) for key in keys} for keys in (named, entries))
    return [pair for pair in RUNS.items() if set(pair) <= there and set(pair) & named_hypervisors]


# Entries that nobody can choose today: ports to research systems, and what a source did not state.
_NOT_OFFERED = {"bsd-zfs", "openzfs", "flexclone-ext4", "qemu-unstated", "kubernetes", "write caching disabled"}
_SHARED_DIRECTORIES = ("virtiofs ", "9p ")  # shared directories; their cache modes are not for disks


def may_be_offered(key: str) -> bool:
    """Return whether somebody can choose this entry today, whatever the host storage."""
    return _NOT_OFFERED.isdisjoint(re.split(r"-on-|:|^dir-", key)) and not key.startswith(_SHARED_DIRECTORIES)
