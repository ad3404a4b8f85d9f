"""iostat -o JSON: how busy processors and disks were while a benchmark ran.

    {"sysstat": {"hosts": [{"nodename": "...", "number-of-cpus": 4, "statistics": [
        {"avg-cpu": {"user": 1.0, "iowait": 2.0, "steal": 0.0, "idle": 96.0},
         "disk": [{"disk_device": "sda", "r/s": 1.0, "rkB/s": 8.0, "w/s": 2.0, "wkB/s": 16.0, "util": 1.5}]}]}]}}

The first statistics are since the machine started, so of several it is left out (with -y it is an interval like the
others, and lost). What is told are means over the intervals.

Source: json_stats.c and iostat.c of sysstat 12.
"""

import re
from typing import Any

from experiments.readers.base import Fact, Reading, Refusal, TooMuch, text_of, whole_or_nothing

from .json_text import document_of

MAX_FACTS = 5_000

_CPU = {"iowait": "iowait_percent", "steal": "steal_percent", "idle": "idle_percent"}
_DISK = {
    "util": "busy_percent",
    "r/s": "reads_per_s",
    "w/s": "writes_per_s",
    "rkB/s": "read_kib_per_s",
    "wkB/s": "written_kib_per_s",
    "aqu-sz": "queue",
}


class Iostat:
    name = "iostat"

    def recognises(self, data: bytes) -> bool:
        start = data[:4096]
        return (
            b'"sysstat"' in start
            and b'"hosts"' in start
            and re.search(rb'"(?:avg-cpu|disk)"', data[: 2**16]) is not None
        )

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        document = document_of(text_of(data))
        hosts = (
            document.get("sysstat", {}).get("hosts") if document and isinstance(document.get("sysstat"), dict) else None
        )
        if not isinstance(hosts, list) or not all(isinstance(host, dict) for host in hosts):
            return Reading(self.name, refused=(Refusal(None, "the JSON of iostat is cut, or broken"),))
        if len(hosts) > 1:
            return Reading(self.name, refused=(Refusal(None, f"{len(hosts)} machines in one file; give each its own"),))
        statistics = hosts[0].get("statistics") if hosts else None
        samples = [sample for sample in statistics if isinstance(sample, dict)] if isinstance(statistics, list) else []
        facts = _facts(samples[1:] or samples)
        if len(facts) > MAX_FACTS:
            raise TooMuch(len(facts), "facts of iostat", MAX_FACTS)
        if not facts:
            return Reading(self.name, refused=(Refusal(None, "iostat printed no statistics"),))
        return Reading(self.name, facts=tuple(facts))


def _facts(samples: list[dict[str, Any]]) -> list[Fact]:
    values: dict[tuple[str, str], list[float]] = {}
    for sample in samples:
        cpu = sample.get("avg-cpu")
        if isinstance(cpu, dict):
            for key, name in _CPU.items():
                _take(values, ("processors", name), cpu.get(key))
        disks = sample.get("disk")
        for disk in disks if isinstance(disks, list) else ():
            if isinstance(disk, dict) and disk.get("disk_device"):
                for key, name in _DISK.items():
                    _take(values, (str(disk["disk_device"])[:80], name), disk.get(key))
    facts = [Fact(about, name, round(sum(numbers) / len(numbers), 3)) for (about, name), numbers in values.items()]
    return [Fact("iostat", "intervals", len(samples)), *facts] if facts else []


def _take(values: dict[tuple[str, str], list[float]], key: tuple[str, str], value: Any) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
        values.setdefault(key, []).append(float(value))
