"""HD Tune's text, as its free version copies it: reads of a whole disk.

    HD Tune: EXAMPLE SSD Benchmark
    Transfer Rate Minimum : 1.0 MB/sec
    Transfer Rate Maximum : 449.1 MB/sec
    Transfer Rate Average : 308.1 MB/sec
    Access Time           : 0.4 ms
    Burst Rate            : 196.7 MB/sec
    CPU Usage             : 27.2%

- What a MB is, neither text nor maker says. It is taken for 10**6 bytes, which is up to 4.9 % too little, and each
  figure says so.
- The average counts, and the access time: the mean of reads at random places. Least and greatest are of single
  places, the burst rate is of the disk's memory, and none of these is a result.
- HD Tune Pro also writes: of its text the operation is asked.

Source: one public output of the free version; no text of HD Tune Pro was found.
"""

import re
from collections.abc import Iterator

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
from kdb.units import convert

MAX_RUNS = 10_000
MAX_LINE = 200
NOTE = "HD Tune does not say what its MB is: it is taken for 10**6 bytes, up to 4.9 % too little."

_BANNER = re.compile(r"HD Tune( Pro)?: (.{1,120}) Benchmark$")
_FIGURE = re.compile(
    r"(Transfer Rate Average|Access Time|CPU Usage) {0,20}: {1,4}(\d{1,7}(?:\.\d{1,3})?) ?(MB/sec|MB/s|ms|%)?$"
)
_UNITS = {"Transfer Rate Average": ("MB/sec", "MB/s"), "Access Time": ("ms",), "CPU Usage": ("%",)}


class HdTune:
    name = "hd-tune"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20]
        return b"HD Tune" in start and b"Transfer Rate" in start

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        every = Outcomes("figures", MAX_RUNS)
        disks: dict[str, tuple[int, list[Run]]] = {}
        report: tuple[int, re.Match[str]] | None = None
        figures: dict[str, tuple[int, float]] = {}

        def close() -> None:
            for outcome in _judge(report, figures):
                every.add(outcome)
                if isinstance(outcome, Run) and report:
                    disks.setdefault(report[1][2], (report[0], []))[1].append(outcome)

        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if match := _BANNER.match(line):
                close()
                report, figures = (number, match), {}
            elif (match := _FIGURE.match(line)) and match[3] in _UNITS[match[1]]:
                figures.setdefault(match[1], (number, float(match[2])))
        close()
        if not every.count:
            every.add(Refusal(None, "there is no benchmark of HD Tune with its average and access time"))
        reading = Reading(self.name, "", self.name, every.runs, every.refused)
        return by_name("disks", reading, disks)


def _judge(report: tuple[int, re.Match[str]] | None, figures: dict[str, tuple[int, float]]) -> Iterator[Run | Refusal]:
    if not report:
        if figures:
            yield Refusal(min(line for line, _ in figures.values()), "the line above it that names the disk is missing")
        return
    is_pro = bool(report[1][1])
    for name in ("Transfer Rate Average", "Access Time"):
        line, value = figures.get(name, (report[0], None))
        access = "random-" if name == "Access Time" else ""
        operations = tuple(f"{access}{verb}" for verb in (("read", "write") if is_pro else ("read",)))
        if value is None:
            yield Refusal(line, f"{name} is missing: the test did not finish, or the text is cut")
        elif not value:
            yield Refusal(line, f"{name} is 0: below what it prints, or no result")
        else:
            yield Run(
                HdTune.name,
                line,
                throughput_mib_s=None if access else convert(value, "MB/s", "MiB/s"),
                latency_ms=value if access else None,
                operation="" if is_pro else operations[0],
                could_be=operations if is_pro else (),
                note="" if access else NOTE,
                warnings=() if access else (NOTE,),
            )
