"""Read observed machines for pages, in a constant number of queries."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.timezone import now

from experiments.laboratory.transport.counters import total
from experiments.models import DiskStatistics, ObservedDisk, ObservedMachine, ObservedPool
from kdb.host_storage import host_storage_key

from .aggregation import DiskActivity
from .statistics import activity_of, sum_by

LOAD_NOW = timedelta(minutes=10)  # over which the present load is averaged
_MIB = 2**20


@dataclass(frozen=True)
class Load:
    """The load of a machine: means over `seconds` that were watched."""

    seconds: float
    reads: float  # requests a second
    writes: float
    flushes: float
    read_mib: float  # MiB/s
    write_mib: float
    busy_share: float

    @property
    def mib(self) -> float:
        return self.read_mib + self.write_mib

    @property
    def requests(self) -> float:
        return self.reads + self.writes + self.flushes


@dataclass(frozen=True)
class MachineRow:
    """A machine with its disks; load: None where nothing was watched lately."""

    machine: ObservedMachine
    disks: list[ObservedDisk]
    load: Load | None

    @property
    def pools(self) -> list[ObservedPool]:
        return list({disk.pool.pk: disk.pool for disk in self.disks if disk.pool}.values())

    @property
    def is_slow(self) -> bool:
        """Tell whether its operator was notified that one of its disks became slow."""
        return any(disk.slow_since for disk in self.disks)

    @property
    def pool(self) -> str:
        return ", ".join(map(str, self.pools))

    @property
    def host_storage(self) -> list[str]:
        """Return the keys (kdb.host_storage) of what its disks lie on."""
        keys = {host_storage_key(pool.backend, pool.host_fs) for pool in self.pools}
        return sorted(key for key in keys if key)

    @property
    def load_words(self) -> str:
        if self.load is None:
            return "nothing watched lately"
        return (
            f"reads {self.load.read_mib:.2f} MiB/s in {self.load.reads:.1f} requests/s, writes "
            f"{self.load.write_mib:.2f} MiB/s in {self.load.writes:.1f}, {self.load.flushes:.1f} flushes/s"
        )


def machine_rows(chosen: QuerySet[ObservedMachine]) -> list[MachineRow]:
    """Return machines with their disks and loads, by host and name."""
    machines = list(chosen.select_related("host").order_by("host__slug", "name", "pk"))
    disks: dict[int, list[ObservedDisk]] = {machine.pk: [] for machine in machines}
    for disk in ObservedDisk.objects.filter(machine__in=disks).select_related("pool").order_by("target"):
        disks[disk.machine_id].append(disk)
    lately = DiskStatistics.objects.filter(disk__machine__in=disks, span="minute", starts_at__gte=now() - LOAD_NOW)
    activities: dict[int, list[DiskActivity]] = {}
    for by, activity in sum_by(lately, "disk__machine", "disk"):
        activities.setdefault(by["disk__machine"], []).append(activity)
    return [
        MachineRow(machine, disks[machine.pk], mean_load(activities[machine.pk]) if machine.pk in activities else None)
        for machine in machines
    ]


def machines_named(text: str) -> QuerySet[ObservedMachine]:
    """Return the machines with a name or UUID, the latest listed first, as a name may pass to another machine."""
    is_called = Q(name=text)
    with suppress(ValueError):
        is_called |= Q(uuid=UUID(text))
    return ObservedMachine.objects.filter(is_called).order_by("-seen_at", "-pk")


def mean_load(disks: Iterable[DiskActivity]) -> Load:
    """Return a machine's load: the sum of its disks' loads, which were sampled together."""
    disks = list(disks)

    def rate(name: str) -> float:
        return sum(getattr(disk.counts, name) / disk.seconds for disk in disks)

    return Load(
        seconds=max(disk.seconds for disk in disks),
        reads=rate("reads"),
        writes=rate("writes"),
        flushes=rate("flushes"),
        read_mib=rate("read_bytes") / _MIB,
        write_mib=rate("write_bytes") / _MIB,
        busy_share=max(disk.busy_seconds / disk.seconds for disk in disks),
    )


def activity_by_span(
    machine: ObservedMachine, span: str, begin: datetime | None = None
) -> list[tuple[datetime, DiskActivity]]:
    """Return the activity of all disks of a machine together, by the beginning of each span, in order."""
    chosen = DiskStatistics.objects.filter(disk__machine=machine, span=span)
    if begin is not None:
        chosen = chosen.filter(starts_at__gte=begin)
    return [(starts_at, activity) for _, starts_at, activity in activity_of_machines(chosen)]


def activity_of_machines(chosen: QuerySet[DiskStatistics]) -> Iterator[tuple[int, datetime, DiskActivity]]:
    """Yield machine, beginning and the activity of all its disks together, streaming the chosen rows.

    Seconds are those of the disk that was watched longest.
    """
    ordered = chosen.select_related("disk").order_by("disk__machine", "starts_at")
    for (machine, starts_at), same in groupby(
        ordered.iterator(chunk_size=2000), key=lambda row: (row.disk.machine_id, row.starts_at)
    ):
        disks = [activity_of(row) for row in same]
        yield (
            machine,
            starts_at,
            DiskActivity(
                max(disk.seconds for disk in disks),
                max(disk.busy_seconds for disk in disks),
                total(disk.counts for disk in disks),
            ),
        )
