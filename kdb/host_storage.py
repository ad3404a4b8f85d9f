"""Spell the keys of host storage, on which disk images lie: "dir-ext4", "lvm-thin". Standard library only.

A file on a file system is "dir-ext4", on a ZFS dataset "zfs", and "dir" where the file system is not stated; volumes,
shared directories and pools of Windows have the name of their backend. The layout of the disks below, such as mirror,
RAID-Z and SLOG, is in the settings pool_layout and pool_devices of kdb.disk_path.
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
# Directories that a volume manager provides; their file system may be stated, too.
MANAGED_DIRECTORIES = {
    "openebs-local": "OpenEBS local directory",
    "storage-spaces": "Storage Spaces",
    "s2d": "Storage Spaces Direct",
}
BACKENDS = {FILE: "File on a file system", **VOLUMES, **SHARED_DIRECTORIES, **MANAGED_DIRECTORIES}
# The form of a backend, also of one that a case study proposes: no key of files. Valid for Python and PostgreSQL.
BACKEND = r"\A(|(?!dir(-|\Z)|zfs\Z)[a-z0-9][a-z0-9-]*)\Z"
# Other spellings of each key, beside its label. Those that are only understood in questions are in
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
UNNAMED = "dir"  # a file on a file system that the source does not state


def host_storage_key(backend: str, host_fs: str | None) -> str | None:
    """Return the key of a backend and its file system; None where neither is stated.

    backend : of BACKENDS, or "" where it is not stated; with a stated file system that means a file
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
    """Return the label of a backend; the slug of one that a case study proposed."""
    return BACKENDS.get(backend, backend)


def backends() -> list[tuple[str, str]]:
    """Return the choices of a database field: every well-known backend with its label."""
    return list(BACKENDS.items())


def host_storages(file_systems: Mapping[str, str], proposed: Iterable[str] = ()) -> dict[str, str]:
    """Return every key with its label. file_systems : slug to name; proposed : backends of case studies"""
    files = {
        host_storage_key(FILE, slug) or "": "ZFS dataset" if slug == "zfs" else f"Directory on {name}"
        for slug, name in file_systems.items()
    }
    others = {backend: backend_label(backend) for backend in (*BACKENDS, *proposed) if backend != FILE}
    return {**files, UNNAMED: "Directory, file system not stated", **others}
