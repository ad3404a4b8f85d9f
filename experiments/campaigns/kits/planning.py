"""A kit planned on a host: by the first way in which the host can do it, and what it cannot do of it.

The host's own check of a plan (checks.problems_of) decides what can be done; its sentences are the reasons.
"""

import random
from dataclasses import dataclass
from typing import Annotated, Any

from experiments.campaigns import checks, control
from experiments.campaigns.replication import (
    SHORT_REPETITIONS,
    SHORT_SECONDS,
    Outline,
    fitting_pool,
    free_slug,
    in_words,
    leave_out,
    sentences,
)
from experiments.models import Campaign, Host, StoragePool

from .definitions import RAM_MIB, Kit, Way

DISK_MIB, VCPUS = 8192, 2  # room for files twice as large as the memory, twice over


@dataclass(frozen=True)
class KitPlan(Outline):
    """A kit as a host can run it."""

    kit: Annotated[str, "With its version: `cache-mode/1`."]
    held: Annotated[str, "What is the same in all runs; empty: there are none."]


def prepare(
    host: Host, kit: Kit, pool: StoragePool | None = None, *, short: bool = False, **changes: Any
) -> tuple[list[Campaign], KitPlan]:
    """Return the campaign by which the host can run a kit, not stored, or none; and what it is in words.

    pool : None: the first of the driver's kind; short : 30 s, two repetitions, the first workload
    changes : fields of the campaign that are to be other than the kit's
    """
    left_out: dict[str, list[str]] = {}  # reason to what it keeps out
    ways = [(way, driver) for way in kit.ways for driver in way.drivers]
    for way, driver in ways:
        if driver not in host.drivers:
            reason = f"{host} is registered for {', '.join(host.drivers) or 'no driver'}."
            left_out.setdefault(reason, []).append(f"By the driver {driver}")
            continue
        campaign = _campaign(host, kit, way, driver, pool)
        if short:
            campaign.run_seconds, campaign.repetitions = SHORT_SECONDS, SHORT_REPETITIONS
            campaign.workloads = campaign.workloads[:1]
        for name, value in changes.items():
            setattr(campaign, name, value)
        leave_out(campaign, left_out)
        if problems := checks.problems_of(campaign):
            left_out.setdefault(str(control.PlanRefused(problems)), []).append(f"All by the driver {driver}")
            continue
        if not _compares(way, campaign):
            left_out.setdefault("Nothing is left to compare it with.", []).append(f"The rest by the driver {driver}")
            continue
        estimate = checks.estimate(campaign)
        kept_out = [*sentences(left_out), *estimate.left_out]
        words = [in_words(campaign, estimate)]
        return [campaign], KitPlan([campaign.slug], words, estimate.seconds, kept_out, kit.mark, way.held)
    return [], KitPlan([], [], 0, sentences(left_out), kit.mark, "")


def _compares(way: Way, campaign: Campaign) -> bool:
    """Tell whether a campaign still compares what the way does: options, or file systems where it names no options."""
    options = [campaign.disk[name] for name, chosen in way.disk.items() if len(chosen) > 1]
    return max(map(len, options or (campaign.host_file_systems, campaign.guest_file_systems))) > 1


def _campaign(host: Host, kit: Kit, way: Way, driver: str, pool: StoragePool | None) -> Campaign:
    """Return a way of the kit as a plan on the host, whether or not that can do it."""
    pool, facts = pool or fitting_pool(host, driver), host.facts
    systems = [*way.host_file_systems]
    if pool and pool.kind != StoragePool.Kind.IMAGE and len(systems) == 1:  # used as it is
        systems = [facts.get("pools", {}).get(pool.path, {}).get("file_system", systems[0])]
    campaign = Campaign(
        slug=free_slug(f"{kit.slug[:25]}-on-{host.slug[:15]}"),
        title=f"Kit {kit.slug} on {host}"[:300],
        host=host,
        pool=pool,
        driver=driver,
        engine=kit.engine,
        host_file_systems=systems,
        guest_file_systems=[*way.guest_file_systems],
        workloads=[*kit.workloads],
        vm_counts=[1] if way.guest_file_systems else [],
        repetitions=kit.repetitions,
        run_seconds=kit.run_seconds,
        disk_mib=DISK_MIB,
        vm_ram_mib=RAM_MIB,
        vm_vcpus=min(VCPUS, facts.get("cores", VCPUS)),
        follows_protocol=True,
        seed=random.randrange(2**31),  # noqa: S311 - an order, not a secret
        kit=kit.mark,
    )
    campaign.disk |= {name: [*values] for name, values in way.disk.items()}
    return campaign
