"""Find the options of a configuration that can lose acknowledged writes. No Django.

A write is acknowledged when fsync returns, or a write to a file opened with O_SYNC. An option can lose it if it keeps
the flush request from reaching the disk, so that a crash or power cut destroys it. A cache that passes flushes on
(writeback) loses nothing. What a source does not state counts as safe. Sources, and options that look alike but are
safe: docs/models/verdict.md.
"""

import re

# Unsafe cache modes: QEMU's "unsafe", and the option by which it can also be set.
_CACHE_MODES = frozenset({"unsafe", "no-flush=on"})
# Unsafe mount options, and properties of ZFS that sources list among them.
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
    """List the stated options that can lose acknowledged writes, in words. Texts : as in the source, or ""."""
    losing = [f"cache mode {cache_mode}"] if _words(cache_mode) & _CACHE_MODES else []
    for side, options in (("guest", guest_mount_options), ("host", host_mount_options)):
        losing += [f"{side} mount option {option}" for option in sorted(_words(options) & _MOUNT_OPTIONS)]
    return tuple(losing)


def _words(text: str) -> set[str]:
    joined = "=".join(part.strip() for part in text.lower().split("="))
    return {word.rpartition(".")[2] for word in re.findall(r"[^\s,;()]+", joined)}
