"""Spell the keys of file-system pairs: "btrfs-on-ext4", guest first. Standard library only.

No slug of the catalogue contains the word "on" (experiments.rules.entry_names), so keys are unambiguous.
"""

import re

LONGEST_PAIR = 200  # characters, as people write it


def pair_key(guest_fs: str, host_fs: str) -> str:
    return f"{guest_fs}-on-{host_fs}"


def pair_parts(key: str) -> tuple[str, str]:
    """Return guest and host, the inverse of pair_key. Raises ValueError on another form."""
    guest_fs, joined, host_fs = key.partition("-on-")
    if not (guest_fs and joined and host_fs) or "-on-" in host_fs:
        raise ValueError(f"{key!r} is not a pair; write it like btrfs-on-ext4")
    return guest_fs, host_fs


def written_pair(text: str) -> tuple[str, str]:
    """Return guest and host of "xfs-on-ext4" or "XFS on ext4". Raises ValueError on another form."""
    if len(text) <= LONGEST_PAIR:
        parts = re.split(r" on |-on-", " ".join(text.split()), flags=re.IGNORECASE)
        if len(parts) == 2 and all(parts):
            return parts[0], parts[1]
    raise ValueError(f"{text[:LONGEST_PAIR]!r} is not a pair; write it like btrfs-on-ext4")
