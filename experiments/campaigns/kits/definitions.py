"""The kits of fixtures/kits.toml, and what was published by them."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from django.conf import settings

from experiments.campaigns.control import CampaignError
from experiments.laboratory import plan
from experiments.laboratory.targets import disks
from experiments.models import Campaign, CaseStudy, Host
from experiments.models.case_study import laboratory

FILE = settings.BASE_DIR / "fixtures" / "kits.toml"
RAM_MIB = 1536


@dataclass(frozen=True)
class Way:
    """One way to run a kit.

    held : a sentence on what is the same in all its runs; axes : on which its results are compared
    disk : option to its values
    """

    held: str
    axes: Sequence[str]
    drivers: Sequence[str] = (Host.Driver.LIBVIRT, Host.Driver.PROXMOX)
    host_file_systems: Sequence[str] = ("ext4",)
    guest_file_systems: Sequence[str] = ("ext4",)
    disk: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Kit:
    """A plan for any host. guides : slugs of guides"""

    slug: str
    version: int
    question: str
    guides: Sequence[str]
    workloads: Sequence[str]
    ways: Sequence[Way]
    engine: str = Campaign.Engine.FIO
    repetitions: int = 3
    run_seconds: int = 60

    @property
    def mark(self) -> str:
        """Return what campaigns and case studies by this plan are marked with: "cache-mode/1"."""
        return f"{self.slug}/{self.version}"


@cache
def kits() -> dict[str, Kit]:
    """Return every kit by its slug, in the order of the file."""
    rows = tomllib.loads(FILE.read_text("utf-8"))["kits"]
    return {row["slug"]: Kit(**row | {"ways": [Way(**way) for way in row["ways"]]}) for row in rows}


def studies_of(chosen: Iterable[Kit]) -> list[tuple[CaseStudy, str]]:
    """Return the published case studies of these kits, of all their versions, each with who measured."""
    pattern = "|".join(kit.slug for kit in chosen)
    rows = (
        CaseStudy.objects.published().select_related("owner__contributor").filter(kit__regex=rf"^({pattern})/[0-9]+$")
    )
    annotated = rows.annotate(who=laboratory()).order_by("published_revision__number", "slug")
    return [(row, str(vars(row)["who"])) for row in annotated]


def size(kit: Kit, way: Way) -> tuple[int, int]:
    """Return how many runs a way of the kit takes on a host with KVM, and about how long, s; the warm-up counts."""
    machines = [1] if way.guest_file_systems else []
    combinations = disks.combinations(way.disk)
    cells = plan.cells(way.host_file_systems, way.guest_file_systems, kit.workloads, machines, combinations)
    seconds = [plan.run_seconds(cell, kit.run_seconds, 0, "kvm", 100, RAM_MIB) for cell in cells]
    return len(cells) * kit.repetitions + 1, sum(seconds) * kit.repetitions + max(seconds)


def named(slug: str) -> Kit:
    """Return the kit of this name. Raises CampaignError, which names all there are."""
    if slug not in kits():
        raise CampaignError(f"There is no kit {slug[:60]!r}; the kits are {', '.join(kits())}.")
    return kits()[slug]
