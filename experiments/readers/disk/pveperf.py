"""pveperf, of Proxmox VE: a file system and its device, three seconds each.

    CPU BOGOMIPS:      57471.52
    REGEX/SECOND:      3824412
    HD SIZE:           64.27 GB (/dev/mapper/pve-root)
    BUFFERED READS:    239.96 MB/sec                 only where the file system lies on a device: not on ZFS
    AVERAGE SEEK TIME: 0.24 ms
    FSYNCS/SECOND:     691.50
    DNS EXT:           54.79 ms
    DNS INT:           278.41 ms (example.org)

- Buffered reads are of 2 MiB one after the other from the device's begin; a MB is 2**20 bytes.
- The seek time is the mean of reads of 512 bytes at random places.
- An fsync is of a new file of 4,001 bytes; it counts with opening, writing and closing it.
- What it says of processor and names is of no storage, and left where it is.

Source: pve-manager, bin/pveperf; outputs on forums and in repositories.
"""

import re

from experiments.readers.base import (
    Outcomes,
    Reading,
    Refusal,
    Run,
    by_name,
    lines_of,
    text_of,
    whole_or_nothing,
)

MAX_RUNS = 10_000
MAX_LINE = 300
SECONDS = 3.0  # of each test, as the program has it

_BEGIN = re.compile(r"CPU BOGOMIPS: {1,20}\d")
_PLACE = re.compile(r"HD SIZE: {1,20}\d[\d.]{0,12} GB \((.{1,120})\)$")
_FIGURE = re.compile(r"(BUFFERED READS|AVERAGE SEEK TIME|FSYNCS/SECOND): {1,20}(\d{1,12}(?:\.\d{1,4})?)(.{0,40})$")
_UNITS = {"BUFFERED READS": " MB/sec", "AVERAGE SEEK TIME": " ms", "FSYNCS/SECOND": ""}


class Pveperf:
    name = "pveperf"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20]
        return b"CPU BOGOMIPS:" in start and (b"FSYNCS/SECOND:" in start or b"REGEX/SECOND:" in start)

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        every = Outcomes("figures", MAX_RUNS)
        places: dict[str, tuple[int, list[Run]]] = {}
        report: tuple[int, str] | None = None  # its line, and what it is of
        is_whole = True
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if _BEGIN.match(line):
                every.add(*_end(report, is_whole))
                report, is_whole = (number, ""), False
            elif report and (match := _PLACE.match(line)):
                report = report[0], match[1]
            elif report and (match := _FIGURE.match(line)):
                outcome = _judge(number, match)
                every.add(outcome)
                is_whole = is_whole or match[1] == "FSYNCS/SECOND"
                if isinstance(outcome, Run):
                    places.setdefault(report[1], (report[0], []))[1].append(outcome)
        every.add(*_end(report, is_whole))
        if not every.count:
            every.add(Refusal(None, "there is no report of pveperf"))
        reading = Reading(self.name, "", self.name, every.runs, every.refused)
        return by_name("file systems", reading, places)


def _end(report: tuple[int, str] | None, is_whole: bool) -> list[Refusal]:
    if is_whole or not report:
        return []
    return [Refusal(report[0], "the report is cut, or its folder was not to be written: FSYNCS/SECOND is missing")]


def _judge(line: int, figure: re.Match[str]) -> Run | Refusal:
    what, value = figure[1], float(figure[2])
    if figure[3] != _UNITS[what]:
        return Refusal(line, f"{what} is {figure[2]}{figure[3]!r}; {_UNITS[what].strip() or 'no unit'} is expected")
    if not value:
        return Refusal(line, f"{what} is 0: below what it prints, or no result")
    if what == "BUFFERED READS":
        return Run(
            "pveperf", line, throughput_mib_s=value, duration_s=SECONDS, operation="read", block_size_bytes=2 * 2**20
        )
    if what == "AVERAGE SEEK TIME":
        return Run("pveperf", line, latency_ms=value, duration_s=SECONDS, operation="random-read", block_size_bytes=512)
    return Run("pveperf", line, ops_per_s=value, duration_s=SECONDS, operation="fsync", parameters={"rate_of": "files"})
