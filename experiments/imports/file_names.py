"""Find hints about the configuration in the names of files; the user decides which apply. No Django.

"kvm_xfs-on-ext4_2vms_run1.json" says KVM, XFS on ext4, and two machines. A lone file system may be the guest's or the
host's. What a name says of disks belongs to the case study, not to a configuration.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from experiments.rules.entry_names import fold

Values = dict[str, str]  # field of the context to what it would be

_IMAGE_FORMATS = ("qcow2", "raw", "vdi", "vhdx", "vmdk")
_CACHE_MODES = ("directsync", "unsafe", "writeback", "writethrough")
_BARE = ("native", "baremetal")
_MACHINES = re.compile(r"([1-9]\d{0,3})vms?")
_DISKS = re.compile(r"raid\d{1,2}|ssd|hdd|nvme")
_MAX_WORDS = 3  # words of one name of the catalogue, "proxmox-ve-8"
MAX_HINTS = 40  # hints of one import


@dataclass(frozen=True)
class Hint:
    """One word of file names. uses : context fields it may fill; empty where it describes disks"""

    word: str
    uses: tuple[Values, ...]
    files: tuple[str, ...]

    @property
    def is_of_disks(self) -> bool:
        return not self.uses


def hints(names: Iterable[str], spellings: Mapping[str, Mapping[str, str]]) -> list[Hint]:
    """Return the hints in these file names, each word once, in order of appearance; at most MAX_HINTS.

    spellings : kind to folded spelling to slug (catalogue.services.spellings)
    """
    by_word: dict[str, tuple[tuple[Values, ...], list[str]]] = {}
    for name in names:
        for word, uses in dict(_match_words(_words(name), spellings)).items():
            if word in by_word or len(by_word) < MAX_HINTS:
                by_word.setdefault(word, (uses, []))[1].append(name)
    return [Hint(word, uses, tuple(files)) for word, (uses, files) in by_word.items()]


def _words(name: str) -> list[str]:
    stem = re.sub(r"\.\w{1,5}$", "", name.casefold())
    return re.findall(r"[^\W_]+", stem)


def _match_words(
    words: list[str], spellings: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, tuple[Values, ...]]]:
    position = 0
    while position < len(words):
        length = min(_MAX_WORDS, len(words) - position)
        uses, word = None, ""
        while length and uses is None:
            word = "-".join(words[position : position + length])
            uses = _uses(words[position : position + length], spellings)
            length -= uses is None
        if uses is not None:
            yield word, uses
        position += max(length, 1)


def _uses(words: list[str], spellings: Mapping[str, Mapping[str, str]]) -> tuple[Values, ...] | None:
    """Return the context fields that the joined words may fill; None where they mean nothing."""
    word, file_systems = fold("".join(words)), spellings["file_system"]
    if len(words) == 3 and words[1] == "on" and words[0] in file_systems and words[2] in file_systems:
        return ({"guest_fs": file_systems[words[0]], "host_fs": file_systems[words[2]]},)
    if word in _BARE:
        return ({"hypervisor": "native"},)
    if slug := spellings["hypervisor"].get(word):
        return ({"hypervisor": slug},)
    if slug := file_systems.get(word):
        return ({"guest_fs": slug}, {"host_fs": slug})
    if machines := _MACHINES.fullmatch(word):
        return ({"vm_count": machines[1]},)
    for field, values in (("image_format", _IMAGE_FORMATS), ("cache_mode", _CACHE_MODES)):
        if word in values:
            return ({field: word},)
    return () if _DISKS.fullmatch(word) else None
