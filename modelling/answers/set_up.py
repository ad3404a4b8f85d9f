"""Describe how the recommended entry was set up where it was measured: stated facts, and commands made from them.

Nothing is added that no case study states. Commands hold only words of the tables below and texts that match the
patterns below, because readers paste them into a shell; any other text is shown as a fact.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

from experiments.case_studies.tables import FACTS, NATIVE_FACTS
from experiments.laboratory.targets import disks
from experiments.models import Configuration
from kdb.disk_path import SETTINGS
from kdb.host_storage import FILE
from modelling.estimation.ranking import Entry, Ranking
from modelling.evidence.durability import losing_options
from modelling.evidence.words import listed

from .configurations import configurations_behind, describe_selection, from_newest_studies
from .content import NOT_STATED, SetUp, SetUpFact, SetUpLine, StatedValue

_CACHE_MODES = tuple(mode for mode in disks.CHOICES["cache_mode"] if not losing_options(mode, "", ""))
_IMAGE_FORMATS = ("raw", "qcow2")
_CHOICES = {
    "Cache mode": _CACHE_MODES,
    "Image format": _IMAGE_FORMATS,
}  # alternatives that a case study could have tried
_MKFS_NAMES = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "reiserfs")
_PREALLOCATION = {"sparse": "off", "metadata": "metadata", "falloc": "falloc", "full": "full"}  # qemu-img's words
_MOUNT_OPTION = re.compile(r"[A-Za-z0-9_=.:+/-]+")
_MKFS_OPTIONS = re.compile(r"-[A-Za-z0-9_=.:,^ -]+")  # no slash: a path could be a device
_Fact = Callable[[Configuration], str]
_Stated = Mapping[Configuration, set[str]]  # one of equal configurations, to all their case studies
_COMPARED_FIELDS = [  # all that a configuration states
    field.attname
    for field in Configuration._meta.concrete_fields
    if field.name not in ("id", "case_study", "slug", "note")
]
_SEE_FACTS = "see the facts"
_PROXMOX = "proxmox"
_QEMU = {"kvm", _PROXMOX, "qemu-tcg"}  # hypervisors whose images qemu-img makes
# Options of QEMU's virtual disks, with their possible values.
_DISK_OPTIONS = {
    "image_format": _IMAGE_FORMATS,
    "cache_mode": _CACHE_MODES,
    **{name: tuple(disks.CHOICES[name]) for name in ("io_mode", "discard", "iothread")},
    "disk_bus": ("virtio", "scsi", "sata", "ide"),
}
_ASSUMED = {
    "cache_mode": "writeback",
    "allocation": "sparse",
    "disk_bus": "ide",
}  # to check combinations
# `pvesm add`, which writes storage.cfg: the type of a storage and where it is.
_STORAGES = {
    FILE: 'dir "$STORAGE" --path "$HOST_FOLDER"',
    "lvm": 'lvm "$STORAGE" --vgname "$VOLUME_GROUP"',
    "lvm-thin": 'lvmthin "$STORAGE" --vgname "$VOLUME_GROUP" --thinpool "$THIN_POOL"',
    "zvol": 'zfspool "$STORAGE" --pool "$ZFS_POOL"',
    "rbd": 'rbd "$STORAGE" --pool "$CEPH_POOL"',
    "nfs": 'nfs "$STORAGE" --server "$NFS_SERVER" --export "$NFS_EXPORT"',
}


def describe_set_ups(ranking: Ranking, label: Callable[[str], str]) -> tuple[SetUp, ...]:
    """Describe the first entry of each part as it was measured. One query. label : key to label"""
    firsts = [(part, next(e for e in part.entries if e.key in part.leading)) for part in ranking.parts if part.leading]
    if not firsts:
        return ()
    keys = [entry.key for _, entry in firsts]
    newest = from_newest_studies(ranking.arms[ranking.arms["entry"].isin(keys)])
    behind = configurations_behind(keys, ranking, newest)
    return tuple(
        SetUp(
            part=part.number,
            key=entry.key,
            label=label(entry.key),
            durability=_durability(entry, stated),
            told_from=describe_selection(entry.case_studies),
            facts=tuple(_facts(stated)),
            lines=tuple(_lines(stated)),
        )
        for (part, entry), stated in zip(firsts, map(_group_equal, behind), strict=True)
        if stated
    )


def _group_equal(configurations: Iterable[Configuration]) -> _Stated:
    """Group configurations that state the same, so that each statement appears once."""
    alike: dict[tuple[Any, ...], tuple[Configuration, set[str]]] = {}
    for configuration in configurations:
        values = tuple(getattr(configuration, name) for name in _COMPARED_FIELDS)
        alike.setdefault(values, (configuration, set()))[1].add(configuration.case_study.slug)
    return dict(alike.values())


def _durability(entry: Entry, configurations: _Stated) -> str:
    """State what is known of writes that were acknowledged, in a sentence."""
    if entry.unsafe_options:
        return (
            f"Some of its numbers were measured with {listed(entry.unsafe_options)}, which can lose acknowledged "
            "writes: left out of the commands, so it may be slower than measured."
        )
    if any(map(_leaves_durability_open, configurations)):
        return (
            "No stated option can lose acknowledged writes, but not every source states cache mode and mount options."
        )
    return "No option it was measured with can lose acknowledged writes."


def _leaves_durability_open(c: Configuration) -> bool:
    of_machine = c.is_native or (c.cache_mode and c.guest_mount_options)
    return not (of_machine and c.host_mount_options)


def _facts(configurations: _Stated) -> Iterable[SetUpFact]:
    for name, fact in NATIVE_FACTS if all(c.is_native for c in configurations) else FACTS:
        stated = _studies_by_value(configurations, fact)
        silent = stated.pop("", ())
        tried = re.findall(r"[a-z0-9]+", " ".join(stated).lower())
        yield SetUpFact(
            fact=name,
            stated=tuple(StatedValue(value, _is_unsafe(name, value), studies) for value, studies in stated.items()),
            not_stated_by=silent,
            not_tried=tuple(choice for choice in _CHOICES.get(name, ()) if stated and choice not in tried),
        )


def _is_unsafe(fact: str, value: str) -> bool:
    """Tell whether the value of one of the FACTS can lose acknowledged writes."""
    texts = (value if fact == name else "" for name in ("Cache mode", "Guest mount options", "Host mount options"))
    return bool(losing_options(*texts))


def _stated_values(configurations: _Stated, fact: _Fact) -> dict[str, tuple[str, ...]]:
    """Return each stated value on one line, with the case studies that state it."""
    return {value: studies for value, studies in _studies_by_value(configurations, fact).items() if value}


def _studies_by_value(configurations: _Stated, fact: _Fact) -> dict[str, tuple[str, ...]]:
    """Return each value on one line with its case studies; "" stands for not stated."""
    studies_of: dict[str, set[str]] = {}
    for configuration, studies in configurations.items():
        studies_of.setdefault(" ".join(fact(configuration).split()), set()).update(studies)
    return {value: tuple(sorted(studies)) for value, studies in sorted(studies_of.items())}


def _lines(configurations: _Stated) -> Iterable[SetUpLine]:
    """Yield lines in working order: a command where all configurations that state a fact agree, else a remark."""
    hypervisors = {c.hypervisor.slug if c.hypervisor else "" for c in configurations}

    def host_fs(c: Configuration) -> str:
        return c.host_fs.slug if c.host_fs else ""

    def guest_fs(c: Configuration) -> str:
        return c.guest_fs.slug if c.guest_fs else ""

    if all(c.backend in ("", FILE) for c in configurations):
        yield from _file_system(
            configurations, "host", host_fs, lambda c: c.host_mkfs_options, lambda c: c.host_mount_options
        )
        if all(c.is_native for c in configurations):
            return
        yield from _storage(configurations, hypervisors)
        yield from _image(configurations, hypervisors)
    else:
        remark = _remark("host storage", configurations, lambda c: c.backend_label)
        yield from [*_storage(configurations, hypervisors)] or [remark]
    yield from _disk(configurations, hypervisors) if hypervisors <= _QEMU else [_cache(configurations)]
    yield from _file_system(
        configurations, "guest", guest_fs, lambda c: c.guest_mkfs_options, lambda c: c.guest_mount_options
    )


def lines_of(configuration: Configuration) -> tuple[str, ...]:
    """Return the commands of one configuration, saved or not, without remarks on what it leaves open."""
    lines = (line.text for line in _lines({configuration: {""}}))
    return tuple(text for text in lines if not text.endswith((NOT_STATED, _SEE_FACTS)))


def _storage(configurations: _Stated, hypervisors: set[str]) -> Iterable[SetUpLine]:
    """Yield the command that registers the host's storage with Proxmox VE."""
    backend, studies = _unique_value(configurations, lambda c: c.backend or (FILE if c.host_fs else ""))
    if backend not in _STORAGES or not _may_be_proxmox(hypervisors):
        return
    allocation, _ = _unique_value(configurations, lambda c: c.allocation)
    size, _ = _unique_value(configurations, lambda c: str(c.volume_block_bytes or ""))
    options = ""
    if backend == "zvol":
        options += f" --blocksize {int(size) // 1024}k" if size.isdecimal() and int(size) % 1024 == 0 else ""
        options += f" --sparse {int(allocation == 'sparse')}" if allocation else ""
    elif backend == FILE and allocation in _PREALLOCATION:
        options += f" --preallocation {_PREALLOCATION[allocation]}"
    yield _proxmox_line(f"pvesm add {_STORAGES[backend]}{options} --content images", hypervisors, studies)


def _may_be_proxmox(hypervisors: set[str]) -> bool:
    """Tell whether Proxmox VE may manage the machines: a guest cannot tell it from plain KVM."""
    return hypervisors <= {"kvm", _PROXMOX}


def _proxmox_line(command: str, hypervisors: set[str], studies: Iterable[str]) -> SetUpLine:
    return SetUpLine(command if hypervisors == {_PROXMOX} else f"# Proxmox VE: {command}", tuple(sorted(studies)))


def _cache(configurations: _Stated) -> SetUpLine:
    mode, studies = _unique_value(configurations, partial(_durable_value, "cache_mode"))
    if mode in _CACHE_MODES:
        return SetUpLine(f"# virtual disk: cache={mode}", studies)
    return _remark("cache mode", configurations, lambda c: c.cache_mode)


def _disk(configurations: _Stated, hypervisors: set[str]) -> Iterable[SetUpLine]:
    """Yield the options of a virtual disk for QEMU: as elements of libvirt's XML, and as `qm set` of a new disk."""
    agreed = {name: _unique_value(configurations, partial(_durable_value, name)) for name in _DISK_OPTIONS}
    values = {name: value.lower() for name, (value, _) in agreed.items() if value.lower() in _DISK_OPTIONS[name]}
    for name, _ in disks.problems(disks.Options(**_ASSUMED | values)):
        values.pop(name, None)
    for name in sorted(_DISK_OPTIONS.keys() - values.keys() - {"image_format"}):  # which has its own line
        if name == "cache_mode" or _stated_values(configurations, attrgetter(name)):
            yield _remark(SETTINGS[name].in_sentence, configurations, attrgetter(name))
    if not values:
        return
    studies = tuple(sorted({slug for name in values for slug in agreed[name][1]}))
    if hypervisors != {_PROXMOX}:
        for element in _libvirt_elements(values):
            yield SetUpLine(f"# libvirt: {element}", studies)
    if _may_be_proxmox(hypervisors):
        bus = values.get("disk_bus", "$BUS")
        controller = "--scsihw virtio-scsi-single " if bus == "scsi" else ""
        disk = ",".join(["$STORAGE:$GIB", *disks.qm_options(values)])
        yield _proxmox_line(f'qm set "$VM" {controller}"--{bus}$NUMBER" "{disk}"', hypervisors, studies)


def _libvirt_elements(values: Mapping[str, str]) -> Iterable[str]:
    """Yield the elements of a libvirt domain with these options, those of the disk last."""
    thread = '<driver iothread="1"/>' if values.get("iothread") == "yes" else ""
    if thread:
        yield "<iothreads>1</iothreads>"
    bus = values.get("disk_bus")
    if bus == "scsi":
        yield f'<controller type="scsi" model="virtio-scsi">{thread}</controller>'
    attributes = "".join(f' {name}="{value}"' for name, value in disks.libvirt_attributes(values).items())
    target = f'<target dev="$DISK" bus="{bus}"/>' if bus else ""
    yield f'<driver name="qemu"{attributes}/>{target}'


def _durable_value(name: str, configuration: Configuration) -> str:
    """Return the stated value of an option of the disk; "" where it can lose acknowledged writes."""
    value: str = getattr(configuration, name)
    return "" if name == "cache_mode" and losing_options(value, "", "") else value


def _image(configurations: _Stated, hypervisors: set[str]) -> Iterable[SetUpLine]:
    """Yield the commands that create the disk image in a folder of the host; with Proxmox VE `qm` creates it."""
    image, studies = _unique_value(configurations, lambda c: c.image_format.lower())
    if not hypervisors <= _QEMU or image not in _IMAGE_FORMATS:
        yield _remark("image format", configurations, lambda c: c.image_format)
        return
    allocation, _ = _unique_value(configurations, lambda c: c.allocation)
    options = f" -o preallocation={_PREALLOCATION[allocation]}" if allocation in _PREALLOCATION else ""
    if hypervisors != {_PROXMOX}:
        yield SetUpLine(f'qemu-img create -f {image}{options} "$HOST_FOLDER/$IMAGE" "$DISK_SIZE"', studies)
    if not allocation:
        yield _remark("allocation of the image", configurations, lambda c: c.allocation)


def _file_system(configurations: _Stated, side: str, name: _Fact, making: _Fact, options: _Fact) -> Iterable[SetUpLine]:
    """Yield the lines that make and mount the file system of a side, host or guest."""
    made, makers = _unique_value(configurations, name)
    if made not in _MKFS_NAMES:
        yield _remark(f"{side} file system", configurations, name)
        return
    device, folder = f'"${side.upper()}_DEVICE"', f'"${side.upper()}_FOLDER"'
    made_with, _ = _unique_value(configurations, making)
    if made_with and _MKFS_OPTIONS.fullmatch(made_with):
        yield SetUpLine(f"mkfs.{made} {shlex.join(made_with.split())} {device}", makers)
    else:
        yield SetUpLine(f"mkfs.{made} {device}", makers)
        if _stated_values(configurations, making):
            yield _remark(f"{side} mkfs options", configurations, making)
    mounted, mounters = _unique_value(configurations, lambda c: _drop_unsafe_options(options(c)))
    if all(map(_MOUNT_OPTION.fullmatch, mounted.split(","))):
        yield SetUpLine(f"mount -t {made} -o {shlex.quote(mounted)} {device} {folder}", mounters)
        return
    yield _remark(f"{side} mount options", configurations, options)
    yield SetUpLine(f"mount -t {made} {device} {folder}", makers)


def _remark(what: str, configurations: _Stated, fact: _Fact) -> SetUpLine:
    """Remark on a setting without a command: its value is not stated, or not in the tables above."""
    stated = _stated_values(configurations, fact)
    studies = sorted(
        {slug for configuration, slugs in configurations.items() if not stated or fact(configuration) for slug in slugs}
    )
    return SetUpLine(f"# {what}: {_SEE_FACTS if stated else NOT_STATED}", tuple(studies))


def _unique_value(configurations: _Stated, fact: _Fact) -> tuple[str, tuple[str, ...]]:
    """Return the only stated value with its case studies; "" where none or several are stated."""
    stated = _stated_values(configurations, fact)
    return next(iter(stated.items())) if len(stated) == 1 else ("", ())


def _drop_unsafe_options(options: str) -> str:
    """Return mount options without those that can lose acknowledged writes."""
    parts = (option.strip() for option in options.split(","))
    return ",".join(option for option in parts if option and not losing_options("", option, ""))
