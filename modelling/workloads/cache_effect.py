"""Tell whether caches or the disk answered, from a throughput and the limits of its storage. No Django.

As in P0: a throughput above the speed of the disks cannot have come from them.
Source: P0, sections 6.1 to 6.4; docs/models/cache-and-scaling.md.
"""

from dataclasses import dataclass

from kdb.units import convert

CACHE_DOMINATED = "cache-dominated"  # above every limit: few requests reach the drivers
LIMITED = "limited cache effect"  # about the limit: many requests miss the caches
DRIVER_BOUND = "driver-bound"  # well below it: nearly all requests reach the drivers
UNDECIDED = "undecided"  # the mix of reads and writes is not known, and the verdict depends on it
NO_LIMIT = "no limit stated"

# A physical limit needs no margin: P0 counts the smallest excess it has, Xen's file server with 637 MB/s
# against an interface of 600 MB/s, as above.
ABOVE = 1.0
# "About the limit" begins here. P0's own cases leave 0.49 (web server on ESXi: weaker) to 0.84 (on Xen:
# close to the disk). Three quarters of the 533 MB/s that its web server could read and write are 400 MB/s,
# the 0.8 of "about 500 MB/s" with which claim P0-C83 is checked.
NEAR = 0.75


@dataclass(frozen=True)
class Limits:
    """Physical limits of a storage in MB/s, each > 0; None: not stated (experiments.models.Storage).

    sequential_read, sequential_write : what the disk sustains at best
    interface : what the connection to it carries
    """

    sequential_read: float | None = None
    sequential_write: float | None = None
    interface: float | None = None

    @classmethod
    def of(cls, sequential_read: float | None, sequential_write: float | None, interface: float | None) -> "Limits":
        """Return the limits of a storage; a stored 0, which forms once accepted, counts as not stated."""
        return cls(sequential_read or None, sequential_write or None, interface or None)


@dataclass(frozen=True)
class CacheVerdict:
    """The result of comparing a throughput with the limits of its storage.

    name : one of the constants above
    between : for "undecided", the lowest and the highest verdict that are possible
    throughput : what was compared, MB/s; of all virtual machines together where the source says per machine
    limit, limit_name : what it was compared with, MB/s; None: no stated limit fits
    if_per_vm : the verdict on the sum of all machines, if the printed number is that of one; set only where there are
        several machines and the source does not say
    printed : the number with its unit, as printed
    added_up : how many machines' numbers, each as printed, make up the throughput
    """

    name: str
    throughput: float
    printed: str
    vm_count: int
    limit: float | None
    limit_name: str
    between: tuple[str, ...]
    if_per_vm: str | None
    added_up: int


def cache_verdict(
    value: float, unit: str, limits: Limits, *, read_share: float | None = None, vm_count: int = 1, scope: str = ""
) -> CacheVerdict:
    """Compare a throughput with the limits of its storage.

    Parameters
    ----------
    value : float > 0 in `unit`
    read_share : bytes read / bytes moved by the workload, 0 to 1 (modelling.workloads.profiles); None: not known
    vm_count : virtual machines at work together; 0 is native
    scope : "per-vm" or "aggregate", what the number means at several machines; "": the source does not say

    The disk's limit for a mix is 1 / (read share / read limit + write share / write limit), because the
    times of reading and writing a byte add up. Where the share is not known it lies between both limits.
    Cache-dominated is what exceeds both this and the interface; limited is what reaches NEAR of it.
    Where a limit that the mix needs is not stated, only an excess over the interface is decided.

    Raises UnknownUnitError (kdb.units) where `unit` is not one of throughput.
    """
    machines = vm_count if scope == "per-vm" and vm_count > 1 else 1
    throughput = convert(value, unit, "MB/s") * machines
    disk = _disk_limits(limits, read_share)
    name, between = _judge(throughput, disk, limits.interface)
    is_open = vm_count > 1 and scope == ""
    limit, limit_name = _compared_limit(name, disk, read_share, limits)
    return CacheVerdict(
        name,
        throughput,
        printed=f"{value:,.10g} {unit}",
        vm_count=vm_count,
        limit=limit,
        limit_name=limit_name,
        between=between,
        if_per_vm=_judge(throughput * vm_count, disk, limits.interface)[0] if is_open else None,
        added_up=machines,
    )


def caches_answered_above(limits: Limits, read_share: float | None) -> float | None:
    """Return the throughput, MB/s, above which the verdict is cache-dominated; None: no limit that fits is stated."""
    disk = _disk_limits(limits, read_share)
    if disk is None:
        return limits.interface
    return max(disk[1], limits.interface or 0.0)


def sentence(verdict: CacheVerdict) -> str:
    """Write the verdict in English, with its limit and what is open about it."""
    text = _describe(verdict)
    if verdict.if_per_vm:
        text += (
            f" The source does not say whether the number is that of one of the {verdict.vm_count} virtual machines"
            " or their sum, and it is judged as printed;"
        )
        if verdict.if_per_vm == verdict.name:
            text += " the verdict on their sum would be the same."
        else:
            text += f" were it that of one machine, the verdict on their sum would be: {verdict.if_per_vm}."
    return text


def _disk_limits(limits: Limits, read_share: float | None) -> tuple[float, float] | None:
    """Return the bounds of the disk's limit for the mix, MB/s, equal where the mix is known; None: not stated."""
    read, write = limits.sequential_read, limits.sequential_write
    if read_share is None:
        return None if read is None or write is None else (min(read, write), max(read, write))
    if (read is None and read_share != 0) or (write is None and read_share != 1):
        return None
    seconds = (read_share / read if read else 0.0) + ((1 - read_share) / write if write else 0.0)
    return 1 / seconds, 1 / seconds


def _judge(throughput: float, disk: tuple[float, float] | None, interface: float | None) -> tuple[str, tuple[str, ...]]:
    if disk is None:
        above = interface is not None and throughput > ABOVE * interface
        return (CACHE_DOMINATED if above else NO_LIMIT), ()
    slowest, fastest = disk
    lowest, highest = (_name(throughput, limit, interface) for limit in (fastest, slowest))
    return (lowest, ()) if lowest == highest else (UNDECIDED, (lowest, highest))


def _name(throughput: float, disk: float, interface: float | None) -> str:
    if throughput > ABOVE * max(disk, interface or 0.0):
        return CACHE_DOMINATED
    return LIMITED if throughput >= NEAR * disk else DRIVER_BOUND


def _compared_limit(
    name: str, disk: tuple[float, float] | None, read_share: float | None, limits: Limits
) -> tuple[float | None, str]:
    """Return the limit to name, MB/s: the greatest if exceeded, else the disk's, the lower if the mix is unknown."""
    if name == NO_LIMIT:
        return None, ""
    if disk is None or (name == CACHE_DOMINATED and (limits.interface or 0.0) >= disk[1]):
        return limits.interface, "interface limit"
    if read_share is None:
        pick = max if name == CACHE_DOMINATED else min
        named = {"sequential read limit": limits.sequential_read, "sequential write limit": limits.sequential_write}
        return pick(disk), pick(named, key=lambda name: named[name] or 0.0)
    return disk[0], {1.0: "sequential read limit", 0.0: "sequential write limit"}.get(
        read_share, f"sequential limit for {read_share:.0%} reads".replace("%", " %")
    )


def _describe(verdict: CacheVerdict) -> str:
    caches, s, has = "the caches of guest and host", "", "have"
    if verdict.vm_count == 0:
        caches, s, has = "the host's cache", "s", "has"
    if verdict.limit is None:
        return (
            "The source states no limit of the storage that fits this workload,"
            f" so a throughput of {verdict.printed} does not show what {caches} did."
        )
    text = (
        f"With {_format_throughput(verdict)} the throughput is {verdict.throughput / verdict.limit:.2f} times"
        f" the {verdict.limit:,.1f} MB/s of the {verdict.limit_name}"
    )
    if verdict.name == UNDECIDED:
        lowest, highest = verdict.between
        return f"{text}, which leaves the verdict open between {lowest} and {highest}."
    meaning = {
        CACHE_DOMINATED: f"above what the storage can carry: {caches} answer{s} most requests, and few reach"
        " the drivers",
        LIMITED: f"about what the storage can carry: {caches} {has} a limited effect, and many requests reach the"
        " drivers",
        DRIVER_BOUND: f"well below what the storage can carry: {caches} show{s} little effect, and nearly all"
        " requests reach the drivers",
    }
    return f"{text}, {meaning[verdict.name]}."


def _format_throughput(verdict: CacheVerdict) -> str:
    """Format the throughput with the printed number: "348.6 MB/s (3 machines, 110.81 MiB/s each)"."""
    number = f"{verdict.throughput:,.1f} MB/s"
    if verdict.added_up > 1:
        return f"{number} ({verdict.added_up} machines, {verdict.printed} each)"
    return number if verdict.printed.endswith(" MB/s") else f"{number} ({verdict.printed} as printed)"
