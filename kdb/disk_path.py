"""The settings of the path from a guest to the disk. Axes, filters, forms and search are derived from them.

Standard library only. A setting is a field of experiments.models.Configuration; a new one needs an entry here, that
field and its column in imports, and is listed nowhere else. A setting that a source does not state is "".
Sources of values: QEMU's documentation of disk images and of -blockdev, libvirt's formatdomain, qm(1) of Proxmox VE,
zfsprops(7), zpoolconcepts(7), cryptsetup(8).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True)
class Value:
    """One value of a setting. name : as it is stored; words : other names that people write"""

    name: str
    label: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """One setting of the path between a benchmark in a guest and the disk of the host.

    column : field of Configuration, column of the data frame of arms, and filter of a question
    axis : on which its values are compared
    meaning : one or two sentences that explain it
    words : other names of it than label and axis
    values : the well-known ones; case studies may publish others
    is_closed : whether no others are allowed
    is_bytes : whether it is a number of bytes, whose values are its digits
    of : column that its values belong to, as a release is one of a hypervisor
    is_environment : whether comparisons on other axes hold it equal even where one side does not state it; otherwise
        only where both do
    set_by_hypervisor : whether hypervisors have a default for it
    comes_with : columns whose entries may bring a value of it with them; a difference may then be due to either, which
        the answer states
    part_of : columns whose entries it is part of; a difference in it counts as a difference between these
    may_come_along : columns that may differ, too, in a comparison on its own axis
    is_native : whether native configurations have it
    narrowed : words for it that also imply filters: word to filters
    tried : values that a campaign can give to the disks it makes, the usual one first
    """

    column: str
    axis: str
    label: str
    meaning: str
    words: tuple[str, ...] = ()
    values: tuple[Value, ...] = ()
    is_closed: bool = False
    is_bytes: bool = False
    of: str = ""
    is_environment: bool = False
    set_by_hypervisor: bool = False
    comes_with: tuple[str, ...] = ()
    part_of: tuple[str, ...] = ()
    may_come_along: tuple[str, ...] = ()
    is_native: bool = False
    narrowed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tried: tuple[str, ...] = ()

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Return the choices of its database field: the well-known values, and "" for not stated."""
        return [*((value.name, value.label) for value in self.values), ("", "not stated")]

    @property
    def in_sentence(self) -> str:
        """Return the label for the middle of a sentence: "cache mode", "I/O mode"."""
        return self.label if self.label[1:2] == "/" else self.label[:1].lower() + self.label[1:]

    @property
    def spellings(self) -> dict[str, str]:
        """Return a mapping from each spelling, in its own case, to the well-known value that it means."""
        return {word: value.name for value in self.values for word in (value.name, value.label, *value.words)}

    def value_label(self, name: str) -> str:
        """Return the label of a value: "16 KiB", "virtio-blk"; the value itself where it has none."""
        if self.is_bytes and name.isdigit():
            return size_label(int(name))
        return next((value.label for value in self.values if value.name == name), name)


SETTINGS = {
    setting.column: setting
    for setting in (
        Setting(
            "cache_mode",
            "cache-mode",
            "Cache mode",
            "Whether reads and writes of the virtual disk go through the host's page cache, and whether flushes of the "
            "guest are passed on. unsafe drops flushes: what was acknowledged can be lost.",
            ("cache", "caching", "disk cache", "cache setting", "write cache", "host cache", "host caching"),
            (
                Value("none", "none", ("no cache", "cache none", "cache=none", "o_direct")),
                Value("writethrough", "writethrough", ("write through", "write-through", "wt")),
                Value("writeback", "writeback", ("write back", "write-back", "wb")),
                Value("directsync", "directsync", ("direct sync", "direct-sync")),
                Value("unsafe", "unsafe", ("writeback unsafe", "writeback-unsafe", "cache unsafe")),
            ),
            is_environment=True,
            set_by_hypervisor=True,
            comes_with=("hypervisor",),
            may_come_along=("io_mode",),
            tried=("none", "writeback", "writethrough", "directsync", "unsafe"),
        ),
        Setting(
            "disk_bus",
            "disk-bus",
            "Disk bus",
            "The controller that the guest sees: paravirtual ones (virtio-blk, virtio-scsi, Xen's) know that they are "
            "virtual, SATA and IDE are imitated hardware.",
            ("bus", "controller", "disk controller", "storage controller", "virtual disk bus", "disk interface"),
            (
                Value("virtio", "virtio-blk", ("virtio blk", "virtio block", "virtioblk", "viostor")),
                Value(
                    "scsi",
                    "SCSI (virtio-scsi)",
                    ("virtio-scsi", "virtio scsi", "vioscsi", "virtioscsi", "virtio-scsi-single", "virtio scsi single"),
                ),
                Value("sata", "SATA", ("ahci",)),
                Value("ide", "IDE"),
                Value("nvme", "NVMe (emulated)", ("virtual nvme", "emulated nvme", "nvme controller", "vnvme")),
                Value("xen", "Xen (xvd)", ("xvd", "xen-blkfront", "xen blkfront", "blkfront")),
                Value("pvscsi", "PVSCSI", ("vmware paravirtual", "paravirtual scsi", "vmware-pvscsi")),
                Value("lsilogic", "LSI Logic", ("lsi", "lsi logic", "lsisas", "lsi logic sas")),
            ),
            is_environment=True,
            set_by_hypervisor=True,
            comes_with=("hypervisor",),
            may_come_along=("iothread",),
            tried=("virtio", "scsi", "sata", "ide", "xen"),
        ),
        Setting(
            "image_format",
            "image-format",
            "Image format",
            "How a virtual disk is laid out in its file. raw is the disk's bytes and nothing else; formats such as "
            "qcow2 add a table that finds each block, for snapshots and thin files.",
            ("format", "disk format", "image type", "disk image", "disk image format", "virtual disk format"),
            (
                Value("raw", "raw", ("raw image", "raw file", "img")),
                Value("qcow2", "qcow2", ("qcow", "qcow 2")),
                Value("vmdk", "VMDK"),
                Value("vhdx", "VHDX", ("vhd-x",)),
                Value("vhd", "VHD", ("vpc",)),
                Value("vdi", "VDI"),
                Value("qed", "QED"),
            ),
            is_environment=True,
            set_by_hypervisor=True,
            comes_with=("host_storage", "hypervisor"),
            may_come_along=("allocation",),
            tried=("raw", "qcow2"),
        ),
        Setting(
            "allocation",
            "allocation",
            "Allocation of the image",
            "Whether the space of a virtual disk is taken when it is made (thick) or when it is first written (thin).",
            ("preallocation", "provisioning", "thin or thick", "thick or thin", "thin provisioning"),
            (
                Value(
                    "sparse",
                    "sparse",
                    (
                        *("thin", "thin provisioned", "dynamic", "not preallocated", "dynamically expanding"),
                        *("thin disk", "thin disks"),
                    ),
                ),
                Value("metadata", "metadata only", ("preallocation=metadata", "metadata preallocation")),
                Value("falloc", "reserved, not written", ("fallocate", "preallocation=falloc", "lazy zeroed")),
                Value(
                    "full",
                    "fully written",
                    (
                        *("thick", "preallocated", "preallocation=full", "eager zeroed", "thick provisioned"),
                        *("fixed size", "fixed", "fully allocated", "eager zeroed thick"),
                    ),
                ),
            ),
            is_closed=True,
            set_by_hypervisor=True,
            comes_with=("host_storage",),
            tried=("falloc", "sparse", "metadata", "full"),
        ),
        Setting(
            "io_mode",
            "io-mode",
            "I/O mode",
            "How the hypervisor hands requests to the host's kernel: by a pool of threads, by Linux AIO (native), by "
            "io_uring, one after another in the thread of the device (sync), or not so, by what is not stated (async).",
            ("io mode", "aio", "aio mode", "async io", "asynchronous io", "io engine of the disk"),
            (
                Value("threads", "threads", ("aio threads", "aio=threads", "thread pool")),
                Value("native", "native", ("aio native", "aio=native", "linux aio", "libaio")),
                Value("io_uring", "io_uring", ("iouring", "io uring", "io-uring", "aio=io_uring", "uring")),
                Value("sync", "sync", ("synchronous", "synchronous engine", "sync engine")),
                Value("async", "async", ("asynchronous", "asynchronous engine", "async engine")),
            ),
            is_closed=True,
            set_by_hypervisor=True,
            tried=("threads", "native", "io_uring"),
        ),
        Setting(
            "discard",
            "discard",
            "Discard",
            "Whether what the guest frees is passed on to the host's storage, so that thin disks shrink again.",
            ("trim", "unmap setting", "discard setting"),
            (
                Value("unmap", "passed on", ("discard=on", "discard on", "discard=unmap", "with trim")),
                Value("ignore", "ignored", ("discard=ignore", "discard off", "without trim")),
            ),
            is_closed=True,
            tried=("ignore", "unmap"),
        ),
        Setting(
            "iothread",
            "iothread",
            "I/O thread",
            "Whether a thread of its own serves the disk, or QEMU's main thread does beside its other work.",
            ("io thread", "iothreads", "io threads", "i/o threads", "dataplane"),
            (
                Value("yes", "one for each disk", ("iothread=1", "with iothread", "iothread on")),
                Value("no", "none", ("iothread=0", "without iothread", "iothread off")),
            ),
            is_closed=True,
            tried=("no", "yes"),
        ),
        Setting(
            "volume_block_bytes",
            "volume-block-size",
            "Block size of the volume",
            "The unit in which what holds a virtual disk maps and rewrites it: volblocksize of a ZFS volume, "
            "recordsize of a ZFS dataset, cluster size of a qcow2 image, chunk size of an LVM-thin pool. A smaller "
            "write costs a whole one.",
            ("volume block size", "block size of the image", "cluster size", "volblocksize", "recordsize"),
            tried=("65536", "16384", "262144", "2097152"),  # clusters of qcow2 images
            is_bytes=True,
            comes_with=("hypervisor",),
            part_of=("host_fs", "host_storage", "image_format"),
            is_native=True,
            narrowed={
                "volblocksize": {"host_storage": "zvol"},
                "vol block size": {"host_storage": "zvol"},
                "recordsize": {"host_storage": "zfs"},
                "record size": {"host_storage": "zfs"},
                "cluster size": {"image_format": "qcow2"},
                "cluster_size": {"image_format": "qcow2"},
                "chunk size": {"host_storage": "lvm-thin"},
                "chunksize": {"host_storage": "lvm-thin"},
            },
        ),
        Setting(
            "compression",
            "compression",
            "Compression",
            "What the host compresses the disk with before it is written; it saves writes where data compress, and "
            "costs processor time.",
            ("compress", "compressed"),
            (
                Value("off", "off", ("no compression", "uncompressed", "compression off", "compression=off")),
                Value("lz4", "LZ4", ("compression=lz4",)),
                Value("zstd", "Zstandard", ("compression=zstd", "zstandard")),
                Value("gzip", "gzip", ("compression=gzip",)),
                Value("zlib", "zlib"),
                Value("lzo", "LZO"),
            ),
            comes_with=("host_fs", "host_storage", "hypervisor"),
            is_native=True,
            tried=("off", "zstd", "lzo", "zlib"),
        ),
        Setting(
            "encryption",
            "encryption",
            "Encryption",
            "Where between guest and disk data are encrypted.",
            ("encrypt", "encrypted", "crypto"),
            (
                Value("none", "none", ("no encryption", "unencrypted", "encryption off")),
                Value("block", "of the block device", ("luks", "dm-crypt", "bitlocker", "full disk encryption")),
                Value("file-system", "of the file system", ("zfs native encryption", "zfs encryption", "fscrypt")),
                Value("image", "of the image", ("qcow2 encryption", "luks image", "vm encryption")),
                Value("guest", "inside the guest", ("encrypted guest", "luks in the guest", "guest encryption")),
            ),
            is_closed=True,
            comes_with=("host_fs", "host_storage", "hypervisor"),
            is_native=True,
        ),
        Setting(
            "snapshot",
            "snapshot",
            "Snapshot in use",
            "Whether the disk was measured while a snapshot held its earlier state, and who keeps that: the image "
            "itself, an overlay above a base image, or the storage below.",
            ("snapshots", "with snapshot", "under snapshot", "snapshot kind", "backing chain"),
            (
                Value("none", "none", ("no snapshot", "without snapshot", "without snapshots")),
                Value("internal", "inside the image", ("internal snapshot", "qcow2 snapshot", "savevm")),
                Value("overlay", "overlay on a base image", ("external snapshot", "backing file", "linked clone")),
                Value("storage", "by the storage", ("lvm snapshot", "zfs snapshot", "btrfs snapshot", "rbd snapshot")),
            ),
            is_closed=True,
            comes_with=("host_storage", "hypervisor"),
            may_come_along=("image_format", "allocation", "volume_block_bytes"),
        ),
        Setting(
            "pool_layout",
            "pool-layout",
            "Layout of the pool",
            "How the disks below the host's storage are put together: alone, striped, mirrored, or with parity.",
            ("raid", "raid level", "pool layout", "vdev layout", "mirror or raidz"),
            (
                Value("single", "single disk", ("one disk", "no raid")),
                Value("stripe", "striped", ("raid0", "raid 0", "striped disks")),
                Value("mirror", "mirror", ("raid1", "raid 1", "mirrored")),
                Value("striped-mirrors", "striped mirrors", ("raid10", "raid 10", "striped mirror")),
                Value("raidz1", "RAID-Z1", ("raidz", "raid-z", "raid-z1")),
                Value("raidz2", "RAID-Z2", ("raid-z2",)),
                Value("raidz3", "RAID-Z3", ("raid-z3",)),
                Value("draid", "dRAID"),
                Value("raid5", "RAID 5", ("raid 5",)),
                Value("raid6", "RAID 6", ("raid 6",)),
                Value("replicated", "replicated over hosts", ("replica", "replicas", "replication")),
                Value("erasure-coded", "erasure-coded over hosts", ("erasure coding", "erasure coded", "ec pool")),
            ),
            is_closed=True,
            comes_with=("host_fs", "host_storage", "hypervisor"),
            is_native=True,
        ),
        Setting(
            "pool_devices",
            "pool-devices",
            "Further devices of the pool",
            "Faster devices that a pool has beside its data disks: a log of synchronous writes (SLOG), one for "
            "metadata and small blocks (special), a read cache (L2ARC), or the journal of ext4 or XFS.",
            ("log device", "support vdev", "slog or special", "cache device"),
            (
                Value("none", "none", ("no slog", "without slog")),
                Value("slog", "SLOG", ("zil device", "separate log", "log vdev")),
                Value("special", "special vdev", ("special device", "metadata vdev", "special vdevs")),
                Value("slog-special", "SLOG and special vdev", ("slog and special",)),
                Value("cache", "read cache", ("l2arc", "cache vdev", "read cache device")),
                Value("journal", "journal apart", ("external journal", "journal device", "logdev")),
            ),
            is_closed=True,
            comes_with=("host_fs", "host_storage", "hypervisor"),
            may_come_along=("pool_layout",),
            is_native=True,
            tried=("none", "journal"),
        ),
        Setting(
            "hypervisor_release",
            "hypervisor-release",
            "Release of the hypervisor",
            "The hypervisor's version, with that of QEMU where its source names it.",
            ("hypervisor version", "qemu version", "qemu release", "esxi version", "proxmox version", "new release"),
            of="hypervisor",
            part_of=("hypervisor",),
            may_come_along=("host_kernel", "host_fs_release"),
        ),
        Setting(
            "host_kernel",
            "host-kernel",
            "Kernel of the host",
            "The version of the kernel that the host runs.",
            (
                "host kernel version",
                "kernel version",
                "linux version",
                "host kernel release",
                "kernel",
                "kernel release",
            ),
            part_of=("hypervisor",),
            may_come_along=("hypervisor_release", "host_fs_release"),
            is_native=True,
        ),
        Setting(
            "host_fs_release",
            "host-fs-release",
            "Release of the host's file system",
            "The version of the file system or volume manager that holds the images, where it has one of its own.",
            ("zfs version", "openzfs version", "zfs release", "host file system version", "file system release"),
            of="host_storage",
            part_of=("hypervisor", "host_fs", "host_storage"),
            may_come_along=("host_kernel", "hypervisor_release"),
            is_native=True,
        ),
        Setting(
            "guest_kernel",
            "guest-kernel",
            "Kernel of the guest",
            "The version of the kernel that runs in the virtual machine.",
            ("guest kernel version", "guest kernel release"),
            may_come_along=("guest_fs_release",),
        ),
        Setting(
            "guest_fs_release",
            "guest-fs-release",
            "Release of the guest's file system",
            "The version of the file system in the virtual machine, where it has one of its own.",
            ("guest file system version",),
            of="guest_fs",
            part_of=("guest_fs",),
            may_come_along=("guest_kernel",),
        ),
        Setting(
            "disk_driver_release",
            "disk-driver-release",
            "Release of the disk's driver",
            "The driver of the virtual disk in the virtual machine, with its version, where it has one of its own: "
            "viostor 0.1.110 in a Windows guest.",
            ("disk driver version", "disk driver release", "driver version", "viostor version", "virtio-win version"),
            of="disk_bus",
            part_of=("disk_bus",),
        ),
    )
}


def choices_of(column: str) -> list[tuple[str, str]]:
    """Return the choices of the database field of this column."""
    return SETTINGS[column].choices


def size_label(size: int) -> str:
    """Return a number of bytes in the largest unit that divides it: "16 KiB", "1 MiB", "1,000 bytes"."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size:,} bytes"


def bytes_of(text: str) -> int | None:
    """Return a block size in bytes: 16384 for "16384", "16k" and "16 KiB"; None where the text is none."""
    folded = text.strip().lower().replace(" ", "")
    for ending in ("ibytes", "bytes", "byte", "ib"):
        folded = folded.removesuffix(ending)
    if folded[-1:] == "b" and not folded[:-1].isdigit():
        folded = folded[:-1]
    digits = folded.rstrip("bkmg")
    unit = folded[len(digits) :]
    if not digits.isascii() or not digits.isdigit() or unit not in _UNITS or len(digits) > 12:
        return None
    return int(digits) * _UNITS[unit] or None
