"""A published case study measured again on a host: its matrix as plans, and what the host cannot do of it.

The host's own check of a plan (checks.problems_of) decides what can be done; its sentences are the reasons.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from experiments.laboratory.targets import disks
from experiments.models import Campaign, CaseStudy, Configuration, Host, StoragePool, WorkloadVariant
from experiments.records import references
from kdb.pairs import pair_key

from . import checks, control

SHORT_SECONDS, SHORT_REPETITIONS = 30, 2
DISK_MIB = 4096  # room for the largest of the papers' sets, twice over
_DRIVERS = {"kvm": Host.Driver.LIBVIRT, "proxmox": Host.Driver.PROXMOX, "xen": Host.Driver.XEN}
# The fields of a plan whose values stand for themselves, and the fields whose problems one value can cause.
_FACTORS = {
    "host_file_systems": ("host_file_systems",),
    "guest_file_systems": ("guest_file_systems",),
    "workloads": ("workloads",),
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
class ReplicationPlan:
    """A campaign that measures a case study again."""

    slug: str
    driver: str
    runs: int
    seconds: int
    host_file_systems: list[str]
    guest_file_systems: list[str]
    workloads: list[str]
    vm_counts: list[int]


@dataclass(frozen=True)
class Replication:
    """A case study as a host can measure it again: one campaign a driver, what is left out, and what differs."""

    case_study: str
    campaigns: list[ReplicationPlan]
    left_out: list[str]
    differences: list[str]


def published(name: str) -> CaseStudy:
    """Return the published case study of this name, or the first of the publication. Raises CampaignError."""
    rows = CaseStudy.objects.published().filter(Q(slug=name) | Q(publication__slug=name)).order_by("slug")
    case_study = rows.filter(slug=name).first() or rows.first()
    if case_study is None:
        raise control.CampaignError(f"Nothing published is called {name[:60]!r}: p0, p1, p2, p3 and p4 are the papers.")
    return case_study


def configurations(case_study: CaseStudy) -> list[Configuration]:
    return list(case_study.configurations.select_related("hypervisor", "guest_fs", "host_fs").order_by("slug"))


def parts(configuration: Configuration, all_of_them: Sequence[Configuration]) -> Iterator[Part]:
    """Yield how campaigns can measure a configuration, the most faithful first."""
    guest_fs = configuration.guest_fs.slug if configuration.guest_fs else ""
    host_fs = configuration.host_fs.slug if configuration.host_fs else configuration.backend
    if configuration.hypervisor is None:
        stated = sorted({other.host_fs.slug for other in all_of_them if other.host_fs} & checks.MAKES.keys())
        if host_fs or stated:
            instead = "" if host_fs else f"Natively {stated[0]}: the source does not say on which file system."
            yield Part(configuration, Host.Driver.NATIVE, host_fs or stated[0], "", instead)
        return
    if not guest_fs or not host_fs:
        return
    hypervisor = configuration.hypervisor
    if hypervisor.slug in _DRIVERS:
        yield Part(configuration, _DRIVERS[hypervisor.slug], host_fs, guest_fs)
    if hypervisor.slug == "proxmox" and not any(
        other.hypervisor and other.hypervisor.slug == "kvm" for other in all_of_them
    ):
        instead = "KVM under libvirt in place of Proxmox VE, which runs its machines by KVM."
        yield Part(configuration, Host.Driver.LIBVIRT, host_fs, guest_fs, instead)
    if guest_fs == host_fs and all(other.hypervisor for other in all_of_them):
        instead = f"Native {host_fs} in place of {pair_key(guest_fs, host_fs)}, so without what the pair does."
        yield Part(configuration, Host.Driver.NATIVE, host_fs, "", instead)


def measured_parts(case_study: CaseStudy, driver: str) -> list[Part]:
    """Return the parts that a campaign of this driver can measure."""
    rows = configurations(case_study)
    each_way = ([part for part in parts(row, rows) if part.driver == driver] for row in rows)
    return [ways[0] for ways in each_way if ways]


def prepare(
    host: Host, case_study: CaseStudy, pool: StoragePool | None = None, *, short: bool = False, **changes: Any
) -> tuple[list[Campaign], Replication]:
    """Return the campaigns that the host can run of a case study, not stored, and what they are.

    pool : empty: the first that the driver can use
    short : one number of machines, 30 s, two repetitions
    changes : fields of the campaigns that are to be other than the study's
    """
    left_out: dict[str, list[str]] = {}  # reason to what it keeps out
    by_driver: dict[str, list[Part]] = {}
    rows = configurations(case_study)
    for row in rows:
        part = next((part for part in parts(row, rows) if part.driver in host.drivers), None)
        if part is None:
            left_out.setdefault(_why_not(row, host), []).append(str(row))
        else:
            by_driver.setdefault(part.driver, []).append(part)
    variants = list(
        references.variants(CaseStudy.objects.filter(pk=case_study.pk)).select_related("workload", "benchmark")
    )
    campaigns, differences = [], []
    for driver, chosen in by_driver.items():
        campaign = _campaign(host, case_study, driver, chosen, variants, pool)
        if short:
            campaign.run_seconds, campaign.repetitions = SHORT_SECONDS, SHORT_REPETITIONS
            campaign.vm_counts = campaign.vm_counts[:1]
        for name, value in changes.items():
            setattr(campaign, name, value)
        _leave_out(campaign, left_out)
        if problems := checks.problems_of(campaign):
            left_out.setdefault(str(control.PlanRefused(problems)), []).append(f"All by the driver {driver}")
        else:
            campaigns.append(campaign)
            differences += [*_differences(campaign, chosen, variants)]
    sentences = [f"{', '.join(dict.fromkeys(what))}: {reason}" for reason, what in left_out.items()]
    plans = [_described(campaign) for campaign in campaigns]
    return campaigns, Replication(case_study.slug, plans, sentences, list(dict.fromkeys(differences)))


def create(campaigns: Sequence[Campaign], *, user: User | None) -> None:
    """Store the campaigns with their runs, all or none. Raises CampaignError where there are none, PlanRefused."""
    if not campaigns:
        raise control.CampaignError("Nothing of this case study can be measured again on this host.")
    with transaction.atomic():
        for campaign in campaigns:
            control.create(campaign, user=user)


def _why_not(configuration: Configuration, host: Host) -> str:
    hypervisor = configuration.hypervisor
    if hypervisor is not None and hypervisor.slug not in _DRIVERS:
        return f"KDB makes no machines of {hypervisor.name}; attach machines and plan a campaign for these."
    if not configuration.host_storage and not configuration.is_native:
        return "What its disks lie on is not stated."
    return f"{host} is registered for {', '.join(host.drivers) or 'no driver'}."


def _campaign(
    host: Host,
    case_study: CaseStudy,
    driver: str,
    chosen: Sequence[Part],
    variants: Sequence[WorkloadVariant],
    pool: StoragePool | None,
) -> Campaign:
    """Return the case study's own protocol as a plan of what these parts have in common."""
    is_native, facts = driver == Host.Driver.NATIVE, host.facts
    machines = [part.configuration for part in chosen if not part.configuration.is_native]
    wanted = StoragePool.Kind.STORAGE if driver == Host.Driver.PROXMOX else StoragePool.Kind.IMAGE
    at_hand = sorted(host.pools.all(), key=lambda row: (row.kind != wanted, row.pk))
    versions = facts if is_native else facts.get("guest_image", {})
    has_filebench = bool(versions.get("filebench")) and any(row.benchmark.slug == "filebench" for row in variants)
    ram_mib = int(max((row.vm_ram_gib or 0 for row in machines), default=0) * 1024) or 2048
    title = f"{case_study.slug} again on {host}, {Host.Driver(driver).label}"
    campaign = Campaign(
        slug=_free_slug(f"{case_study.slug[:25]}-on-{host.slug[:15]}-{driver}"),
        title=title[:300],
        host=host,
        pool=pool or next(iter(at_hand), None),
        driver=driver,
        engine=Campaign.Engine.FILEBENCH if has_filebench else Campaign.Engine.FIO,
        personality=Campaign.Personality.SHIPPED if has_filebench else Campaign.Personality.KDB,
        host_file_systems=sorted({part.host_fs for part in chosen}),
        guest_file_systems=sorted({part.guest_fs for part in chosen if part.guest_fs}),
        workloads=sorted({row.workload.slug for row in variants}),
        vm_counts=[] if is_native else sorted({number for number in case_study.vm_counts if number}) or [1],
        repetitions=case_study.repetitions or 3,
        run_seconds=case_study.run_seconds or 120,
        disk_mib=DISK_MIB,
        vm_ram_mib=max(min(ram_mib, facts.get("ram_mib", ram_mib) - checks.SPARE_RAM_MIB), 128),
        vm_vcpus=min(max((row.vm_vcpus or 1 for row in machines), default=1), facts.get("cores", 1) or 1),
        seed=case_study.pk,
        replicates=case_study,
    )
    stated = {name: {getattr(row, name) for row in machines} & {*disks.CHOICES[name]} for name in disks.CHOICES}
    campaign.disk = {
        name: [*stated[name]] if len(stated[name]) == 1 else usual for name, usual in campaign.disk.items()
    }
    return campaign


def _free_slug(stem: str) -> str:
    slugs = (f"{stem}-{number}" if number > 1 else stem for number in count(1))
    return next(slug for slug in slugs if not Campaign.objects.filter(slug=slug).exists())


def _leave_out(campaign: Campaign, left_out: dict[str, list[str]]) -> None:
    """Take out of the plan, value by value, what the host has something against. left_out : gets the reasons"""
    for name, about in _FACTORS.items():
        planned = getattr(campaign, name)
        kept = []
        for value in planned:
            setattr(campaign, name, [value])
            problems = checks.problems_of(campaign)
            reasons = [sentence for field in about for sentence in problems.get(field, [])]
            if reasons:
                what = f"{value} machine{'s' if value != 1 else ''}" if name == "vm_counts" else str(value)
                left_out.setdefault(" ".join(reasons), []).append(what)
            else:
                kept.append(value)
        setattr(campaign, name, kept)


def _differences(campaign: Campaign, chosen: Sequence[Part], variants: Sequence[WorkloadVariant]) -> Iterator[str]:
    """Yield a sentence for each thing that is otherwise here, beside the machine itself."""
    able = {*campaign.host_file_systems}, {*campaign.guest_file_systems, ""}
    yield from (
        part.instead for part in chosen if part.instead and part.host_fs in able[0] and part.guest_fs in able[1]
    )
    facts = campaign.host.facts
    benchmarks = sorted({f"{row.benchmark.name} {row.benchmark_version}".strip() for row in variants})
    if campaign.engine == Campaign.Engine.FIO:
        there = ", ".join(benchmarks)
        yield f"fio with KDB's jobs in place of {there}: as many files and threads, no metadata under load."
    else:
        versions = facts if campaign.driver == Host.Driver.NATIVE else facts.get("guest_image", {})
        yield f"Filebench {versions['filebench']} with the personalities that it ships; there: {', '.join(benchmarks)}."
    yield "The files are made first and the caches dropped; there they may have been in memory from the start."
    study = campaign.replicates
    assert study is not None
    there = f"{study.run_seconds or '?'} s, {study.repetitions or '?'} repetitions"
    yield f"{campaign.run_seconds} s a run, {campaign.repetitions} repetitions; there: {there}."
    if campaign.guest_file_systems:
        stated = {part.configuration.vm_ram_gib for part in chosen if part.configuration.vm_ram_gib}
        there = " or ".join(f"{ram_gib:g} GiB" for ram_gib in sorted(stated)) or "not stated"
        yield f"{campaign.vm_ram_mib / 1024:.3g} GiB of memory a machine; there: {there}."
        if facts.get("accelerator") == "qemu":
            yield "Guests run by software emulation here, which is no KVM."


def _described(campaign: Campaign) -> ReplicationPlan:
    names = ("slug", "driver", "host_file_systems", "guest_file_systems", "workloads", "vm_counts")
    estimate = checks.estimate(campaign)
    fields: dict[str, Any] = {name: getattr(campaign, name) for name in names}
    return ReplicationPlan(**fields, runs=estimate.runs, seconds=estimate.seconds)
