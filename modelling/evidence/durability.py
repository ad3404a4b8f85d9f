"""Find the options of a configuration that can lose acknowledged writes. No Django.

A write is acknowledged when fsync returned, or a write to a file opened with O_SYNC. It is lost by an option when the
option keeps the request to flush from reaching the disk, so that a crash or a power cut takes what was promised.
A cache alone loses nothing that was acknowledged as long as it hands flushes on (writeback). What a source does not
state is not held against it. Source and the options that look alike but are safe: docs/models/verdict.md.
"""

import re

# Words of a cache mode: QEMU's "unsafe", which it also spells by its parts.
_CACHE_MODES = frozenset({"unsafe", "no-flush=on"})
# Mount options, and properties of data sets where a source lists them as such.
_MOUNT_OPTIONS = frozenset(
    {
        "nobarrier",  # ext3, ext4, XFS, Btrfs
        "barrier=0",  # ext3, ext4
        "barrier=none",  # ReiserFS
        "fsync_mode=nobarrier",  # F2FS
        "volatile",  # overlayfs
        "sync=disabled",  # ZFS
        "zfs_nocacheflush=1",  # ZFS
    }
)


def losing_options(cache_mode: str, guest_mount_options: str, host_mount_options: str) -> tuple[str, ...]:
    """List the stated options that can lose acknowledged writes, as a reader would write them; each text as its source
    states it, empty: not stated."""
    losing = [f"cache mode {cache_mode}"] if _words(cache_mode) & _CACHE_MODES else []
    for side, options in (("guest", guest_mount_options), ("host", host_mount_options)):
        losing += [f"{side} mount option {option}" for option in sorted(_words(options) & _MOUNT_OPTIONS)]
    return tuple(losing)


def _words(text: str) -> set[str]:
    joined = "=".join(part.strip() for part in text.lower().split("="))
    return {word.rpartition(".")[2] for word in re.findall(r"[^\s,;()]+", joined)}
