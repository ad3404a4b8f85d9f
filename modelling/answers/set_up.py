"""Says how the entry to use was set up where it was measured: the facts of its configurations, each with its source,
and the command lines they come to.

Nothing is added that no case study states. A line is made only of words of the tables below and of mount options that
are spelled as mount knows them; every other text is shown as what a source says, never as part of a command.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from experiments.case_studies.tables import FACTS, NATIVE_FACTS
from experiments.laboratory.places import disks
from experiments.models import Configuration
from kdb.host_storage import FILE
from modelling.estimation.ranking import Entry, Ranking
from modelling.evidence.durability import losing_options
from modelling.evidence.words import listed

from .configurations import configurations_behind, of_newest_studies, told_from
from .content import SetUp, SetUpFact, SetUpLine, StatedValue

_CACHE_MODES = tuple(mode for mode in disks.CHOICES["cache_mode"] if not losing_options(mode, "", ""))
_IMAGE_FORMATS = ("raw", "qcow2")
_CHOICES = {"Cache mode": _CACHE_MODES, "Image format": _IMAGE_FORMATS}  # what might have been tried
_MAKES = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "reiserfs")  # mkfs.NAME of the same name
_PREALLOCATED = {"sparse": "off", "metadata": "metadata", "falloc": "falloc", "full": "full"}  # as qemu-img has them
_MOUNT_OPTION = re.compile(r"[A-Za-z0-9_=.:+/-]+")
_MKFS_OPTIONS = re.compile(r"-[A-Za-z0-9_=.:,^ -]+")  # no path: it could be a device
_Fact = Callable[[Configuration], str]
_Stated = Mapping[Configuration, set[str]]  # one configuration of those that state the same, to their case studies
_SAYING = [  # all that a configuration states
    field.attname
    for field in Configuration._meta.concrete_fields
    if field.name not in ("id", "case_study", "slug", "note")
]
_SEE_FACTS, _NOT_STATED = "see the facts", "not stated"
_QEMU = ("kvm", "proxmox", "qemu-tcg")  # whose images qemu-img makes


def set_ups(ranking: Ranking, label: Callable[[str], str]) -> tuple[SetUp, ...]:
    """Return for each part the entry that comes first, as it was measured; one query. label : of an entry's key"""
    firsts = [(part, next(e for e in part.entries if e.key in part.leading)) for part in ranking.parts if part.leading]
    if not firsts:
        return ()
    keys = [entry.key for _, entry in firsts]
    told = of_newest_studies(ranking.arms[ranking.arms["entry"].isin(keys)])
    behind = configurations_behind(keys, ranking, told)
    return tuple(
        SetUp(
            part=part.number,
            key=entry.key,
            label=label(entry.key),
            durability=_durability(entry, stated),
            told_from=told_from(entry.case_studies),
            facts=tuple(_facts(stated)),
            lines=tuple(_lines(stated)),
        )
        for (part, entry), stated in zip(firsts, map(_stated, behind), strict=True)
        if stated
    )


def _stated(configurations: Iterable[Configuration]) -> _Stated:
    """Put configurations that state the same together: many do, and what they say is worked out once."""
    alike: dict[tuple[Any, ...], tuple[Configuration, set[str]]] = {}
    for configuration in configurations:
        values = tuple(getattr(configuration, name) for name in _SAYING)
        alike.setdefault(values, (configuration, set()))[1].add(configuration.case_study.slug)
    return dict(alike.values())


def _durability(entry: Entry, configurations: _Stated) -> str:
    """Say what is known of writes that were acknowledged, in a sentence."""
    if entry.unsafe_options:
        return (
            f"Some of its numbers were measured with {listed(entry.unsafe_options)}, which can lose acknowledged "
            "writes: left out of the commands, so it may be slower than measured."
        )
    silent = _studies(configurations, _is_silent_of_durability)
    if silent:
        return (
            "No stated option can lose acknowledged writes, but cache mode or mount options are not stated by "
            f"{listed(slug.upper() for slug in silent)}."
        )
    return "No option it was measured with can lose acknowledged writes."


def _is_silent_of_durability(c: Configuration) -> bool:
    of_machine = c.is_native or (c.cache_mode and c.guest_mount_options)
    return not (of_machine and c.host_mount_options)


def _facts(configurations: _Stated) -> Iterable[SetUpFact]:
    for name, fact in NATIVE_FACTS if all(c.is_native for c in configurations) else FACTS:
        stated = _said_by(configurations, fact)
        silent = stated.pop("", ())
        tried = re.findall(r"[a-z0-9]+", " ".join(stated).lower())
        yield SetUpFact(
            fact=name,
            stated=tuple(StatedValue(value, _loses(name, value), studies) for value, studies in stated.items()),
            not_stated_by=silent,
            not_tried=tuple(choice for choice in _CHOICES.get(name, ()) if stated and choice not in tried),
        )


def _loses(fact: str, value: str) -> bool:
    """Tell whether the value of one of the FACTS can lose acknowledged writes."""
    texts = (value if fact == name else "" for name in ("Cache mode", "Guest mount options", "Host mount options"))
    return bool(losing_options(*texts))


def _by_value(configurations: _Stated, fact: _Fact) -> dict[str, tuple[str, ...]]:
    """Return each stated value in one line of text, to the case studies that state it."""
    return {value: studies for value, studies in _said_by(configurations, fact).items() if value}


def _said_by(configurations: _Stated, fact: _Fact) -> dict[str, tuple[str, ...]]:
    """Return what _by_value does, with "" to the case studies that do not state the fact."""
    studies_of: dict[str, set[str]] = {}
    for configuration, studies in configurations.items():
        studies_of.setdefault(" ".join(fact(configuration).split()), set()).update(studies)
    return {value: tuple(sorted(studies)) for value, studies in sorted(studies_of.items())}


def _studies(configurations: _Stated, are: Callable[[Configuration], object]) -> tuple[str, ...]:
    """Return the case studies with configurations that are so."""
    return tuple(
        sorted(set().union(*(studies for configuration, studies in configurations.items() if are(configuration))))
    )


def _lines(configurations: _Stated) -> Iterable[SetUpLine]:
    """Yield the lines in the order of the work: a command where all that state the fact agree in it, else a remark."""
    is_qemu = all(c.hypervisor and c.hypervisor.slug in _QEMU for c in configurations)

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
        yield from _image(configurations, is_qemu)
    else:
        yield _remark("host storage", configurations, lambda c: c.get_backend_display() if c.backend else "")
    mode, studies = _agreed(configurations, lambda c: "" if losing_options(c.cache_mode, "", "") else c.cache_mode)
    if mode in _CACHE_MODES:
        yield SetUpLine(f"# virtual disk: cache={mode}", studies)
    else:
        yield _remark("cache mode", configurations, lambda c: c.cache_mode)
    yield from _file_system(
        configurations, "guest", guest_fs, lambda c: c.guest_mkfs_options, lambda c: c.guest_mount_options
    )


def lines_of(configuration: Configuration) -> tuple[str, ...]:
    """Return the command lines of one configuration, perhaps an unsaved one: what it leaves open has none."""
    lines = (line.text for line in _lines({configuration: {""}}))
    return tuple(text for text in lines if not text.endswith((_NOT_STATED, _SEE_FACTS)))


def _image(configurations: _Stated, is_qemu: bool) -> Iterable[SetUpLine]:
    """Yield the lines that make the image of a disk in a folder of the host."""
    image, studies = _agreed(configurations, lambda c: c.image_format.lower())
    if not is_qemu or image not in _IMAGE_FORMATS:
        yield _remark("image format", configurations, lambda c: c.image_format)
        return
    allocation, _ = _agreed(configurations, lambda c: c.allocation)
    options = f" -o preallocation={_PREALLOCATED[allocation]}" if allocation else ""
    yield SetUpLine(f'qemu-img create -f {image}{options} "$HOST_FOLDER/$IMAGE" "$DISK_SIZE"', studies)
    if not allocation:
        yield _remark("allocation of the image", configurations, lambda c: c.allocation)


def _file_system(configurations: _Stated, side: str, name: _Fact, making: _Fact, options: _Fact) -> Iterable[SetUpLine]:
    """Yield the lines that make and mount the file system of a side, host or guest."""
    made, makers = _agreed(configurations, name)
    if made not in _MAKES:
        yield _remark(f"{side} file system", configurations, name)
        return
    device, folder = f'"${side.upper()}_DEVICE"', f'"${side.upper()}_FOLDER"'
    made_with, _ = _agreed(configurations, making)
    if made_with and _MKFS_OPTIONS.fullmatch(made_with):
        yield SetUpLine(f"mkfs.{made} {shlex.join(made_with.split())} {device}", makers)
    else:
        yield SetUpLine(f"mkfs.{made} {device}", makers)
        if _by_value(configurations, making):
            yield _remark(f"{side} mkfs options", configurations, making)
    mounted, mounters = _agreed(configurations, lambda c: _durable(options(c)))
    if all(map(_MOUNT_OPTION.fullmatch, mounted.split(","))):
        yield SetUpLine(f"mount -t {made} -o {shlex.quote(mounted)} {device} {folder}", mounters)
        return
    yield _remark(f"{side} mount options", configurations, options)
    yield SetUpLine(f"mount -t {made} {device} {folder}", makers)


def _remark(what: str, configurations: _Stated, fact: _Fact) -> SetUpLine:
    """Remark on a setting without a command: it is not stated, or not a word that is known here."""
    stated = _by_value(configurations, fact)
    studies = _studies(configurations, fact if stated else bool)
    return SetUpLine(f"# {what}: {_SEE_FACTS if stated else _NOT_STATED}", studies)


def _agreed(configurations: _Stated, fact: _Fact) -> tuple[str, tuple[str, ...]]:
    """Return the one value that is stated, and by which case studies; "" where none is, or several are."""
    stated = _by_value(configurations, fact)
    return next(iter(stated.items())) if len(stated) == 1 else ("", ())


def _durable(options: str) -> str:
    """Return mount options without those that can lose acknowledged writes."""
    parts = (option.strip() for option in options.split(","))
    return ",".join(option for option in parts if option and not losing_options("", option, ""))
