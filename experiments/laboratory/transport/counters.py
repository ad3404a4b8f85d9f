"""The hypervisor's counters of each disk since its machine started, as `virsh domstats --block` prints them.

    Domain: 'mail'
      block.count=1
      block.0.name=vda
      block.0.path=/srv/images/mail.raw
      block.0.rd.reqs=7412
      block.0.rd.bytes=236171264
      block.0.rd.times=2014873321        (ns, summed over requests)
      block.0.wr.reqs=... wr.bytes wr.times fl.reqs fl.times

Source: virsh(1), domstats; captured with libvirt 9.0.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

_DOMAIN = re.compile(r"Domain: '(.*)'")
_LINE = re.compile(r"block\.(\d{1,4})\.([a-z.]{1,20})=(.*)")
_NANO = 1e-9


@dataclass(frozen=True)
class Counts:
    """Requests, bytes and times in s, the times summed over requests; since a start, or between two looks."""

    reads: int = 0
    read_bytes: int = 0
    read_seconds: float = 0.0
    writes: int = 0
    write_bytes: int = 0
    write_seconds: float = 0.0
    flushes: int = 0
    flush_seconds: float = 0.0

    @property
    def requests(self) -> int:
        return self.reads + self.writes + self.flushes


NAMES = tuple(field.name for field in fields(Counts))
# virsh's name for each, in the order of the fields; its times are in ns.
_PRINTED = ("rd.reqs", "rd.bytes", "rd.times", "wr.reqs", "wr.bytes", "wr.times", "fl.reqs", "fl.times")


def since(now: Counts, before: Counts) -> Counts | None:
    """Return what happened between two looks; None where a counter went back: the machine was restarted in between."""
    pairs = list(zip(astuple(now), astuple(before), strict=True))
    if any(later < earlier for later, earlier in pairs):
        return None
    return Counts(*(later - earlier for later, earlier in pairs))


def total(counts: Iterable[Counts]) -> Counts:
    return Counts(*(sum(values) for values in zip(*map(astuple, counts), strict=True)))


def read(text: str) -> dict[str, dict[str, Counts]]:
    """Return machine name to disk target to its counters. A disk that is not counted is left out.

    text : of `virsh domstats --block`
    """
    return {
        machine: {disk["name"]: _counts(disk) for disk in disks if _has(disk, *_PRINTED)}
        for machine, disks in _printed(text)
    }


def sizes(text: str) -> dict[str, dict[str, tuple[int, int]]]:
    """Return, keyed as by `read`, the bytes that the machine sees of each disk, and those it takes on the host."""
    return {
        machine: {
            disk["name"]: (int(disk["capacity"]), int(disk["allocation"]))
            for disk in disks
            if _has(disk, "capacity", "allocation")
        }
        for machine, disks in _printed(text)
    }


def _printed(text: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield each machine with what is printed of its disks."""
    machine, disks = "", dict[str, dict[str, str]]()
    for line in text.splitlines():
        if heading := _DOMAIN.fullmatch(line.strip()):
            if machine:
                yield machine, list(disks.values())
            machine, disks = heading[1], {}
        elif value := _LINE.fullmatch(line.strip()):
            disks.setdefault(value[1], {})[value[2]] = value[3]
    if machine:
        yield machine, list(disks.values())


def _has(disk: Mapping[str, str], *keys: str) -> bool:
    return bool(disk.get("name")) and all(disk.get(key, "").isdecimal() for key in keys)


def _counts(disk: Mapping[str, str]) -> Counts:
    values: list[Any] = [int(disk[key]) * _NANO if key.endswith("times") else int(disk[key]) for key in _PRINTED]
    return Counts(*values)
