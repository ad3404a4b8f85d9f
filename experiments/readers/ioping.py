"""ioping's statistics, 0.6 to 1.3: one request at a time, figures of three digits.

    4 KiB <<< . (ext4 /dev/sda1 97.9 GiB): request=2 time=235.2 us            or: 4096 bytes from . (...)
    --- . (ext4 /dev/sda1 97.9 GiB) ioping statistics ---
    9 requests completed in 2.40 ms, 36 KiB read, 3.75 k iops, 14.6 MiB/s     or: ... in 9046.0 ms, 297 iops, 1.2 mb/s
    generated 10 requests in 9.00 s, 40 KiB, 1 iops, 4.44 KiB/s
    min/avg/max/mdev = 212.6 us / 266.7 us / 329.2 us / 38.5 us               or: = 1.0/3.4/9.0/2.6 ms

The second forms are of 0.6.

Rate and throughput are of the time in requests, without the pauses between them. Offsets are random unless -L is
given, which only the command tells.

Where no request is printed (-q, -R), the size of one is the power of two that all of them fit, as rounded as they are.

Source: an output of 0.6, the manual and outputs of 1.3.
"""

import math
import re

from .base import Outcomes, Reading, Refusal, Run, lines_of, text_of, whole_or_nothing

MAX_RUNS = 10_000
MAX_LINE = 400
FITS = 0.015  # two figures of three digits
NOTE = "Rounded to three digits by ioping."

_REQUEST = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) (bytes|B|KiB|MiB|GiB) (<<<|>>>|from) ")
_STATISTICS = re.compile(r"--- (.{1,300}) ioping statistics ---")
_COMPLETED = re.compile(
    r"(\d{1,9}(?:\.\d{1,3})?)( [kMG])? requests completed in (\d{1,9}(?:\.\d{1,3})?) (ns|us|ms|s|min|hour|day)"
    r"(?:, (\d{1,9}(?:\.\d{1,3})?) (B|KiB|MiB|GiB|TiB) (read|written))?"
    r", (\d{1,9}(?:\.\d{1,3})?)( [kMG])? iops, (\d{1,9}(?:\.\d{1,3})?) (B|KiB|MiB|GiB|TiB|kb|mb|gb)/s"
)
_LATENCY = re.compile(
    r"min/avg/max/mdev = \d[\d.]{0,12}(?: (?:ns|us|ms|s|min))? ?/ ?(\d{1,9}(?:\.\d{1,3})?)(?: (ns|us|ms|s|min))? ?/"
    r" ?\d[\d.]{0,12}(?: (?:ns|us|ms|s|min))? ?/ ?\d[\d.]{0,12} (ns|us|ms|s|min)"
)
_COMMAND = re.compile(r"(?:.{0,200}[\s$#>`/])?ioping((?: -{1,2}[A-Za-z][\w=.-]{0,40}(?: [\w.]{1,20})?){1,20})")
_POWERS = {"": 0, "k": 1, "M": 2, "G": 3}
_MIB = {"b": 2**-20, "bytes": 2**-20, "kib": 2**-10, "kb": 2**-10, "mib": 1.0, "mb": 1.0, "gib": 2**10, "gb": 2**10}
_MIB["tib"] = 2**20
_TO_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "hour": 3.6e6, "day": 8.64e7}


class Ioping:
    name = "ioping"

    def recognises(self, data: bytes) -> bool:
        return b" ioping statistics ---" in data[: 2**20]

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        outcomes = Outcomes("statistics", MAX_RUNS)
        size: int | None = None
        direction, flags = "", ""
        waiting: tuple[int, re.Match[str]] | None = None
        heading: int | None = None
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if match := _REQUEST.match(line):
                size = round(float(match[1]) * _MIB[match[2].lower()] * 2**20)
                direction = {"<<<": "read", ">>>": "write"}.get(match[3], "")
            elif _STATISTICS.match(line):
                heading = number
            elif heading and (match := _COMPLETED.match(line)):
                waiting = number, match
            elif waiting and (match := _LATENCY.match(line)):
                outcomes.add(_judge(*waiting, match, size, direction, flags))
                size, direction, flags, waiting, heading = None, "", "", None, None
            elif match := _COMMAND.match(line):
                flags = match[1]
        if heading:
            outcomes.add(
                Refusal(heading, "the statistics are cut: requests or their latency are missing, or no request ended")
            )
        if not outcomes.count:
            outcomes.add(Refusal(None, "there are no statistics of ioping"))
        return Reading(self.name, "", self.name, outcomes.runs, outcomes.refused)


def _judge(
    line: int, completed: re.Match[str], latency: re.Match[str], size: int | None, direction: str, flags: str
) -> Run | Refusal:
    count = round(float(completed[1]) * 1000 ** _POWERS[(completed[2] or "").strip()])
    rate = float(completed[8]) * 1000 ** _POWERS[(completed[9] or "").strip()]
    throughput = float(completed[10]) * _MIB[completed[11].lower()]
    mean = float(latency[1]) * _TO_MS[latency[2] or latency[3]]
    if not (count and rate and mean):
        return Refusal(line, "no request ended: its rate or latency is zero")
    if completed[5] and not size:
        size = _power_of_two(float(completed[5]) * _MIB[completed[6].lower()] * 2**20 / count)
    if completed[7]:
        direction = "write" if completed[7] == "written" else "read"
    letters = {letter for word in re.findall(r" -([A-Za-z]{1,10})\b", flags) for letter in word}
    operation, could_be = (
        "",
        tuple(
            f"{access}{name}"
            for name in ((direction,) if direction else ("read", "write"))
            for access in ("random-", "")
        ),
    )
    if flags and direction:
        operation, could_be = (direction if "L" in letters else f"random-{direction}"), ()
    parameters = {name: True for letter, name in (("D", "direct"), ("C", "cached"), ("Y", "sync")) if letter in letters}
    return Run(
        workload="ioping",
        line=line,
        throughput_mib_s=throughput or None,
        ops_per_s=rate,
        latency_ms=mean,
        duration_s=float(completed[3]) * _TO_MS[completed[4]] / 1000 or None,
        operation=operation,
        could_be=could_be,
        block_size_bytes=size,
        parameters={"threads": 1, **parameters},
        note=NOTE,
        warnings=(NOTE,),
    )


def _power_of_two(size: float) -> int | None:
    """Return the power of two that a size is up to rounding; None where it is none."""
    power = 2 ** max(round(math.log2(size)), 0) if size > 0 else 0
    return power if power and abs(size / power - 1) <= FITS else None
