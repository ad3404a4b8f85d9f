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
from collections.abc import Iterator

from ..base import FileRefusedError, Refusal, Run, text_of
from ..reader import LineReader, Outcome, System

_DEVICE = re.compile(r"(/dev/\S{1,120}):$")
_TIMING = re.compile(r"Timing (buffered disk|O_DIRECT disk|cached|O_DIRECT cached|buffer-cache) reads(.{0,200})$")
_FIGURES = re.compile(
    r"(?: \(offset (\d{1,9}) GB\))?: {0,12}(\d{1,9}) MB in {1,4}(\d{1,6}\.\d\d) seconds = ?"
    r" {0,8}(\d{1,9}\.\d\d) (MB|kB)/sec$"
)
_OF_MEMORY = "Its cached reads are of memory, and not counted."


class Hdparm(LineReader):
    name = "hdparm"
    counted, systems = "timings", "devices"

    def recognises(self, data: bytes) -> bool:
        start = data[: self.signs_within]
        return b"Timing " in start and any(_TIMING.match(line.strip()) for line in text_of(start).splitlines())

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        cached, is_empty = 0, True
        yield System("", 1)
        for number, line in lines:
            if match := _DEVICE.match(line):
                yield System(match[1], number)
            elif (match := _TIMING.match(line)) and "disk" not in match[1]:
                cached = number
            elif match:
                is_empty = False
                yield _judge(number, match, bool(cached))
        if is_empty:
            raise FileRefusedError("cached reads are of memory: a storage is measured by -t", cached or None)


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
