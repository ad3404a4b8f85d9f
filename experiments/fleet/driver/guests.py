"""Recognise machines of campaigns, and find the file systems inside machines, for all hypervisors."""

import re
from typing import Any

from experiments.laboratory.transport import remote
from experiments.laboratory.transport.ssh import Connection

from .contract import ListedMachine

ALLOCATED = 0.98  # an image that takes less than this share of its size is sparse
_CAMPAIGN_NAME = re.compile(r"kdb-(\d+-\d+|probe-\d+)")
_IGNORED = {"vfat", "swap", "iso9660", "squashfs", "overlay", "tmpfs"}  # used for booting or as memory


def is_of_campaign(name: str) -> bool:
    return bool(_CAMPAIGN_NAME.fullmatch(name))


def file_systems_in(machine: ListedMachine, entries: Any) -> list[str]:
    """Return the kinds of file systems that a guest agent reports, without those that only serve booting.

    entries : the answer to guest-get-fsinfo. Raises Refused where it is no list.
    """
    if not isinstance(entries, list):
        raise remote.Refused(f"the guest agent of {machine.name} says nothing of file systems")
    kinds = {str(entry.get("type", ""))[:40] for entry in entries if isinstance(entry, dict)}
    return sorted(kinds - _IGNORED - {""})


def file_systems_by_superblock(host: Connection, path: str) -> list[str]:
    """Return the kinds of file systems in a raw image or its partitions that blkid recognises, read-only.

    Raises Refused.
    """
    kinds = {value for key, value in remote.facts(remote.call(host, "superblocks", path)) if key == "holds"}
    return sorted(kinds - _IGNORED)
