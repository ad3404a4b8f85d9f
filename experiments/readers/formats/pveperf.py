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
- Lines about the processor and DNS are ignored.

Source: pve-manager, bin/pveperf; outputs on forums and in repositories.
"""

import re
from collections.abc import Iterator

from ..base import Refusal, Run
from ..reader import Outcome, Report, ReportReader, System

SECONDS = 3.0  # of each test, as the program has it
_UNITS = {"BUFFERED READS": " MB/sec", "AVERAGE SEEK TIME": " ms", "FSYNCS/SECOND": ""}


class Pveperf(ReportReader):
    name = "pveperf"
    counted, systems = "figures", "file systems"
    nothing = "there is no report of pveperf"
    signs = ((b"CPU BOGOMIPS:", b"FSYNCS/SECOND:"), (b"CPU BOGOMIPS:", b"REGEX/SECOND:"))
    begins = "begin"
    labels = {
        "begin": re.compile(r"CPU BOGOMIPS: {1,20}\d"),
        "place": re.compile(r"HD SIZE: {1,20}\d[\d.]{0,12} GB \((.{1,120})\)$"),
        "figure": re.compile(rf"({'|'.join(_UNITS)}): {{1,20}}(\d{{1,12}}(?:\.\d{{1,4}})?)(.{{0,40}})$"),
    }

    def judge(self, report: Report) -> Iterator[Outcome]:
        begin, place = report.first("begin"), report.last("place")
        if not begin:
            return
        yield System(place.match[1] if place else "", begin.line)
        figures = report.all("figure")
        for figure in figures:
            yield _judge(figure.line, *figure.match.groups())
        if all(figure.match[1] != "FSYNCS/SECOND" for figure in figures):
            reason = "the report is cut, or its folder was not to be written: FSYNCS/SECOND is missing"
            yield Refusal(begin.line, reason)


def _judge(line: int, label: str, printed: str, unit: str) -> Run | Refusal:
    value = float(printed)
    if unit != _UNITS[label]:
        return Refusal(line, f"{label} is {printed}{unit!r}; {_UNITS[label].strip() or 'no unit'} is expected")
    if not value:
        return Refusal(line, f"{label} is 0: below what it prints, or no result")
    if label == "BUFFERED READS":
        return Run(
            "pveperf", line, throughput_mib_s=value, duration_s=SECONDS, operation="read", block_size_bytes=2 * 2**20
        )
    if label == "AVERAGE SEEK TIME":
        return Run("pveperf", line, latency_ms=value, duration_s=SECONDS, operation="random-read", block_size_bytes=512)
    return Run("pveperf", line, ops_per_s=value, duration_s=SECONDS, operation="fsync", parameters={"rate_of": "files"})
