"""Spell the keys of host storage, on which disk images lie: "dir-ext4", "lvm-thin". Standard library only.

A file on a file system is "dir-ext4", on a ZFS dataset "zfs", and "dir" where the file system is not stated; volumes,
shared directories and pools of Windows have the slug of their entry in the catalogue (HostStorage). The layout of the
disks below, such as mirror, RAID-Z and SLOG, is in the settings pool_layout and pool_devices of kdb.disk_path.
"""

from collections.abc import Mapping

FILE = "file"
# The form of a backend: no key of files. Valid for Python and PostgreSQL.
BACKEND = r"\A(|(?!dir(-|\Z)|zfs\Z)[a-z0-9][a-z0-9-]*)\Z"
UNNAMED = "dir"  # a file on a file system that the source does not state


def host_storage_key(backend: str, host_fs: str | None) -> str | None:
    """Return the key of a backend and its file system; None where neither is stated.

    backend : a slug of the catalogue, or "" where it is not stated; with a stated file system that means a file
    """
    if backend not in (FILE, ""):
        return backend
    if host_fs:
        return host_fs if host_fs == "zfs" else f"{UNNAMED}-{host_fs}"
    return UNNAMED if backend else None


def host_storage_parts(key: str) -> tuple[str, str]:
    """Return backend and file system, "" where there is none or it is not stated: the inverse of host_storage_key."""
    if key in ("zfs", FILE, UNNAMED) or key.startswith(f"{UNNAMED}-"):
        return FILE, "" if key in (FILE, UNNAMED) else key.removeprefix(f"{UNNAMED}-")
    return key, ""


def host_storages(file_systems: Mapping[str, str], storages: Mapping[str, str]) -> dict[str, str]:
    """Return every key with its label. file_systems, storages : slug to name of the catalogue's entries"""
    files = {
        host_storage_key(FILE, slug) or "": "ZFS dataset" if slug == "zfs" else f"Directory on {name}"
        for slug, name in file_systems.items()
    }
    others = {slug: name for slug, name in storages.items() if slug != FILE}
    return {**files, UNNAMED: "Directory, file system not stated", **others}
