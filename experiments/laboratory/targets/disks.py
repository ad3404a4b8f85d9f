"""The options of what a campaign makes, in the words of a configuration, and which of them go together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from kdb.disk_path import SETTINGS

# What can be tried in a campaign, each value in words, with the usual one first.
CHOICES = {
    setting.column: {name: setting.value_label(name) for name in setting.tried}
    for setting in SETTINGS.values()
    if setting.tried
}
USUAL = {name: next(iter(known)) for name, known in CHOICES.items()}
DEVICES = {"virtio": "virtio-blk", "scsi": "virtio-scsi", "sata": "AHCI", "ide": "IDE", "xen": "xen-blkfront"}
OF_FILE_SYSTEM = ("compression", "pool_devices")  # made on the host itself; all others are of virtual disks
VOLUMES = {"raw": "raw device", "lvm": "LVM volume"}  # in place of a host file system; keys of kdb.host_storage
_DIRECT = ("none", "directsync")
# The attributes of libvirt's <driver>, and the words of a disk of `qm`.
_LIBVIRT = {"image_format": "type", "cache_mode": "cache", "io_mode": "io", "discard": "discard"}
_QM = {"image_format": "format", "cache_mode": "cache", "io_mode": "aio", "discard": "discard"}
_QEMU_WITH_URING = (5, 0)


@dataclass(frozen=True, init=False)
class Options:
    """The options of what is under test, by the names of a configuration's fields: `options.cache_mode`."""

    values: Mapping[str, str]

    def __init__(self, **given: str) -> None:
        """Take what is given; everything else has its default."""
        object.__setattr__(self, "values", USUAL | given)

    def __getattr__(self, name: str) -> str:
        if name in USUAL:
            return self.values[name]
        raise AttributeError(name)


def combinations(values: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what tells the disks of a campaign apart: "cache_mode=writeback io_mode=native"; "" where nothing does.

    values : of each option, one or several
    """
    varied = {name: chosen for name, chosen in values.items() if len(chosen) > 1}
    return [
        " ".join(f"{name}={value}" for name, value in zip(varied, combination, strict=True))
        for combination in product(*varied.values())
    ]


def parse_combination(combination: str) -> dict[str, str]:
    """Return the option and value of each word of such a combination."""
    return dict(word.split("=", 1) for word in combination.split())


def describe(combination: str) -> str:
    """Return such a combination as people read it: "cache mode writeback, I/O mode native"."""
    return ", ".join(
        f"{SETTINGS[name].in_sentence} {SETTINGS[name].value_label(value)}" if name in SETTINGS else f"{name} {value}"
        for name, value in parse_combination(combination).items()
    )


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
    if options.volume_block_bytes != USUAL["volume_block_bytes"] and options.image_format != "qcow2":
        yield (
            "volume_block_bytes",
            f"A {options.image_format} image has no clusters: the image format is qcow2 with it.",
        )
    if options.iothread == "yes" and options.disk_bus not in ("virtio", "scsi", "xen"):
        yield (
            "iothread",
            f"{options.disk_bus} disks are served by QEMU's main thread: virtio and scsi can have their own.",
        )


def problems_on_volumes(options: Options) -> Iterator[tuple[str, str]]:
    """Yield what a disk that is a volume cannot be: the option and a sentence."""
    if options.image_format != USUAL["image_format"]:
        yield "image_format", f"A disk on a volume is raw, not {options.image_format}."
    if options.allocation != USUAL["allocation"]:
        yield "allocation", "A volume is reserved as a whole: leave the allocation as it is."
    if options.discard != USUAL["discard"]:
        yield "discard", "A volume keeps its space: what the guest frees is ignored there."


def problem_with_qemu(options: Options, version: tuple[int, ...]) -> str:
    """Return why this QEMU cannot do it; empty where it can, or its version is not known. version : (7, 2, 22)"""
    if options.io_mode == "io_uring" and version and version < _QEMU_WITH_URING:
        return f"io_uring needs QEMU {'.'.join(map(str, _QEMU_WITH_URING))}, not {'.'.join(map(str, version))}."
    return ""


def libvirt_attributes(values: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes of libvirt's <driver> that say these options; a SCSI disk's thread is its controller's."""
    driver = {attribute: values[name] for name, attribute in _LIBVIRT.items() if name in values}
    has_thread = values.get("iothread") == "yes" and values.get("disk_bus") == "virtio"
    return driver | {"iothread": "1"} if has_thread else driver


def qm_options(values: Mapping[str, str]) -> list[str]:
    """Return the words of a disk of Proxmox VE's `qm` that say these options."""
    options = {word: values[name] for name, word in _QM.items() if name in values}
    if options.get("discard") == "unmap":
        options["discard"] = "on"
    if values.get("iothread") == "yes":
        options["iothread"] = "1"
    return [f"{word}={value}" for word, value in options.items()]


def pinned(cpus: Sequence[int], number: int, vcpus: int) -> tuple[int, ...]:
    """Return the host CPUs of the vCPUs of machine `number`, counted from 1: no two share one. Empty: not pinned."""
    return tuple(cpus[(number - 1) * vcpus : number * vcpus])
