"""hdparm -t, -T and --direct: reads from the begin of a device.

    /dev/sda:
     Timing cached reads:   24088 MB in  1.99 seconds = 12101.52 MB/sec           of memory: not counted
     Timing buffered disk reads: 406 MB in  3.01 seconds = 134.99 MB/sec
     Timing O_DIRECT disk reads: 2448 MB in  3.00 seconds = 815.97 MB/sec          with --direct
     Timing buffered disk reads (offset 100 GB): ...                               with --offset

The rate is the program's, whose seconds have more digits than it prints. A MB is 2**20 bytes, a kB 1024.

Source: hdparm.c of 9.65 and outputs of it on a loop device.
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

_DEVICE = re.compile(r"(/dev/\S{1,120}):$")
_TIMING = re.compile(r"Timing (buffered disk|O_DIRECT disk|cached|O_DIRECT cached|buffer-cache) reads(.{0,200})$")
_FIGURES = re.compile(
    r"(?: \(offset (\d{1,9}) GB\))?: {0,12}(\d{1,9}) MB in {1,4}(\d{1,6}\.\d\d) seconds = ?"
    r" {0,8}(\d{1,9}\.\d\d) (MB|kB)/sec$"
)
_OF_MEMORY = "Its cached reads are of memory, and not counted."


class Hdparm:
    name = "hdparm"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20]
        return b"Timing " in start and any(_TIMING.match(line.strip()) for line in text_of(start).splitlines())

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        every = Outcomes("timings", MAX_RUNS)
        devices: dict[str, tuple[int, list[Run]]] = {}
        device, at, cached = "", 1, 0
        for number, line in lines_of(text_of(data)):
            line = line[:MAX_LINE].strip()
            if match := _DEVICE.match(line):
                device, at = match[1], number
            elif match := _TIMING.match(line):
                if "disk" not in match[1]:
                    cached = number
                    continue
                outcome = _judge(number, match, bool(cached))
                every.add(outcome)
                if isinstance(outcome, Run):
                    devices.setdefault(device, (at, []))[1].append(outcome)
        if not every.count:
            every.add(Refusal(cached or None, "cached reads are of memory: a storage is measured by -t"))
        reading = Reading(self.name, "", self.name, every.runs, every.refused)
        return by_name("devices", reading, devices)


def _judge(line: int, timing: re.Match[str], has_cached: bool) -> Run | Refusal:
    figures = _FIGURES.match(timing[2])
    if not figures:
        return Refusal(line, f"the timing did not finish, or is cut: {timing[0][:80]!r}")
    rate = float(figures[4]) * (1 if figures[5] == "MB" else 1 / 1024)
    if not rate or not float(figures[2]):
        return Refusal(line, "nothing was read: its rate is zero")
    parameters: dict[str, str | int] = {"direct": "yes" if timing[1].startswith("O_DIRECT") else "no"}
    if figures[1]:
        parameters["offset_gb"] = int(figures[1])
    return Run(
        "hdparm",
        line,
        throughput_mib_s=rate,
        duration_s=float(figures[3]) or None,
        operation="read",
        parameters=parameters,
        warnings=(_OF_MEMORY,) if has_cached else (),
    )
