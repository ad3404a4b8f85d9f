"""The observed machines as pages show them, in a constant number of queries."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from itertools import groupby
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.timezone import now

from experiments.laboratory.transport import offsets
from experiments.laboratory.transport.counters import total
from experiments.models import DiskStatistics, Host, ObservedDisk, ObservedMachine, ObservedPool
from kdb.host_storage import host_storage_key

from .rows import summed, watched
from .sums import Watched

LOAD_NOW = timedelta(minutes=10)  # that the load now is the mean of
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
        """Tell whether its operator was told that a disk of it became slow."""
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


def machines(host: Host) -> list[MachineRow]:
    """Return the machines of a host, by name."""
    return rows(ObservedMachine.objects.filter(host=host))


def rows(chosen: QuerySet[ObservedMachine]) -> list[MachineRow]:
    machines = list(chosen.select_related("host").order_by("host__slug", "name", "pk"))
    disks: dict[int, list[ObservedDisk]] = {machine.pk: [] for machine in machines}
    for disk in ObservedDisk.objects.filter(machine__in=disks).select_related("pool").order_by("target"):
        disks[disk.machine_id].append(disk)
    loads = _loads(disks)
    return [MachineRow(machine, disks[machine.pk], loads.get(machine.pk)) for machine in machines]


def _loads(machines_: Iterable[int]) -> dict[int, Load]:
    """Return machine to the mean load of the last minutes."""
    lately = DiskStatistics.objects.filter(
        disk__machine__in=list(machines_), span="minute", starts_at__gte=now() - LOAD_NOW
    )
    by_machine: dict[int, list[Watched]] = {}
    for by, sums_ in summed(lately, "disk__machine", "disk"):
        by_machine.setdefault(by["disk__machine"], []).append(sums_)
    return {pk: load(disks) for pk, disks in by_machine.items()}


def machines_called(text: str) -> QuerySet[ObservedMachine]:
    """Return the machines of a name or UUID, first what its host listed last: a name goes from machine to machine."""
    is_called = Q(name=text)
    with suppress(ValueError):
        is_called |= Q(uuid=UUID(text))
    return ObservedMachine.objects.filter(is_called).order_by("-seen_at", "-pk")


def load(disks: Iterable[Watched]) -> Load:
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


def sums(machine: ObservedMachine, span: str, begin: datetime | None = None) -> list[tuple[datetime, Watched]]:
    """Return the sums of all disks of a machine together, by the beginning of each span, in order.

    Seconds are those of the disk that was watched longest.
    """
    chosen = DiskStatistics.objects.filter(disk__machine=machine, span=span)
    if begin is not None:
        chosen = chosen.filter(starts_at__gte=begin)
    return [(starts_at, watched) for _, starts_at, watched in minutes_of_machines(chosen)]


def minutes_of_machines(chosen: QuerySet[DiskStatistics]) -> Iterator[tuple[int, datetime, Watched]]:
    """Yield machine, beginning and the sums of all its disks together, of the chosen rows, read a few at a time."""
    ordered = chosen.select_related("disk").order_by("disk__machine", "starts_at")
    for (machine, starts_at), same in groupby(
        ordered.iterator(chunk_size=2000), key=lambda row: (row.disk.machine_id, row.starts_at)
    ):
        yield machine, starts_at, reduce(together, map(watched, same))


def together(one: Watched, other: Watched) -> Watched:
    """Return the sums of two disks in the same time."""
    return Watched(
        max(one.seconds, other.seconds),
        max(one.busy_seconds, other.busy_seconds),
        total([one.counts, other.counts]),
        offsets.joined([one.offsets, other.offsets]),
    )


def pools(host: Host) -> list[ObservedPool]:
    return list(ObservedPool.objects.filter(host=host).order_by("path"))
