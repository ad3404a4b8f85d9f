"""Spell what disk images lie on: a backend, and for a file what holds it. Standard library only.

A file on a file system is "dir-ext4", on a ZFS dataset "zfs", and "dir" where the file system is not stated; a volume,
a shared directory or a pool of Windows is its backend's name. How the disks below are put together (mirror, RAID-Z,
SLOG) is a setting of its own: pool_layout and pool_devices of kdb.disk_path.
"""

from collections.abc import Iterable, Mapping

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
    "linstor": "LINSTOR volume",
    "storpool": "StorPool volume",
}
SHARED_DIRECTORIES = {"virtiofs": "virtiofs", "9p": "9p", "nfs": "NFS"}
# Directories that a system for volumes or pools hands out; the file system on them may be stated beside.
MANAGED_DIRECTORIES = {
    "openebs-local": "OpenEBS local directory",
    "storage-spaces": "Storage Spaces",
    "s2d": "Storage Spaces Direct",
}
BACKENDS = {FILE: "File on a file system", **VOLUMES, **SHARED_DIRECTORIES, **MANAGED_DIRECTORIES}
# A backend, or one that a case study proposes; keys of files on a file system are none. For Python and PostgreSQL.
BACKEND = r"\A(|(?!dir(-|\Z)|zfs\Z)[a-z0-9][a-z0-9-]*)\Z"
# What people write for a key, beside it and its label: what is read so in questions only is in
# experiments.rules.names.
WORDS = {
    FILE: ("files", "image file", "raw file", "qcow2 file", "file-backed"),
    "lvm": (
        *("lvm thick", "thick lvm", "logical volume", "logical volumes", "raw lvm", "lv", "lvm volumes", "lvm linear"),
    ),
    "lvm-thin": (*("thin pool", "thinpool", "thin lvm", "lvm thin pool", "lvm thin provisioning"),),
    "zvol": ("zfs zvol", "zfs volumes", "zvols", "zfs block volume", "zfs block device"),
    "rbd": ("ceph block", "rados block device"),
    "iscsi": ("i-scsi", "iscsi lun", "iscsi target", "iscsi san"),
    "nvme-tcp": ("nvme over tcp",),
    "raw": (
        *("raw disk", "raw disks", "raw device", "raw partition", "passthrough", "disk passthrough", "raw block"),
        *("raw block device", "physical disk", "physical partition"),
    ),
    "rook": ("rook ceph", "rook-ceph"),
    "longhorn": ("rancher longhorn",),
    "openebs-zfs": ("openebs zfs", "zfs localpv", "localpv zfs", "zfs-localpv"),
    "openebs-lvm": ("openebs lvm", "lvm localpv", "localpv lvm", "lvm-localpv"),
    "openebs-local": ("openebs local", "openebs hostpath"),
    "vsan": ("vmware vsan",),
    "linstor": ("linstor drbd", "linbit sds"),
    "storage-spaces": ("windows storage spaces",),
    "s2d": ("storage spaces direct",),
    "nfs": ("nfs share", "nfs storage", "nfs datastore", "nfs export"),
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
    if key in ("zfs", FILE, UNNAMED) or key.startswith(f"{UNNAMED}-"):
        return FILE, "" if key in (FILE, UNNAMED) else key.removeprefix(f"{UNNAMED}-")
    return key, ""


def backend_label(backend: str) -> str:
    """Return what a backend is called; one that a case study has proposed, by its slug."""
    return BACKENDS.get(backend, backend)


def backends() -> list[tuple[str, str]]:
    """Return every well-known backend with its label: choices of a database field."""
    return list(BACKENDS.items())


def host_storages(file_systems: Mapping[str, str], proposed: Iterable[str] = ()) -> dict[str, str]:
    """Return every key with its label. file_systems : slug to name; proposed : backends that case studies have, too"""
    files = {
        host_storage_key(FILE, slug) or "": "ZFS dataset" if slug == "zfs" else f"Directory on {name}"
        for slug, name in file_systems.items()
    }
    others = {backend: backend_label(backend) for backend in (*BACKENDS, *proposed) if backend != FILE}
    return {**files, UNNAMED: "Directory, file system not stated", **others}
