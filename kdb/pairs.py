"""How a file-system pair is spelled: "btrfs-on-ext4", guest first. Standard library only.

The slugs of the catalogue have no word "on" (experiments.entry_names), so a spelling means one pair.
"""


def pair_key(guest_fs: str, host_fs: str) -> str:
    return f"{guest_fs}-on-{host_fs}"


def pair_parts(key: str) -> tuple[str, str]:
    """Guest and host: the inverse of pair_key. Raises ValueError on another form."""
    guest_fs, joined, host_fs = key.partition("-on-")
    if not (guest_fs and joined and host_fs) or "-on-" in host_fs:
        raise ValueError(f"{key!r} is not a pair; write it like btrfs-on-ext4")
    return guest_fs, host_fs
