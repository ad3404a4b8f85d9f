"""Tell which hypervisors are the same below: products that run another's, with defaults of their own. No Django.

Source: the administration guide of Proxmox VE, "Qemu/KVM Virtual Machines".
"""

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
