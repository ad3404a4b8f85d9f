"""iostat -o JSON: how busy processors and disks were while a benchmark ran.

    {"sysstat": {"hosts": [{"nodename": "...", "number-of-cpus": 4, "statistics": [
        {"avg-cpu": {"user": 1.0, "iowait": 2.0, "steal": 0.0, "idle": 96.0},
         "disk": [{"disk_device": "sda", "r/s": 1.0, "rkB/s": 8.0, "w/s": 2.0, "wkB/s": 16.0, "util": 1.5}]}]}]}}

The first statistics cover the time since the machine started, so they are left out of several (with -y they are an
interval like the others, which is lost). Facts are means over the intervals.

Source: json_stats.c and iostat.c of sysstat 12.
"""

import re
from collections.abc import Iterator
from typing import Any

from ..base import Fact, FileRefusedError, text_of
from ..reader import Outcome, Reader
from .json_text import document_of

_CPU = {"iowait": "iowait_percent", "steal": "steal_percent", "idle": "idle_percent"}
_DISK = {
    "util": "busy_percent",
    "r/s": "reads_per_s",
    "w/s": "writes_per_s",
    "rkB/s": "read_kib_per_s",
    "wkB/s": "written_kib_per_s",
    "aqu-sz": "queue",
}


class Iostat(Reader):
    name = "iostat"
    benchmark, counted = "", "facts of iostat"
    nothing = "iostat printed no statistics"

    def recognises(self, data: bytes) -> bool:
        start = data[:4096]
        is_sysstat = b'"sysstat"' in start and b'"hosts"' in start
        return is_sysstat and re.search(rb'"(?:avg-cpu|disk)"', data[: 2**16]) is not None

    def parse(self, data: bytes) -> Iterator[Outcome]:
        match document_of(text_of(data)):
            case {"sysstat": {"hosts": [{"statistics": [*statistics]}]}}:
                samples = [sample for sample in statistics if isinstance(sample, dict)]
            case {"sysstat": {"hosts": [*hosts]}} if all(isinstance(host, dict) for host in hosts):
                if len(hosts) > 1:
                    raise FileRefusedError(f"{len(hosts)} machines in one file; give each its own")
                return
            case _:
                raise FileRefusedError("the JSON of iostat is cut, or broken")
        counted = samples[1:] or samples
        values: dict[tuple[str, str], list[float]] = {}
        for about, name, value in (entry for sample in counted for entry in _values(sample)):
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
                values.setdefault((about, name), []).append(float(value))
        if values:
            yield Fact("iostat", "intervals", len(counted))
        for (about, name), numbers in values.items():
            yield Fact(about, name, round(sum(numbers) / len(numbers), 3))


def _values(sample: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    cpu, disks = sample.get("avg-cpu"), sample.get("disk")
    if isinstance(cpu, dict):
        yield from (("processors", name, cpu.get(key)) for key, name in _CPU.items())
    for disk in disks if isinstance(disks, list) else ():
        if isinstance(disk, dict) and disk.get("disk_device"):
            yield from ((str(disk["disk_device"])[:80], name, disk.get(key)) for key, name in _DISK.items())
