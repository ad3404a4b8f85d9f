"""Tell where requests of disks begin, by a few seconds of the kernel's own trace, in sums that add up.

The trace has each request as it is queued for a block device, `requests` of remote.sh prints it so:

    254,3	local-lvm:vm-100-disk-0    (number and name of each disk that is a block device)
    254,3 R 1960336 32                (number, read or write, first sector, sectors)

A request follows on where it begins at the end of one of the last few of its kind: programs read several files at once.
Source: Documentation/trace/events.rst of Linux; the tracepoint block_bio_queue.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields

SECONDS = 5  # of a sample
_RECENT = 32  # requests of a kind of which the next may follow on
_DEVICE = re.compile(r"(\d{1,9},\d{1,9})\t(.{1,500})")
_REQUEST = re.compile(r"(\d{1,9},\d{1,9}) ([RW]) (\d{1,18}) (\d{1,9})")


@dataclass(frozen=True)
class Request:
    is_read: bool
    begin: int  # in sectors
    sectors: int

    @property
    def end(self) -> int:
        return self.begin + self.sectors


@dataclass(frozen=True)
class Offsets:
    """Sampled requests, and how many of them follow on."""

    sampled_reads: int = 0
    following_reads: int = 0
    sampled_writes: int = 0
    following_writes: int = 0


NAMES = tuple(field.name for field in fields(Offsets))


def read(text: str) -> dict[str, list[Request]]:
    """Return the requests that were queued, in order, by the name of each disk that is a block device."""
    names: dict[str, str] = {}
    requests: dict[str, list[Request]] = {}
    for line in text.splitlines():
        if device := _DEVICE.fullmatch(line):
            names[device[1]] = device[2]
            requests[device[2]] = []
        elif (request := _REQUEST.fullmatch(line)) and request[1] in names:
            requests[names[request[1]]].append(Request(request[2] == "R", int(request[3]), int(request[4])))
    return requests


def of_requests(requests: Sequence[Request]) -> Offsets:
    reads = [request for request in requests if request.is_read]
    writes = [request for request in requests if not request.is_read]
    return Offsets(len(reads), _following(reads), len(writes), _following(writes))


def _following(requests: Sequence[Request]) -> int:
    """Return how many requests of one kind follow on."""
    ends: deque[int] = deque(maxlen=_RECENT)
    following = 0
    for request in requests:
        following += request.begin in ends
        ends.append(request.end)
    return following


def joined(samples: Iterable[Offsets | None]) -> Offsets | None:
    """Return the sums of all samples; None where there is none."""
    taken = [astuple(sample) for sample in samples if sample is not None]
    return Offsets(*(sum(values) for values in zip(*taken, strict=True))) if taken else None
