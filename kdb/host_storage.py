"""Spell what disk images lie on: a backend, and for a file what holds it. Standard library only.

A file on a file system is "dir-ext4", on a ZFS dataset "zfs", and "dir" where the file system is not stated; a volume,
a shared directory or a pool of Windows is its backend's name. How the disks below are put together (mirror, RAID-Z,
SLOG) is a setting of its own: pool_layout and pool_devices of kdb.disk_path.
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
    "rook": "Ceph RBD by Rook",
    "longhorn": "Longhorn volume",
    "openebs-zfs": "OpenEBS volume on local ZFS",
    "openebs-lvm": "OpenEBS volume on local LVM",
    "vsan": "VMware vSAN",
}
SHARED_DIRECTORIES = {"virtiofs": "virtiofs", "9p": "9p", "nfs": "NFS"}
# Directories that a system for volumes or pools hands out; the file system on them may be stated beside.
MANAGED_DIRECTORIES = {
    "openebs-local": "OpenEBS local directory",
    "storage-spaces": "Storage Spaces",
    "s2d": "Storage Spaces Direct",
}
BACKENDS = {FILE: "File on a file system", **VOLUMES, **SHARED_DIRECTORIES, **MANAGED_DIRECTORIES}
# What people write for a key, beside it and its label.
WORDS = {
    "lvm": ("lvm thick", "logical volume", "raw lvm"),
    "lvm-thin": ("lvmthin", "lvm thin", "thin pool", "thinpool", "thin lvm"),
    "zvol": ("zfs zvol", "zfs volume", "zvols"),
    "rbd": ("ceph", "ceph block"),
    "nvme-tcp": ("nvme over tcp", "nvme-of", "nvmeof"),
    "raw": ("raw disk", "raw device", "raw partition", "passthrough", "disk passthrough"),
    "rook": ("rook ceph", "rook-ceph"),
    "longhorn": ("rancher longhorn",),
    "openebs-zfs": ("openebs zfs", "zfs localpv", "localpv zfs", "zfs-localpv"),
    "openebs-lvm": ("openebs lvm", "lvm localpv", "localpv lvm", "lvm-localpv"),
    "openebs-local": ("openebs", "openebs local", "openebs hostpath", "localpv", "local pv"),
    "vsan": ("vmware vsan",),
    "storage-spaces": ("windows storage spaces",),
    "s2d": ("storage spaces direct", "azure stack hci"),
    "zfs": ("dataset", "zfs dir", "zfs directory"),
    "nfs": ("nfs share",),
    "9p": ("9pfs", "virtio-9p", "plan 9"),
    "virtiofs": ("virtio-fs", "virtio fs"),
}
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


def backends() -> list[tuple[str, str]]:
    """Return every backend with its label: choices of a database field, where one more needs no migration."""
    return list(BACKENDS.items())


def host_storages(file_systems: Mapping[str, str]) -> dict[str, str]:
    """Return every key with its label. file_systems : slug to name"""
    files = {
        host_storage_key(FILE, slug) or "": "ZFS dataset" if slug == "zfs" else f"Directory on {name}"
        for slug, name in file_systems.items()
    }
    others = {backend: label for backend, label in BACKENDS.items() if backend != FILE}
    return {**files, UNNAMED: "Directory, file system not stated", **others}
