"""Find values that a clock, a cache or a shared limit produced, not a disk. No Django.

Cells of a case study are compared with one another, with what its disks can do, and with the reference load of its
campaign. Flagged values stay. docs/models/lint.md has the thresholds, their sources, and how often each flag is wrong.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Annotated, Any, Literal

from kdb.units import METRICS, OPERATION_RATE, RELATIVE, THROUGHPUT, convert

Kind = Literal["clock", "ceiling", "above the interface", "above the reference load"]
CLOCK: Kind = "clock"
CEILING: Kind = "ceiling"
ABOVE_INTERFACE: Kind = "above the interface"
ABOVE_REFERENCE: Kind = "above the reference load"

SAME = 1.002  # greatest over least of equal values: repetitions of one run on one disk differ by more
FEWEST_AT_CLOCK = 3
NEARLY_SAME = 1.01
FEWEST_AT_CEILING = 5
DIFFERENT = 1.1  # least ratio under another load at which systems count as different
MAX_LOADS = 50  # other loads that are compared for it, which bounds the time for a row
# A short load with one request at a time asks less of a disk than many requests do. Files that fit into memory have no
# such margin: above the reference load nobody can tell the disk from the cache.
REFERENCE_MARGIN = 1.5

# MB/s that one disk's interface carries. Serial ATA 3 and SAS-3 after their line code of 8b/10b; no single hard disk
# sustains more than 300 MB/s; NVMe has four lanes of the newest PCI Express that was sold in the year.
SATA, SAS, HARD_DISK = 600.0, 1_200.0, 300.0
FOUR_LANES = ((2018, 3_940.0, "PCIe 3"), (2021, 7_880.0, "PCIe 4"), (math.inf, 15_750.0, "PCIe 5"))
_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_COUNT = re.compile(
    rf"\b(\d{{1,3}}|{'|'.join(_WORDS)}) ?(?:[x×]\b|(?:[a-z]+ )?(?:disks|drives|ssds?|nvme|mirrors|hosts)\b)", re.I
)
_SEVERAL = re.compile(r"raid|mirror|array|stripe|vsan|ceph|\bsan\b|cluster|disks|drives", re.I)


@dataclass(frozen=True)
class Disks:
    """The disks of a cell. kind, description, raid : as in Storage; year : of measuring or publishing

    interface_limit, sequential_limit : MB/s as stated, the latter of the faster direction; source : of these limits
    reference_load : MB/s of the faster direction of the campaign's reference load. None: not stated
    """

    kind: str = ""
    description: str = ""
    raid: str = ""
    year: int | None = None
    interface_limit: float | None = None
    sequential_limit: float | None = None
    source: str = ""
    reference_load: float | None = None

    def under(self, kind: str, below: str) -> "Disks":
        """Return the disks of a configuration: those of the case study, unless it states disks of another kind."""
        if kind and kind != self.kind:
            return Disks(kind, below, year=self.year)
        return replace(self, raid=f"{self.raid} {below}")


@dataclass(frozen=True)
class MeasuredValue:
    """One cell: the mean of all values of one configuration in a fair-play group.

    key : of the caller; load : workload variant and operation
    group : the number of machines, then the other coordinates of the fair-play group
    machines : by how many `value` is multiplied to get the total of the disks
    is_direct : whether the load bypasses all caches; fits : whether its files are known to fit into memory
    """

    key: Any
    configuration: Hashable
    load: Any
    group: tuple[Any, ...]
    value: float
    unit: str
    metric: str = THROUGHPUT
    block_size_bytes: int | None = None
    machines: int = 1
    is_direct: bool = False
    fits: bool = False
    disks: Disks = Disks()

    @property
    def moved(self) -> float | None:
        """Return the MB/s of all machines together; None where it is neither a throughput nor a rate of blocks."""
        if self.metric == THROUGHPUT:
            return convert(self.value, self.unit, "MB/s") * self.machines
        if self.metric == OPERATION_RATE and self.block_size_bytes:
            return self.value * self.block_size_bytes / 1e6 * self.machines
        return None


@dataclass(frozen=True)
class Flag:
    """The reason, in one sentence, why a disk did not produce the value."""

    kind: Kind
    reason: str


@dataclass(frozen=True)
class FlaggedNumber:
    """One number that looks like no disk's, with the reason. It is kept and shown."""

    case_study: str
    configuration: str
    workload: str
    operation: str
    block_size_bytes: int | None
    vm_count: int
    metric: str
    value: Annotated[float, "Mean of all runs, in `unit`."]
    unit: str
    flag: Kind
    reason: Annotated[str, "One sentence."]


def implausible(values: Iterable[MeasuredValue]) -> list[tuple[MeasuredValue, Flag]]:
    """Return the implausible values of one case study, each with the first flag that applies."""
    groups: dict[Hashable, list[MeasuredValue]] = defaultdict(list)
    groups_of_system: dict[Hashable, list[list[MeasuredValue]]] = defaultdict(list)
    for value in values:
        group = groups[value.load, value.group]
        group.append(value)
        groups_of_system[value.configuration].append(group)
    flagged: dict[int, tuple[MeasuredValue, Flag]] = {}
    for group in groups.values():
        for value, flag in (*_shared_ceilings(group, groups_of_system), *_above_limits(group)):
            flagged.setdefault(id(value), (value, flag))
    # What the same runs print in other metrics is the cache's, too.
    cached = {_runs(value): flag for value, flag in flagged.values() if flag.kind == ABOVE_REFERENCE}
    for value in chain.from_iterable(groups.values()):
        if _runs(value) in cached:
            flagged.setdefault(id(value), (value, cached[_runs(value)]))
    return list(flagged.values())


def _runs(value: MeasuredValue) -> Hashable:
    return value.configuration, value.load, value.group[0]


def reference_load(calibrations: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the faster direction of the fastest reference load of a campaign, MB/s; None where it had none."""
    figures = [load[name] for load in calibrations for name in ("read_mib_s", "write_mib_s") if load.get(name)]
    return convert(max(figures), "MiB/s", "MB/s") if figures else None


def _shared_ceilings(
    group: list[MeasuredValue], groups_of_system: Mapping[Hashable, list[list[MeasuredValue]]]
) -> Iterator[tuple[MeasuredValue, Flag]]:
    """Yield the cells at the best value of a group where several different configurations reach exactly that.

    Equal values below the best are chance, as others went beyond them.
    """
    if group[0].metric == RELATIVE:
        return  # the reference itself always has the ratio 1
    positive = [value for value in group if value.value > 0]
    best = (max if METRICS[group[0].metric].higher_is_better else min)((value.value for value in positive), default=0.0)
    for kind, tolerance, fewest in ((CLOCK, SAME, FEWEST_AT_CLOCK), (CEILING, NEARLY_SAME, FEWEST_AT_CEILING)):
        near = [value for value in positive if max(value.value / best, best / value.value) <= tolerance]
        systems = dict.fromkeys(value.configuration for value in near)
        if len(systems) < fewest or not _are_unequal(systems, group[0].load, groups_of_system):
            continue
        number = next((word.capitalize() for word, count in _WORDS.items() if count == len(systems)), len(systems))
        exactly = "exactly" if kind == CLOCK else "nearly"
        looks = "a clock or a limit" if kind == CLOCK else "a limit that they share"
        reason = f"{number} systems at {exactly} the same speed: this looks like {looks}, not a disk."
        yield from ((value, Flag(kind, reason)) for value in near)
        return


def _are_unequal(
    systems: Collection[Hashable], load: Hashable, groups_of_system: Mapping[Hashable, list[list[MeasuredValue]]]
) -> bool:
    """Tell whether these configurations differ under one of at most MAX_LOADS other loads of the case study.

    groups_of_system : configuration to the groups that have it
    """
    others = chain.from_iterable(groups_of_system[system] for system in systems)
    for group in islice((group for group in others if group[0].load != load), MAX_LOADS):
        speeds = [value.value for value in group if value.configuration in systems]
        if max(speeds) >= DIFFERENT * min(speeds) and len(speeds) > 1:
            return True
    return False


def _above_limits(group: list[MeasuredValue]) -> Iterator[tuple[MeasuredValue, Flag]]:
    """Yield the cells that moved more than their disks can, or than the campaign's reference load did."""
    for value in group:
        if value.moved is None:
            continue
        fits = " The files fit into memory." if value.fits else ""
        reference = value.disks.reference_load
        if (limit := disk_limit(value.disks)) and value.moved > limit[0]:
            reason = f"{value.moved:,.0f} MB/s are more than {limit[1]}: a cache answered, not the disk.{fits}"
            yield value, Flag(ABOVE_INTERFACE, reason)
        elif reference and not value.is_direct and value.moved > reference * (1 if value.fits else REFERENCE_MARGIN):
            reason = f"{value.moved:,.0f} MB/s, where the reference load past the caches moved {reference:,.0f}"
            yield value, Flag(ABOVE_REFERENCE, f"{reason}: a cache answered, not the disk.{fits}")


def disk_limit(disks: Disks) -> tuple[float, str] | None:
    """Return the most that the disks can do, MB/s, and in words why; None where it is not known.

    A stated limit is of all disks together, unless its source says "one disk". Without one, the limit is that of a disk
    of the kind times the number of disks, unless there are several and their number is not stated.
    """
    if disks.interface_limit:
        return disks.interface_limit, f"the {disks.interface_limit:,.0f} MB/s of the interface, as stated"
    words = f"{disks.description} {disks.raid}"
    counts = _COUNT.findall(disks.raid) or _COUNT.findall(disks.description)
    number = math.prod(_WORDS.get(count.lower()) or int(count) for count in counts)
    number += disks.description.count(" and ")  # "a 10K disk and a 7.2K disk"
    if disks.sequential_limit:
        limit = disks.sequential_limit * (number if "one disk" in disks.source else 1)
        return limit, f"the {limit:,.0f} MB/s of the disks, as stated"
    if number == 1 and _SEVERAL.search(words):
        return None
    if disks.kind == "hdd":
        one, name = HARD_DISK, "hard disk"
    elif disks.kind == "nvme" and disks.year:
        one, name = next((limit, f"NVMe disk of {pcie}") for last, limit, pcie in FOUR_LANES if disks.year <= last)
    elif re.search(r"\bSATA", words) and disks.kind in ("", "ssd"):
        one, name = SATA, "SATA disk"
    elif disks.kind == "ssd":
        one, name = SAS, "solid-state disk on SATA or SAS"
    else:
        return None
    limit, several = one * number, name.replace("disk", "disks", 1)
    return limit, f"the {limit:,.0f} MB/s that {f'{number} {several} carry' if number > 1 else f'one {name} carries'}"
