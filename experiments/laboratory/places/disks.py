"""The options of a virtual disk, in the words of a configuration, and which of them go together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# What is tried in a campaign, with its usual value first, and what each option is called.
CHOICES = {
    "cache_mode": {
        "none": "none",
        "writeback": "writeback",
        "writethrough": "writethrough",
        "directsync": "directsync",
        "unsafe": "unsafe: a host that dies loses acknowledged writes",
    },
    "io_mode": {"threads": "threads", "native": "native (Linux AIO)", "io_uring": "io_uring"},
    "image_format": {"raw": "raw", "qcow2": "qcow2"},
    "allocation": {
        "falloc": "reserved, not written",
        "sparse": "sparse (thin)",
        "metadata": "metadata only (qcow2)",
        "full": "fully written",
    },
    "disk_bus": {"virtio": "virtio", "scsi": "SCSI (virtio-scsi)", "sata": "SATA", "ide": "IDE", "xen": "Xen (xvd)"},
    "iothread": {"no": "none of its own", "yes": "a thread of its own"},
    "discard": {"ignore": "ignored", "unmap": "passed on"},
}
DEVICES = {"virtio": "virtio-blk", "scsi": "virtio-scsi", "sata": "AHCI", "ide": "IDE", "xen": "xen-blkfront"}
VOLUMES = {"raw": "raw device", "lvm": "LVM volume"}  # in place of a host file system; keys of kdb.host_storage
_DIRECT = ("none", "directsync")
_QEMU_WITH_URING = (5, 0)


@dataclass(frozen=True)
class Options:
    """The options of the disk under test; fields are those of a configuration (experiments.models.Configuration)."""

    cache_mode: str = "none"
    io_mode: str = "threads"
    image_format: str = "raw"
    allocation: str = "falloc"
    disk_bus: str = "virtio"
    iothread: str = "no"
    discard: str = "ignore"


def problems(options: Options) -> Iterator[tuple[str, str]]:
    """Yield what does not go together, whatever the hypervisor: the option and a sentence."""
    if options.io_mode == "native" and options.cache_mode not in _DIRECT:
        yield "io_mode", f"native passes the host's cache by: the cache mode is {' or '.join(_DIRECT)} with it."
    if options.allocation == "metadata" and options.image_format != "qcow2":
        yield "allocation", "Only qcow2 has metadata that can be written beforehand."
    if options.discard == "unmap" and options.allocation in ("falloc", "full"):
        yield (
            "discard",
            "mkfs in the guest discards the whole disk, so nothing of it would stay allocated: take a sparse image.",
        )
    if options.iothread == "yes" and options.disk_bus not in ("virtio", "scsi", "xen"):
        yield (
            "iothread",
            f"{options.disk_bus} disks are served by QEMU's main thread: virtio and scsi can have their own.",
        )


def problems_on_volumes(options: Options) -> Iterator[tuple[str, str]]:
    """Yield what a disk that is a volume cannot be: the option and a sentence."""
    usual = Options()
    if options.image_format != usual.image_format:
        yield "image_format", f"A disk on a volume is raw, not {options.image_format}."
    if options.allocation != usual.allocation:
        yield "allocation", "A volume is reserved as a whole: leave the allocation as it is."
    if options.discard != usual.discard:
        yield "discard", "A volume keeps its space: what the guest frees is ignored there."


def problem_with_qemu(options: Options, version: tuple[int, ...]) -> str:
    """Return why this QEMU cannot do it; empty where it can, or its version is not known. version : (7, 2, 22)"""
    if options.io_mode == "io_uring" and version and version < _QEMU_WITH_URING:
        return f"io_uring needs QEMU {'.'.join(map(str, _QEMU_WITH_URING))}, not {'.'.join(map(str, version))}."
    return ""


def pinned(cpus: Sequence[int], number: int, vcpus: int) -> tuple[int, ...]:
    """Return the host CPUs of the vCPUs of machine `number`, counted from 1: no two share one. Empty: not pinned."""
    return tuple(cpus[(number - 1) * vcpus : number * vcpus])
