"""Read fixtures/abilities.csv: what choices can do besides speed, as their makers document it. No Django.

The file is read on first use and not stored in the database: its few hundred lines belong to no case study, and change
only with the version of KDB. Columns and rules: fixtures/README.md.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated
from urllib.parse import urlsplit

from kdb.content import Among

from .files import Entry, read_csv

PATH = Path(__file__).resolve().parents[2] / "fixtures" / "abilities.csv"
COLUMNS = ("kind", "choice", "name", "ability", "found", "limit", "through", "source", "read_on")
FOUND = YES, WITH_LIMITS, NO = "yes", "with limits", "no"
# Parts of an entry; _PARTS_OF says which kind of choice in the file may be which part.
HYPERVISOR, HOST, IMAGE, GUEST = PARTS = "hypervisor", "host", "image-format", "guest-fs"
KINDS = {
    "hypervisor": "Hypervisors",
    "file-system": "File systems, in the guest or under its images",
    "host-storage": "Host storage",
    "image-format": "Image formats",
}
LONGEST_LIMIT = 160  # characters: a short sentence


@dataclass(frozen=True)
class Ability:
    """One thing that a choice can do.

    all_of : parts of an entry that must all have it, as far as they are named
    any_of : parts of which one must have it, besides all_of
    """

    slug: str
    name: str
    question: str
    all_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return (*self.all_of, *self.any_of)


_ABILITIES = (
    Ability("snapshot", "Snapshots", "Can I take a snapshot of a running machine?", (HYPERVISOR,), (HOST, IMAGE)),
    Ability("live-migration", "Live migration", "Can a running machine move to another host?", (HYPERVISOR, HOST)),
    Ability(
        "shared-access", "Shared access", "Can several hosts use the place of the images at the same time?", (HOST,)
    ),
    Ability(
        "checksums",
        "Checksums of data",
        "Is it noticed when the disk gives back other data than was written?",
        any_of=(GUEST, HOST),
    ),
    Ability(
        "replication",
        "Replication",
        "Is there a built-in way to keep a copy on another host?",
        any_of=(HOST, HYPERVISOR),
    ),
    Ability("encryption", "Encryption", "Can the data be encrypted where it lies?", any_of=(GUEST, HOST, IMAGE)),
    Ability(
        "thin-provisioning", "Thin provisioning", "Does a disk take only the space that was written?", (HOST, IMAGE)
    ),
    Ability("compression", "Compression", "Is data compressed as it is written?", any_of=(GUEST, HOST)),
    Ability("online-growth", "Online growth", "Can a disk and its file system grow while the machine runs?", PARTS),
    Ability("trim", "Trim", "Does space that the guest frees come back to the host?", (GUEST, IMAGE, HOST)),
    Ability("windows-boot", "Windows boot", "Can Windows start from it?", (HYPERVISOR, GUEST)),
    Ability("little-memory", "Little memory", "Does it do without a large cache of its own in memory?", (HOST,)),
    Ability("support", "Paid support", "Does somebody sell support for it?", (HYPERVISOR, HOST, GUEST)),
)
ABILITIES: Mapping[str, Ability] = MappingProxyType({ability.slug: ability for ability in _ABILITIES})
ABILITY_CHOICES = [(slug, slug) for slug in ABILITIES]  # as the API's document names them
FOUND_CHOICES = [(finding, finding) for finding in FOUND]


@dataclass(frozen=True)
class Fact:
    """One ability of one choice, by its maker's documentation."""

    component = "AbilityFact"

    kind: Annotated[str, Among(KINDS)]
    choice: Annotated[str, "Slug of the catalogue, where it has one."]
    name: str
    ability: Annotated[str, Among(ABILITIES)]
    found: Annotated[str, Among(FOUND)]
    limit: Annotated[str, "In what it is limited, or what there is in its place."]
    through: Annotated[str, "The part that has to do it for this one; empty: none."]
    source: Annotated[str, "Address of the documentation."]
    read_on: Annotated[str, "Day on which that was read for this table, YYYY-MM-DD; empty: it still has to be."]

    @property
    def sentence(self) -> str:
        """Return one line: "ext4: with limits. Through the image format alone." """
        return f"{self.name}: {self.found}.{f' {self.limit}' if self.limit else ''}"


Facts = Mapping[tuple[str, str], Mapping[str, Fact]]  # kind and choice to ability to fact


@cache
def facts() -> Facts:
    """Return the facts that come with KDB. Raises EvidenceError."""
    return read(PATH)


def read(path: Path) -> Facts:
    """Return the facts of a file, in its order. Raises EvidenceError, which names file, line and field."""
    facts_of_choice: dict[tuple[str, str], dict[str, Fact]] = {}
    names: dict[tuple[str, str], str] = {}
    for entry in read_csv(path, COLUMNS):
        fact = _fact(entry)
        choice = fact.kind, fact.choice
        if (name := names.setdefault(choice, fact.name)) != fact.name:
            raise entry.error("name", f"{name!r}, as in an earlier line on {fact.choice}")
        if fact.ability in facts_of_choice.setdefault(choice, {}):
            raise entry.error("ability", f"one that no earlier line says of {fact.choice}")
        facts_of_choice[choice][fact.ability] = fact
    return facts_of_choice


def _fact(entry: Entry) -> Fact:
    fields = entry.fields
    _check_allowed(entry, "kind", KINDS)
    _check_allowed(entry, "ability", ABILITIES)
    _check_allowed(entry, "found", FOUND)
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*+", fields["choice"]):
        raise entry.error("choice", "a slug of small letters, digits and single hyphens")
    if not fields["name"].strip():
        raise entry.error("name", "what a reader calls it")
    parts = _PARTS_OF[fields["kind"]]
    if not set(parts) & set(ABILITIES[fields["ability"]].parts):
        rest = ", ".join(slug for slug, ability in ABILITIES.items() if set(parts) & set(ability.parts))
        raise entry.error("ability", f"one that rests on this kind of choice: {rest}")
    if fields["found"] == WITH_LIMITS and not fields["limit"]:
        raise entry.error("limit", "a sentence where something is found with limits")
    if fields["limit"] and not (fields["limit"].endswith(".") and len(fields["limit"]) <= LONGEST_LIMIT):
        raise entry.error("limit", f"nothing, or a sentence of at most {LONGEST_LIMIT} characters with its full stop")
    others = [part for part in ABILITIES[fields["ability"]].any_of if part not in parts]
    if fields["through"] and not (fields["found"] == WITH_LIMITS and fields["through"] in others):
        raise entry.error("through", f"nothing, or where found with limits one of {', '.join(others) or 'none'}")
    address = urlsplit(fields["source"])
    if address.scheme != "https" or not address.hostname:
        raise entry.error("source", "an address that begins with https://")
    if fields["read_on"] and not _is_day(fields["read_on"]):
        raise entry.error("read_on", "a day as YYYY-MM-DD, or nothing where it was not read yet")
    return Fact(**fields)


_PARTS_OF = {
    "hypervisor": (HYPERVISOR,),
    "file-system": (GUEST, HOST),
    "host-storage": (HOST,),
    "image-format": (IMAGE,),
}


def _check_allowed(entry: Entry, field: str, allowed: Collection[str]) -> None:
    if entry.fields[field] not in allowed:
        raise entry.error(field, f"one of {', '.join(allowed)}")


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
