"""Read the machines and pools of observed hosts as a fleet to plan for, with the reasons why some are left out.

Disks are what moves: a machine with several disks appears once for each, "name:vdb". A machine whose guest file system,
load or mix is unknown is left out with the reason, rather than planned with zeros.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePosixPath
from statistics import median

from django.db.models import Sum
from django.utils.timezone import now

from experiments.models import DiskStatistics, Host, ObservedDisk, ObservedMachine, ObservedPool
from modelling.evidence import names
from modelling.fleet.detection import selectors as detection
from modelling.fleet.detection.content import MEASURED_AS, OR, OTHERS
from modelling.fleet.placement.selectors import ANY_LOAD, Machine, Pool, Possible, Rules
from modelling.models import PlacementMove

WATCHED = timedelta(days=1)  # a machine's load is its mean over this time
_LIKE_KNOWN = 0.5  # probability that what is like several known loads, or a known program, is one of them
SEEN = timedelta(minutes=15)  # a machine or pool that was not seen for longer is not planned for


@dataclass(frozen=True)
class Mix:
    """The workloads that a machine is taken to run.

    shares : the likeliest mix; others : what else it may run, each with its probability
    probability : of the shares, None where they were stated; minutes : watched; text : how this is known
    """

    shares: Mapping[str, float]
    others: tuple[Possible, ...] = ()
    probability: float | None = None
    minutes: int = 0
    text: str = ""


@dataclass(frozen=True)
class Fleet:
    """The machines and pools that can be planned for.

    disks, mixes : by the name of the machine in the fleet; pool_rows : by that of the pool; not_planned : name to why
    """

    machines: list[Machine]
    pools: list[Pool]
    disks: Mapping[str, ObservedDisk]
    mixes: Mapping[str, Mix]
    pool_rows: Mapping[str, ObservedPool]
    not_planned: Mapping[str, str]


def mixes_of(machines: Collection[ObservedMachine]) -> dict[int, Mix]:
    """Return machine key to its stated or detected mix. Two queries. machines : with their `stated_mix`"""
    detected = detection.mixes_of(machine.pk for machine in machines)
    return {
        machine.pk: _stated_mix(machine) or mix_of_detected(detected.get(machine.pk, detection.NOTHING))
        for machine in machines
    }


def _stated_mix(machine: ObservedMachine) -> Mix | None:
    stated = getattr(machine, "stated_mix", None)
    return Mix(stated.shares, text="stated by its operator") if stated is not None else None


def mix_of_detected(detected: detection.Mix) -> Mix:
    """Return what detection says of a machine, which it may not be sure of; no shares where its disks were idle.

    Source: docs/models/placement.md, "What it does".
    """
    working = 1.0 - detected.idle if detected.minutes else 1.0
    if not working:
        return Mix({}, minutes=detected.minutes, text="its disks were idle")
    alone = working - detected.unlike - sum(detected.others.values())
    sure = detected.probability * alone / working if detected.shares else 0.0
    likely = dict.fromkeys([ANY_LOAD], 0.0)
    for classes, share in detected.others.items():
        for name in (several := classes.split(OR)):
            load = MEASURED_AS.get(name, ANY_LOAD) if name in OTHERS else name
            chance = _LIKE_KNOWN * share / working / len(several)
            if detected.shares.keys() == {load}:
                sure += chance
            else:
                likely[load] = likely.get(load, 0.0) + chance
    likely[ANY_LOAD] += 1.0 - sure - sum(likely.values())
    watched = f"in {detected.minutes} minutes of the last {detection.HOURS} hours"
    if sure:
        others = tuple(Possible(chance, {load: 1.0}) for load, chance in likely.items() if chance > 0)
        return Mix(detected.shares, others, sure, detected.minutes, f"detected {watched}")
    others = tuple(Possible(chance, {load: 1.0}) for load, chance in likely.items() if load != ANY_LOAD)
    why = f"detection was not sure of one workload {watched}" if detected.minutes else "nothing was detected of it"
    text = f"{why}; state its mix, or measure its own load"
    return Mix({ANY_LOAD: 1.0}, others, None, detected.minutes, text)


def fleet_of(hosts: Collection[Host]) -> Fleet:
    """Return the machines and pools seen on these hosts within SEEN. Seven queries."""
    since = now() - SEEN
    rows = ObservedPool.objects.filter(host__in=hosts, seen_at__gte=since).select_related("host")
    pool_rows = {name_of(pool.host, pool.path): pool for pool in rows}
    targets = {name for name, pool in pool_rows.items() if pool.is_target and pool.host_fs}
    pools = [
        Pool(
            name,
            host_fs,
            float(pool.free_bytes),
            float(pool.reserve_bytes),
            pool.most_load,
            pool.host.slug,
        )
        for name, pool in pool_rows.items()
        if (host_fs := names.slug_for("file_system", pool.host_fs))
    ]
    machines, disks, mixes, not_planned = [], {}, {}, {}
    listed = (
        ObservedMachine.objects.filter(host__in=hosts, seen_at__gte=since)
        .select_related("host__hypervisor", "stated_mix")
        .prefetch_related("disks__pool")
    )
    # Of several machines with one name the host listed the existing one last.
    by_name = {(machine.host_id, machine.name): machine for machine in listed.order_by("host", "name", "seen_at", "pk")}
    observed = list(by_name.values())
    loads = _loads(disk.pk for machine in observed for disk in machine.disks.all())
    known = mixes_of(observed)
    for machine in observed:
        mix = known[machine.pk]
        own_disks = list(machine.disks.all())
        for disk in own_disks:
            name = name_of(machine.host, machine.name if len(own_disks) == 1 else f"{machine.name}:{disk.target}")
            pool = name_of(machine.host, disk.pool.path) if disk.pool else ""
            why = _reason_not_planned(machine, disk, mix, loads, pool in pool_rows)
            guest_fs = names.slug_for("file_system", machine.guest_fs)
            if why or machine.host.hypervisor is None or guest_fs is None:
                not_planned[name] = why
                continue
            group = machine.host.slug
            machines.append(
                Machine(
                    name=name,
                    pool=pool,
                    guest_fs=guest_fs,
                    hypervisor=machine.host.hypervisor.slug,
                    shares={names.slug_for("workload", name) or name: share for name, share in mix.shares.items()},
                    size_bytes=float(disk.size_bytes),
                    load=loads[disk.pk],
                    others=mix.others,
                    is_pinned=machine.is_pinned,
                    excluded=tuple(sorted({other.name for other in pools} - targets - {pool})),
                    apart=f"{group}/{machine.apart}" if machine.apart else "",
                    together=f"{group}/{machine.together}" if machine.together else "",
                )
            )
            disks[name], mixes[name] = disk, mix
    return Fleet(machines, pools, disks, mixes, pool_rows, not_planned)


def name_of(host: Host, inside: str) -> str:
    """Return the name in the fleet of a machine, or of a pool by its path."""
    return f"{host.slug}/{inside.lstrip('/')}"


def _reason_not_planned(
    machine: ObservedMachine, disk: ObservedDisk, mix: Mix, loads: Mapping[int, float], has_pool: bool
) -> str:
    """Return why a disk is not planned for; "" where it can be."""
    host_fs = disk.pool.host_fs if disk.pool else ""
    reasons = (
        (not machine.is_running, "it does not run"),
        (not has_pool or not disk.pool or not disk.pool.host_fs, "its image lies on no file system that is watched"),
        (not _is_known(host_fs), f"its image lies on {host_fs}, which is no file system of the catalogue"),
        (disk.has_backing_chain, "its image has a backing image or a snapshot"),
        (machine.host.hypervisor is None, "the hypervisor of its host is not stated"),
        (not machine.guest_fs, "its guest file system is not known: state it"),
        (not _is_known(machine.guest_fs), f"its {machine.guest_fs} is no file system of the catalogue"),
        (disk.pk not in loads, f"its load was not watched in the last {WATCHED.days * 24} hours"),
    )
    if why := next((text for is_so, text in reasons if is_so), "") or (mix.text if not mix.shares else ""):
        return why
    unknown = [name for name in mix.shares if name != ANY_LOAD and names.slug_for("workload", name) is None]
    return f"its mix names {unknown[0]}, which is no workload of the catalogue: state it again" if unknown else ""


def _is_known(file_system: str) -> bool:
    """Tell whether the catalogue has the file system."""
    return names.slug_for("file_system", file_system) is not None


def _loads(disks: Iterable[int]) -> dict[int, float]:
    """Return disk to its mean load in MiB/s over the minutes watched in the last day, without disks not watched."""
    watched = (
        DiskStatistics.objects.filter(
            disk__in=list(disks), span=DiskStatistics.Span.MINUTE, starts_at__gte=now() - WATCHED
        )
        .order_by()
        .values("disk")
        .annotate(read=Sum("read_bytes"), written=Sum("write_bytes"), watched=Sum("seconds"))
    )
    return {row["disk"]: (row["read"] + row["written"]) / row["watched"] / 2**20 for row in watched}


def with_measured_rate(rules: Rules, hosts: Collection[Host]) -> tuple[Rules, int]:
    """Return the rules with the median copy rate of earlier moves on these hosts, and the number of these moves."""
    earlier = PlacementMove.objects.filter(host__in=hosts, copy_seconds__gt=0).values_list("size_bytes", "copy_seconds")
    rates = [size / seconds for size, seconds in earlier[:100] if seconds]
    return (replace(rules, copy_rate=median(rates)) if rates else rules), len(rates)


def new_path(disk: ObservedDisk, pool: ObservedPool, token: str) -> str:
    """Return the path of a disk's image in a pool: its name with the token of the move instead of an earlier one.

    For a storage of Proxmox VE, which has no path and chooses the name, that is the storage alone: "local-zfs:".
    """
    if not pool.path.startswith("/"):
        return f"{pool.path}:"
    name = PurePosixPath(disk.path)
    stem = ".".join(part for part in name.stem.split(".") if not _is_token(part)) or "image"
    return f"{pool.path}/{stem}.{token}{name.suffix if not _is_token(name.suffix[1:]) else ''}"


def _is_token(part: str) -> bool:
    return len(part) == 13 and part[0] == "k" and set(part[1:]) <= set("0123456789abcdef")
