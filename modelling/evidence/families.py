"""Which hypervisors are the same below, and which entries nobody can run today. No Django.

Source: the administration guide of Proxmox VE, "Qemu/KVM Virtual Machines".
"""

import re
from collections.abc import Collection

RUNS = {"proxmox": "kvm"}  # product to the hypervisor that it runs, slugs of the catalogue


def hypervisor_of(key: str) -> str:
    """Return the hypervisor that an entry's key begins with: "kvm" of "kvm:xfs-on-ext4"."""
    return key.partition(":")[0]


def shared(named: Collection[str], entries: Collection[str]) -> list[tuple[str, str]]:
    """Return each product and what it runs, where a sentence about entries sets one against the other.

    named : keys that the sentence names; entries : keys that it chooses among
    """
    named_hypervisors, there = ({hypervisor_of(key) for key in keys} for keys in (named, entries))
    return [pair for pair in RUNS.items() if set(pair) <= there and set(pair) & named_hypervisors]


# What nobody can choose today: ports to research systems, and what a source did not state.
_NOT_OFFERED = {"bsd-zfs", "openzfs", "flexclone-ext4", "qemu-unstated", "kubernetes", "write caching disabled"}
_OF_SHARED_DIRECTORIES = ("virtiofs ", "9p ")  # cache modes of these alone


def may_be_offered(key: str) -> bool:
    """Return whether somebody can choose the entry of this key today, whatever the images lie on."""
    return _NOT_OFFERED.isdisjoint(re.split(r"-on-|:|^dir-", key)) and not key.startswith(_OF_SHARED_DIRECTORIES)
