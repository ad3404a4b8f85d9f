"""Spell what disk images lie on: a backend, and for a file what holds it. Standard library only.

A file on a file system is "dir-ext4", on a ZFS dataset "zfs", and "dir" where the file system is not stated; a volume
or a shared directory is its backend's name.
"""

from collections.abc import Mapping

FILE = "file"
VOLUMES = {
    "lvm": "LVM volume",
    "lvm-thin": "LVM-thin volume",
    "zvol": "ZFS volume",
    "rbd": "Ceph RBD",
    "iscsi": "iSCSI",
    "nvme-tcp": "NVMe/TCP",
    "raw": "Raw device or partition",
}
SHARED_DIRECTORIES = {"virtiofs": "virtiofs", "9p": "9p", "nfs": "NFS"}
BACKENDS = {FILE: "File on a file system", **VOLUMES, **SHARED_DIRECTORIES}
UNNAMED = "dir"  # a file on a file system that its source does not name


def host_storage_key(backend: str, host_fs: str | None) -> str | None:
    """Return the key of a backend and the file system that holds the images; None where neither is stated.

    backend : of BACKENDS, or "" where it is not stated; a stated file system of the host means a file
    """
    if backend not in (FILE, ""):
        return backend
    if host_fs:
        return host_fs if host_fs == "zfs" else f"{UNNAMED}-{host_fs}"
    return UNNAMED if backend else None


def host_storage_parts(key: str) -> tuple[str, str]:
    """Return backend and file system, "" where there is none or it is not stated: the inverse of host_storage_key."""
    if key in BACKENDS:
        return key, ""
    return FILE, "" if key == UNNAMED else key.removeprefix(f"{UNNAMED}-")


def host_storages(file_systems: Mapping[str, str]) -> dict[str, str]:
    """Return every key with its label. file_systems : slug to name"""
    files = {
        host_storage_key(FILE, slug) or "": "ZFS dataset" if slug == "zfs" else f"Directory on {name}"
        for slug, name in file_systems.items()
    }
    others = {backend: label for backend, label in BACKENDS.items() if backend != FILE}
    return {**files, UNNAMED: "Directory, file system not stated", **others}
