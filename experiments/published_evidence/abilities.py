"""Read fixtures/abilities.csv: what choices can do besides speed, as their makers document it. No Django.

The file is read on first use and not stored in the database: its few hundred lines belong to no case study, and change
only with the version of KDB. Columns and rules: fixtures/README.md; a test holds every line against them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from kdb.content import Among

from .files import read_csv

PATH = Path(__file__).resolve().parents[2] / "fixtures" / "abilities.csv"
COLUMNS = ("kind", "choice", "name", "ability", "found", "limit", "through", "source", "read_on")
FOUND = YES, WITH_LIMITS, NO = "yes", "with limits", "no"
# Parts of an entry.
HYPERVISOR, HOST, IMAGE, GUEST = PARTS = "hypervisor", "host", "image-format", "guest-fs"
KINDS = {
    "hypervisor": "Hypervisors",
    "file-system": "File systems, in the guest or under its images",
    "host-storage": "Host storage",
    "image-format": "Image formats",
}


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
    """Return the facts that come with KDB, in the order of the file."""
    facts_of_choice: dict[tuple[str, str], dict[str, Fact]] = {}
    for entry in read_csv(PATH, COLUMNS):
        fact = Fact(**entry.fields)
        facts_of_choice.setdefault((fact.kind, fact.choice), {})[fact.ability] = fact
    return facts_of_choice
