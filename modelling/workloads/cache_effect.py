"""Tell whether caches or the disk answered: a throughput against the physical limits of its storage. No Django.

P0 holds every throughput against the speed of its disks: what is above it cannot have come from them.
Source: P0, sections 6.1 to 6.4; docs/models/cache-and-scaling.md.
"""

import math
from dataclasses import dataclass

from kdb.units import convert

CACHE_DOMINATED = "cache-dominated"  # above every limit: few requests reach the drivers
LIMITED = "limited cache effect"  # about the limit: many requests miss the caches
DRIVER_BOUND = "driver-bound"  # well below it: nearly all requests reach the drivers
UNDECIDED = "undecided"  # the interval, or a mix of reads and writes that is not known, allows several of these
NO_LIMIT = "no limit stated"

# A physical limit needs no margin: P0 counts the smallest excess it has, Xen's file server with 637 MB/s
# against an interface of 600 MB/s, as above.
ABOVE = 1.0
# "About the limit" begins here. P0's own cases leave 0.49 (web server on ESXi: weaker) to 0.84 (on Xen:
# close to the disk). Three quarters of the 533 MB/s that its web server could read and write are 400 MB/s,
# the 0.8 of "about 500 MB/s" with which claim P0-C83 is checked.
NEAR = 0.75

# What a source may say of the cache effect, and the verdict that would bear it out.
STATED = {"large": CACHE_DOMINATED, "limited": LIMITED, "minimal": DRIVER_BOUND}


@dataclass(frozen=True)
class Limits:
    """Physical limits of a storage, each > 0 in `unit`; None: not stated (experiments.models.Storage).

    sequential_read, sequential_write : what the disk sustains at best
    interface : what the connection to it carries
    source : where they stand and what they are limits of, "Table II: one disk"
    """

    sequential_read: float | None = None
    sequential_write: float | None = None
    interface: float | None = None
    unit: str = "MB/s"
    source: str = ""


@dataclass(frozen=True)
class Verdict:
    """The verdict of the comparison. Values are in `unit`; None: open, or there is no such number.

    name : one of the names above
    between : for "undecided", the lowest and the highest verdict that are possible
    throughput, low, high : what was compared; of all virtual machines together where the source says per machine
    limit, limit_name : what it was held against
    ratio_to_limit, ratio_low, ratio_high : throughput, low, high / limit
    if_per_vm : the verdict on all machines together, should the printed number be that of one; set only
        where there are several and the source does not say
    printed : the number, or the ends of its interval, with unit, as printed
    added_up : how many machines' numbers, each as printed, make up the throughput
    """

    name: str
    throughput: float | None
    low: float | None
    high: float | None
    printed: str
    vm_count: int
    unit: str = "MB/s"
    limit: float | None = None
    limit_name: str = ""
    ratio_to_limit: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    between: tuple[str, ...] = ()
    if_per_vm: str | None = None
    source: str = ""
    added_up: int = 1


def cache_verdict(
    value: float | None,
    unit: str,
    limits: Limits,
    *,
    low: float | None = None,
    high: float | None = None,
    read_share: float | None = None,
    vm_count: int = 1,
    scope: str = "",
) -> Verdict:
    """Hold a throughput against the limits of its storage.

    Parameters
    ----------
    value : float > 0 in `unit`; None where only bounds are known, then `low` or `high` is needed
    low, high : the interval around it; missing: exact, or open where `value` is None
    read_share : bytes read / bytes moved by the workload, 0 to 1 (modelling.workloads.profiles); None: not known
    vm_count : virtual machines at work together; 0 is native
    scope : "per-vm" or "aggregate", what the number means at several machines; "": the source does not say

    The disk's limit for a mix is 1 / (read share / read limit + write share / write limit), because the
    times of reading and writing a byte add up. Where the share is not known it lies between both limits.
    Cache-dominated is what exceeds both this and the interface; limited is what reaches NEAR of it.
    Where a limit that the mix needs is not stated, only an excess over the interface can be told.

    Raises ValueError where a number is not above zero, the share is no share or the interval does not hold
    the value; UnknownUnitError (kdb.units) where `unit` is not one of throughput.
    """
    start, end = _interval(value, low, high)
    together = vm_count if scope == "per-vm" and vm_count > 1 else 1
    throughput, least, greatest = compared = [
        None if x is None else convert(x, unit, "MB/s") * together for x in (value, start, end)
    ]
    disk = _disk_limits(limits, read_share)
    interface = _positive(limits.interface, limits.unit)
    at_least, at_most = least or 0.0, math.inf if greatest is None else greatest
    name, between = _judge(at_least, at_most, disk, interface)
    is_open = vm_count > 1 and scope == ""
    limit, limit_name = _held_against(name, disk, interface, read_share, limits)
    ratios = [None if x is None or limit is None else x / limit for x in compared]
    ends = [x for x in (low, high) if x is not None]
    return Verdict(
        name,
        throughput,
        least,
        greatest,
        printed=_printed(value, ends, low is None, unit),
        vm_count=vm_count,
        limit=limit,
        limit_name=limit_name,
        ratio_to_limit=ratios[0],
        ratio_low=ratios[1],
        ratio_high=ratios[2],
        between=between,
        if_per_vm=_judge(at_least * vm_count, at_most * vm_count, disk, interface)[0] if is_open else None,
        source=limits.source,
        added_up=together,
    )


def agrees(verdict: Verdict, stated: str) -> bool | None:
    """Tell whether the verdict is the one that a source's words ask for; None where that cannot be told.

    stated : a key of STATED: "large", "limited" or "minimal"
    """
    wanted = STATED[stated]
    if verdict.name == NO_LIMIT:
        return None
    if verdict.name == UNDECIDED:
        order = (DRIVER_BOUND, LIMITED, CACHE_DOMINATED)
        lowest, highest = map(order.index, verdict.between)
        return None if lowest <= order.index(wanted) <= highest else False
    return verdict.name == wanted


def sentence(verdict: Verdict, stated: str | None = None, said_by: str = "the source") -> str:
    """Put the verdict into English, with its limit, what is open about it, and whether it bears out what was stated."""
    text = _finding(verdict)
    if verdict.if_per_vm:
        text += (
            f" The source does not say whether the number is that of one of the {verdict.vm_count} virtual machines"
            " or their sum, and it is judged as printed;"
        )
        if verdict.if_per_vm == verdict.name:
            text += " the verdict on their sum would be the same."
        else:
            text += f" were it that of one machine, the verdict on their sum would be: {verdict.if_per_vm}."
    if stated is not None and (answer := agrees(verdict, stated)) is not None:
        text += f" This {'agrees with' if answer else 'contradicts'} {said_by}, which calls the cache effect {stated}."
    return text


def _interval(value: float | None, low: float | None, high: float | None) -> tuple[float | None, float | None]:
    numbers = [x for x in (low, value, high) if x is not None]
    if not numbers:
        raise ValueError("a verdict needs a value, or a bound at least")
    if not all(math.isfinite(x) and x > 0 for x in numbers) or numbers != sorted(numbers):
        raise ValueError(f"low, value and high must be above zero and in this order, not {numbers}")
    return (value if low is None else low), (value if high is None else high)


def _positive(limit: float | None, unit: str) -> float | None:
    if limit is not None and not (math.isfinite(limit) and limit > 0):
        raise ValueError(f"a limit must be above zero, not {limit}")
    return None if limit is None else convert(limit, unit, "MB/s")


def _disk_limits(limits: Limits, read_share: float | None) -> tuple[float, float] | None:
    """Return the least and the greatest that the disk's limit can be, MB/s; None where it is not stated."""
    if read_share is not None and not 0 <= read_share <= 1:
        raise ValueError(f"a share lies between 0 and 1, not {read_share}")
    read, write = (_positive(limit, limits.unit) for limit in (limits.sequential_read, limits.sequential_write))
    if read_share is None:
        return None if read is None or write is None else (min(read, write), max(read, write))
    if (read is None and read_share != 0) or (write is None and read_share != 1):
        return None
    seconds = (read_share / read if read else 0.0) + ((1 - read_share) / write if write else 0.0)
    return 1 / seconds, 1 / seconds


def _judge(
    low: float, high: float, disk: tuple[float, float] | None, interface: float | None
) -> tuple[str, tuple[str, ...]]:
    if disk is None:
        above = interface is not None and low > ABOVE * interface
        return (CACHE_DOMINATED if above else NO_LIMIT), ()
    slowest, fastest = disk
    lowest = _name(low, fastest, interface)
    highest = _name(high, slowest, interface)
    return (lowest, ()) if lowest == highest else (UNDECIDED, (lowest, highest))


def _name(throughput: float, disk: float, interface: float | None) -> str:
    if throughput > ABOVE * max(disk, interface or 0.0):
        return CACHE_DOMINATED
    return LIMITED if throughput >= NEAR * disk else DRIVER_BOUND


def _held_against(
    name: str,
    disk: tuple[float, float] | None,
    interface: float | None,
    read_share: float | None,
    limits: Limits,
) -> tuple[float | None, str]:
    """Return the greatest limit where it was exceeded; else the disk's, the slower one where the mix is not known."""
    if name == NO_LIMIT or (disk is None and interface is None):
        return None, ""
    if disk is None or (name == CACHE_DOMINATED and (interface or 0.0) >= disk[1]):
        return interface, "interface limit"
    if read_share is None:
        pick = max if name == CACHE_DOMINATED else min
        named = {"sequential read limit": limits.sequential_read, "sequential write limit": limits.sequential_write}
        return pick(disk), pick(named, key=lambda name: named[name] or 0.0)
    return disk[0], {1.0: "sequential read limit", 0.0: "sequential write limit"}.get(
        read_share, f"sequential limit for {read_share:.0%} reads".replace("%", " %")
    )


def _printed(value: float | None, ends: list[float], is_upper: bool, unit: str) -> str:
    if value is not None:
        return f"{value:,.10g} {unit}"
    if len(ends) == 2:
        return f"{ends[0]:,.10g} to {ends[1]:,.10g} {unit}"
    return f"at {'most' if is_upper else 'least'} {ends[0]:,.10g} {unit}"


def _finding(verdict: Verdict) -> str:
    caches, s, has = "the caches of guest and host", "", "have"
    if verdict.vm_count == 0:
        caches, s, has = "the host's cache", "s", "has"
    if verdict.name == NO_LIMIT:
        return (
            "The source states no limit of the storage that fits this workload,"
            f" so a throughput of {verdict.printed} does not show what {caches} did."
        )
    against = f"the {verdict.limit:,.1f} {verdict.unit} of the {verdict.limit_name}"
    if verdict.source:
        against += f" ({verdict.source})"
    text = f"With {_compared(verdict)} the throughput is {_ratio(verdict)} {against}"
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


def _compared(verdict: Verdict) -> str:
    """Write what was compared: "474.2 MB/s (452.23 MiB/s as printed)", "348.6 MB/s (3 machines, 110.81 MiB/s each)"."""
    if verdict.throughput is not None:
        number = f"{verdict.throughput:,.1f}"
    elif verdict.low is None or verdict.high is None:
        number = f"at most {verdict.high:,.1f}" if verdict.low is None else f"at least {verdict.low:,.1f}"
    else:
        number = f"{verdict.low:,.1f} to {verdict.high:,.1f}"
    if verdict.added_up > 1:
        return f"{number} {verdict.unit} ({verdict.added_up} machines, {verdict.printed} each)"
    is_converted = not verdict.printed.endswith(f" {verdict.unit}")
    return f"{number} {verdict.unit}" + (f" ({verdict.printed} as printed)" if is_converted else "")


def _ratio(verdict: Verdict) -> str:
    ratio, low, high = verdict.ratio_to_limit, verdict.ratio_low, verdict.ratio_high
    if verdict.name != UNDECIDED and ratio is not None:
        return f"{ratio:.2f} times"
    if low is None:
        return f"at most {high:.2f} times"
    if high is None:
        return f"at least {low:.2f} times"
    return f"{low:.2f} times" if low == high else f"{low:.2f} to {high:.2f} times"
