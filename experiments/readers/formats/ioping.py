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

from ..base import Refusal, Run
from ..reader import Report, ReportReader

FITS = 0.015  # two figures of three digits
NOTE = "Rounded to three digits by ioping."

_VALUE = r"(\d{1,9}(?:\.\d{1,3})?)"
_OTHER = r"\d[\d.]{0,12}(?: (?:ns|us|ms|s|min))?"  # least, greatest and deviation
_POWERS = {None: 1, " k": 1_000, " M": 1_000_000, " G": 1_000_000_000}
_BYTES = {"b": 1, "bytes": 1, "kb": 2**10, "kib": 2**10, "mb": 2**20, "mib": 2**20, "gb": 2**30, "gib": 2**30}
_BYTES["tib"] = 2**40
_TO_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "hour": 3.6e6, "day": 8.64e7}


class Ioping(ReportReader):
    name = "ioping"
    counted = "statistics"
    nothing = "there are no statistics of ioping"
    signs = ((b" ioping statistics ---",),)
    ends = "latency"
    labels = {
        "request": re.compile(rf"{_VALUE} (bytes|B|KiB|MiB|GiB) (<<<|>>>|from) "),
        "heading": re.compile(r"--- (.{1,300}) ioping statistics ---"),
        "completed": re.compile(
            rf"{_VALUE}( [kMG])? requests completed in {_VALUE} (ns|us|ms|s|min|hour|day)"
            rf"(?:, {_VALUE} (B|KiB|MiB|GiB|TiB) (read|written))?"
            rf", {_VALUE}( [kMG])? iops, {_VALUE} (B|KiB|MiB|GiB|TiB|kb|mb|gb)/s"
        ),
        "latency": re.compile(
            rf"min/avg/max/mdev = {_OTHER} ?/ ?{_VALUE}(?: (ns|us|ms|s|min))? ?/ ?{_OTHER} ?/"
            r" ?\d[\d.]{0,12} (ns|us|ms|s|min)"
        ),
        "command": re.compile(r"(?:.{0,200}[\s$#>`/])?ioping((?: -{1,2}[A-Za-z][\w=.-]{0,40}(?: [\w.]{1,20})?){1,20})"),
    }

    def judge_run(self, report: Report) -> Run | Refusal | None:
        heading, completed, latency = (report.last(label) for label in ("heading", "completed", "latency"))
        if not heading:
            return None
        if not completed or not latency:
            reason = "the statistics are cut: requests or their latency are missing, or no request ended"
            return Refusal(heading.line, reason)
        request, command = report.last("request"), report.last("command")
        size, direction = None, ""
        if request:
            size = round(float(request.match[1]) * _BYTES[request.match[2].lower()])
            direction = {"<<<": "read", ">>>": "write"}.get(request.match[3], "")
        return _judge(
            completed.line, completed.match, latency.match, size, direction, command.match[1] if command else ""
        )


def _judge(
    line: int, completed: re.Match[str], latency: re.Match[str], size: int | None, direction: str, flags: str
) -> Run | Refusal:
    count = round(float(completed[1]) * _POWERS[completed[2]])
    rate = float(completed[8]) * _POWERS[completed[9]]
    mean = float(latency[1]) * _TO_MS[latency[2] or latency[3]]
    if not (count and rate and mean):
        return Refusal(line, "no request ended: its rate or latency is zero")
    if completed[5] and not size:
        size = _power_of_two(float(completed[5]) * _BYTES[completed[6].lower()] / count)
    if completed[7]:
        direction = "write" if completed[7] == "written" else "read"
    letters = {letter for word in re.findall(r" -([A-Za-z]{1,10})\b", flags) for letter in word}
    could_be = tuple(
        f"{access}{name}" for name in ((direction,) if direction else ("read", "write")) for access in ("random-", "")
    )
    operation = could_be["L" in letters] if flags and direction else ""
    parameters = {name: True for letter, name in (("D", "direct"), ("C", "cached"), ("Y", "sync")) if letter in letters}
    return Run(
        "ioping",
        line,
        throughput_mib_s=float(completed[10]) * _BYTES[completed[11].lower()] / 2**20 or None,
        ops_per_s=rate,
        latency_ms=mean,
        duration_s=float(completed[3]) * _TO_MS[completed[4]] / 1000 or None,
        operation=operation,
        could_be=() if operation else could_be,
        block_size_bytes=size,
        parameters={"threads": 1, **parameters},
        note=NOTE,
        warnings=(NOTE,),
    )


def _power_of_two(size: float) -> int | None:
    """Return the power of two that a size is up to rounding; None where it is none."""
    power = 2 ** max(round(math.log2(size)), 0) if size > 0 else 0
    return power if power and abs(size / power - 1) <= FITS else None
