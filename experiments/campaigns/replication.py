"""A published case study measured again on a host: its matrix as plans, and what the host cannot do of it.

The host's own check of a plan (checks.problems_of) decides what can be done; its sentences are the reasons.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from experiments.laboratory.targets import disks
from experiments.models import Campaign, CaseStudy, Configuration, Host, StoragePool
from experiments.records import references
from kdb.disk_path import SETTINGS
from kdb.pairs import pair_key

from . import abilities, checks, control

SHORT_SECONDS, SHORT_REPETITIONS = 30, 2
DISK_MIB = 4096  # room for the largest of the papers' sets, twice over
_DRIVERS = {"kvm": Host.Driver.LIBVIRT, "proxmox": Host.Driver.PROXMOX, "xen": Host.Driver.XEN}
# The order in which drivers are tried: later ones stand in for earlier ones.
_TRIED = (Host.Driver.XEN, Host.Driver.PROXMOX, Host.Driver.LIBVIRT, Host.Driver.NATIVE)
# What a plan lists, with the fields whose problems one item can cause.
_LISTS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("host_file_systems", "guest_file_systems", "workloads")},
    "vm_counts": ("vm_counts", "vm_ram_mib", "disk_mib"),
}


@dataclass(frozen=True)
class Part:
    """A configuration of a case study as a campaign measures it. instead : what stands in for it; "": itself"""

    configuration: Configuration
    driver: str
    host_fs: str
    guest_fs: str
    instead: str = ""


@dataclass(frozen=True)
class Outline:
    """What a host can do of something, and how long that takes."""

    campaigns: list[str]  # short names
    plans: list[str]  # each in words
    seconds: int
    left_out: list[str]


@dataclass(frozen=True)
class Replication(Outline):
    """A case study as a host can measure it again, by one campaign a driver."""

    case_study: str
    differences: list[str]


def published(name: str) -> CaseStudy:
    """Return the published case study of this name, or the first of the publication. Raises CampaignError."""
    rows = CaseStudy.objects.published().filter(Q(slug=name) | Q(publication__slug=name)).order_by("slug")
    if (case_study := rows.filter(slug=name).first() or rows.first()) is None:
        raise control.CampaignError(f"Nothing published is called {name[:60]!r}; the papers are p0, p1, p2, p3 and p4.")
    return case_study


def measured_parts(case_study: CaseStudy, drivers: Sequence[str]) -> tuple[list[Part], list[Configuration]]:
    """Return the parts that campaigns of these drivers measure, and the configurations that none of them can."""
    rows = list(case_study.configurations.select_related("hypervisor", "guest_fs", "host_fs").order_by("slug"))
    ways = {row: [part for part in _ways(row, rows) if part.driver in drivers] for row in rows}
    return [parts[0] for parts in ways.values() if parts], [row for row, parts in ways.items() if not parts]


def _ways(row: Configuration, rows: Sequence[Configuration]) -> Iterator[Part]:
    """Yield how campaigns can measure one of the configurations `rows`, the most faithful first."""
    guest_fs = row.guest_fs.slug if row.guest_fs else ""
    host_fs = row.host_fs.slug if row.host_fs else row.backend
    hypervisors = {other.hypervisor.slug if other.hypervisor else "" for other in rows}
    if row.hypervisor is None:
        likely = min({other.host_fs.slug for other in rows if other.host_fs} & abilities.MAKES.keys(), default="")
        instead = "" if host_fs else f"Native {likely}: the source does not say on which file system it was native."
        if host_fs or likely:
            yield Part(row, Host.Driver.NATIVE, host_fs or likely, "", instead)
    elif guest_fs and host_fs and row.hypervisor.slug in _DRIVERS:
        yield Part(row, _DRIVERS[row.hypervisor.slug], host_fs, guest_fs)
        if row.hypervisor.slug == "proxmox" and "kvm" not in hypervisors:
            instead = "KVM under libvirt in place of Proxmox VE, which runs its machines by KVM."
            yield Part(row, Host.Driver.LIBVIRT, host_fs, guest_fs, instead)
        if guest_fs == host_fs and "" not in hypervisors:
            instead = f"Native {host_fs} in place of {pair_key(guest_fs, host_fs)}, so without what the pair does."
            yield Part(row, Host.Driver.NATIVE, host_fs, "", instead)


def prepare(
    host: Host, case_study: CaseStudy, pool: StoragePool | None = None, *, short: bool = False, **changes: Any
) -> tuple[list[Campaign], Replication]:
    """Return the campaigns that the host can run of a case study, not stored, and what they are in words.

    pool : None: the first of the driver's kind
    short : one number of machines, 30 s, two repetitions
    changes : fields of the campaigns that are to be other than the study's
    """
    usable = [driver for driver in _TRIED if driver in host.drivers]
    left_out: dict[str, list[str]] = {}  # reason to what it keeps out
    for row in measured_parts(case_study, usable)[1]:
        drives = row.hypervisor is None or row.hypervisor.slug in _DRIVERS
        reason = f"{host} is registered for {', '.join(host.drivers) or 'no driver'}."
        reason = reason if drives else f"KDB makes no machines of {row.hypervisor}."
        left_out.setdefault(reason, []).append(str(row))
    campaigns, differences, plans, seconds = [], list[str](), [], 0
    for driver in tuple(usable):
        chosen = [part for part in measured_parts(case_study, usable)[0] if part.driver == driver]
        if not chosen:
            continue
        reasons: dict[str, list[str]] = {}
        campaign = _campaign(host, case_study, chosen, pool)
        if short:
            campaign.run_seconds, campaign.repetitions = SHORT_SECONDS, SHORT_REPETITIONS
            campaign.vm_counts = campaign.vm_counts[:1]
        for name, value in changes.items():
            setattr(campaign, name, value)
        leave_out(campaign, reasons)
        if problems := checks.problems_of(campaign):
            usable.remove(driver)
            left_out.setdefault(str(control.PlanRefused(problems)), []).append(f"All by the driver {driver}")
            continue
        for reason, what in reasons.items():
            left_out.setdefault(reason, []).extend(what)
        campaigns.append(campaign)
        differences += _differences(campaign, chosen)
        estimate = checks.estimate(campaign)
        plans.append(in_words(campaign, estimate))
        seconds += estimate.seconds
    slugs, study = [campaign.slug for campaign in campaigns], case_study.slug
    return campaigns, Replication(slugs, plans, seconds, sentences(left_out), study, [*dict.fromkeys(differences)])


def in_words(campaign: Campaign, estimate: checks.Estimate) -> str:
    """Return the matrix of a plan in a line: "libvirt: xfs × ext4 × varmail × 1 × cache mode none, unsafe: 6 runs"."""
    matrix = [", ".join(map(str, getattr(campaign, name))) for name in _LISTS if getattr(campaign, name)]
    for name, chosen in campaign.disk.items():
        if len(chosen) > 1:
            matrix.append(f"{SETTINGS[name].in_sentence} {', '.join(map(SETTINGS[name].value_label, chosen))}")
    return f"{campaign.driver}: {' × '.join(matrix)}: {estimate.runs} runs"


def sentences(left_out: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each reason. left_out : reason to what it keeps out"""
    return [f"{'; '.join(dict.fromkeys(what))}: {reason}" for reason, what in left_out.items()]


def create(campaigns: Sequence[Campaign], outline: Outline, what: str, *, user: User | None) -> None:
    """Store the campaigns with their runs, all or none. Raises CampaignError where there are none, PlanRefused."""
    if not campaigns:
        reasons = "\n".join(outline.left_out)
        raise control.CampaignError(f"Nothing of {what} can be measured on this host.\n{reasons}")
    with transaction.atomic():
        for campaign in campaigns:
            control.create(campaign, user=user)


def _campaign(host: Host, case_study: CaseStudy, parts: Sequence[Part], pool: StoragePool | None) -> Campaign:
    """Return the case study's own protocol as a plan of what these parts of one driver have in common."""
    driver, facts, rows = parts[0].driver, host.facts, [part.configuration for part in parts]
    variants = references.variants(CaseStudy.objects.filter(pk=case_study.pk)).select_related("workload", "benchmark")
    versions = facts if driver == Host.Driver.NATIVE else facts.get("guest_image", {})
    # A runner runs no texts but KDB's.
    is_filebench = (
        not host.is_by_runner
        and bool(versions.get("filebench"))
        and "filebench" in {row.benchmark.slug for row in variants}
    )
    ram_mib = int(max(row.vm_ram_gib or 2 for row in rows) * 1024)
    campaign = Campaign(
        slug=free_slug(f"{case_study.slug[:25]}-on-{host.slug[:15]}-{driver}"),
        title=f"{case_study.slug} again on {host}, {Host.Driver(driver).label}"[:300],
        host=host,
        pool=pool or fitting_pool(host, driver),
        driver=driver,
        engine=Campaign.Engine.FILEBENCH if is_filebench else Campaign.Engine.FIO,
        personality=Campaign.Personality.SHIPPED if is_filebench else Campaign.Personality.KDB,
        host_file_systems=sorted({part.host_fs for part in parts}),
        guest_file_systems=sorted({part.guest_fs for part in parts} - {""}),
        workloads=sorted({row.workload.slug for row in variants}),
        vm_counts=[] if driver == Host.Driver.NATIVE else sorted({*case_study.vm_counts} - {0}) or [1],
        repetitions=case_study.repetitions or 3,
        run_seconds=case_study.run_seconds or 120,
        disk_mib=DISK_MIB,
        vm_ram_mib=max(min(ram_mib, facts.get("ram_mib", ram_mib) - checks.SPARE_RAM_MIB), 128),
        vm_vcpus=min(max(row.vm_vcpus or 1 for row in rows), facts.get("cores", 1)),
        seed=case_study.pk,
        replicates=case_study,
    )
    of_disks = disks.CHOICES.keys() - {"volume_block_bytes", *disks.OF_FILE_SYSTEM}
    stated = {name: {getattr(row, name) for row in rows} & {*disks.CHOICES[name]} for name in of_disks}
    campaign.disk |= {name: [*values] for name, values in stated.items() if len(values) == 1}
    return campaign


def free_slug(stem: str) -> str:
    """Return a short name for a campaign that none has: the stem, or with a number behind it."""
    slugs = (f"{stem}-{number}" if number > 1 else stem for number in count(1))
    return next(slug for slug in slugs if not Campaign.objects.filter(slug=slug).exists())


def fitting_pool(host: Host, driver: str) -> StoragePool | None:
    """Return the host's first pool of the kind that the driver uses, else its first."""
    kind = StoragePool.Kind.STORAGE if driver == Host.Driver.PROXMOX else StoragePool.Kind.IMAGE
    return min(host.pools.all(), key=lambda row: (row.kind != kind, row.pk), default=None)


def leave_out(campaign: Campaign, left_out: dict[str, list[str]]) -> None:
    """Take out of the plan, item by item, what the host has something against. left_out : gets the reasons"""
    for name, about in _LISTS.items():
        kept = []
        for item in getattr(campaign, name):
            setattr(campaign, name, [item])
            problems = checks.problems_of(campaign)
            if reasons := [sentence for field in about for sentence in problems.get(field, [])]:
                what = f"{item} machines" if name == "vm_counts" else item
                left_out.setdefault(" ".join(reasons), []).append(what)
            else:
                kept.append(item)
        if getattr(campaign, name):
            setattr(campaign, name, kept)
    for name, chosen in campaign.disk.items():
        kept = []
        for value in chosen if len(chosen) > 1 else ():
            campaign.disk |= {name: [value]}
            if reasons := checks.problems_of(campaign).get(name, []):
                what = f"{SETTINGS[name].in_sentence} {SETTINGS[name].value_label(value)}"
                left_out.setdefault(" ".join(reasons), []).append(what)
            else:
                kept.append(value)
        campaign.disk |= {name: kept or chosen}


def _differences(campaign: Campaign, parts: Sequence[Part]) -> Iterator[str]:
    """Yield a sentence for each thing that is otherwise here, beside the machine itself."""
    study, guest_fs = campaign.replicates, [*campaign.guest_file_systems, ""]
    assert study is not None  # _campaign
    for part in parts:
        if part.instead and part.host_fs in campaign.host_file_systems and part.guest_fs in guest_fs:
            yield part.instead
    is_fio = campaign.engine == Campaign.Engine.FIO
    texts = "fio with KDB's jobs" if is_fio else "The personalities of this Filebench"
    yield f"{texts}, {campaign.run_seconds} s, {campaign.repetitions} repetitions, caches dropped once files are made."
    protocol = ((study.run_seconds, "s"), (study.repetitions, "repetitions"))
    stated = ", ".join(f"{value} {unit}" for value, unit in protocol if value)
    yield f"The protocol of the source: {stated or 'not stated'}."
    if guest_fs != [""] and campaign.host.facts.get("accelerator") == "qemu":
        yield "Guests run by software emulation, which is no KVM."
