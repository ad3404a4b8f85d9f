"""Validate slugs, names and aliases of catalogue entries. No database, no Django.

Slugs are used in addresses and keys ("kvm:btrfs-on-ext4", "varmail:60,webserver:40"); people and files write names and
aliases. A spelling must mean one entry of its kind, otherwise nobody could refer to either.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kdb.disk_path import SETTINGS

# Constraints use these, too: they must match alike in PostgreSQL and in Python, which evaluates them for SQLite.
SLUG = r"\A[a-z0-9][a-z0-9_-]*\Z"
JOINING_WORD = r"(\A|-)on(-|\Z)"
# Parameters of questions, which stand beside slugs in addresses, and words for no entry or for all.
RESERVED = (
    *("axis", "workload", "hypervisor", "guest_fs", "host_fs", "host_storage", "vm_count", "storage", "benchmark"),
    *("guest_os_family", "grade", "as_of", "entries", "weights", "format", "method", "metric", "evidence"),
    *("any", "native", "new", "none", "unknown", "needs"),
    *SETTINGS,
)

# Addresses of pages where otherwise a slug of a case study, host or campaign stands (experiments.urls).
PAGES = ("new", "bundle")

NATIVE = {"native", "none", "baremetal", "nohypervisor"}  # folded; how tables write that there is no hypervisor

Spelled = tuple[str, str, Iterable[str]]  # slug, name, aliases


def fold(name: str) -> str:
    """Fold a name so that "Proxmox VE", "proxmox-ve" and "PROXMOX_VE" are equal."""
    return re.sub(r"[\s_.\-/()]+", "", name.casefold())


@dataclass(frozen=True)
class Names:
    """The catalogue's names: kind to folded spelling to slug, and what the user mapped for this import.

    volumes : host storage without a file system of the host
    """

    known: Mapping[str, Mapping[str, str]]
    mapped: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    volumes: Collection[str] = ()

    def find(self, kind: str, name: str) -> str | None:
        folded = fold(name)
        return self.mapped.get(kind, {}).get(folded) or self.known[kind].get(folded)


def spellings(entries: Iterable[Spelled]) -> dict[str, str]:
    """Return folded spelling to slug, from (slug, name, aliases): what people, files and programs may write.

    A slug means its own entry, whatever others are called; a name or an alias that two share means neither.
    """
    entries = list(entries)
    by_slug = _unshared((slug, [slug]) for slug, _, _ in entries)
    return {**_unshared((slug, [name, *aliases]) for slug, name, aliases in entries), **by_slug}


def _unshared(entries: Iterable[tuple[str, Iterable[str]]]) -> dict[str, str]:
    slug_of: dict[str, str] = {}
    shared = set()
    for slug, texts in entries:
        for spelling in map(fold, texts):
            if slug_of.setdefault(spelling, slug) != slug:
                shared.add(spelling)
    return {spelling: slug for spelling, slug in slug_of.items() if spelling not in shared}


def owners(entries: Iterable[Spelled]) -> dict[str, str]:
    """Return folded spelling to a slug that has it, for `faults`."""
    return {fold(text): slug for slug, name, aliases in entries for text in (*aliases, name, slug)}


def faults(slug: str, name: str, aliases: Iterable[str], others: Mapping[str, str]) -> dict[str, str]:
    """Return field to a sentence about what is wrong with it; empty where nothing is.

    others : spellings of the other entries of the kind, as `owners` gives them
    """
    faults = {}
    for place, text in (("slug", slug), ("name", name), *(("aliases", alias) for alias in aliases)):
        folded = fold(text)
        if not folded:
            faults[place] = f"{text!r} has no letter or digit."
        elif folded in NATIVE:
            faults[place] = f"{text!r} means that there is no hypervisor."
        elif folded in others:
            faults[place] = f"{text!r} is a spelling of {others[folded]} already."
    return faults | ({"slug": fault} if (fault := _slug_fault(slug)) else {})


def _slug_fault(slug: str) -> str:
    if not re.search(SLUG, slug):
        return f"{slug!r} may have lower-case letters, digits, - and _, and begins with a letter or a digit."
    if re.search(JOINING_WORD, slug):
        return f'{slug!r} may not have the word "on", which joins two file systems in a key.'
    return word_fault(slug, RESERVED)


def word_fault(slug: str, words: Collection[str]) -> str:
    """Return a sentence where the slug is one of these reserved words, else ""."""
    return f"{slug!r} is a word of the addresses here, as are {', '.join(words)}." if slug in words else ""
