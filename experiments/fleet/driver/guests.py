"""What is told of machines of any hypervisor: whose they are, and which file systems lie inside them."""

import re
from typing import Any

from experiments.laboratory.transport import remote
from experiments.laboratory.transport.ssh import Connection

from .contract import ListedMachine

ALLOCATED = 0.98  # share of its size of which a sparse image takes less
_OF_A_CAMPAIGN = re.compile(r"kdb-(\d+-\d+|probe-\d+)")
_NOT_A_LOAD = {"vfat", "swap", "iso9660", "squashfs", "overlay", "tmpfs"}  # that machines boot from, or use as memory


def is_of_a_campaign(name: str) -> bool:
    return bool(_OF_A_CAMPAIGN.fullmatch(name))


def file_systems_in(machine: ListedMachine, entries: Any) -> list[str]:
    """Return the kinds of file systems that a guest agent tells of, without what its machine only boots from.

    entries : the answer to guest-get-fsinfo. Raises Refused where it is no list.
    """
    if not isinstance(entries, list):
        raise remote.Refused(f"the guest agent of {machine.name} says nothing of file systems")
    kinds = {str(entry.get("type", ""))[:40] for entry in entries if isinstance(entry, dict)}
    return sorted(kinds - _NOT_A_LOAD - {""})


def file_systems_by_superblock(host: Connection, path: str) -> list[str]:
    """Return the kinds of file systems that begin in a raw image or on its partitions, as far as blkid knows them.

    Read are the bytes that blkid looks at, and nothing is written. Raises Refused.
    """
    kinds = {value for key, value in remote.facts(remote.call(host, "superblocks", path)) if key == "holds"}
    return sorted(kinds - _NOT_A_LOAD)
