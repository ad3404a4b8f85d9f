"""fio's terse output, versions 3 to 5: one line a job or group, fields between semicolons.

    3;fio-2.1.1;rand-writers;0;0;<41 fields of reads>;<41 of writes>;<34: cpu, depths, latencies>;<9 a disk>

Of a direction: total KiB, bandwidth KiB/s, IOPS, runtime ms, then latencies in us: slat and clat (least, greatest,
mean, deviation), 20 percentiles, lat (the same four), bandwidth. Version 4 has 41 fields of trims after those of
writes, version 5 has 47 of each: samples of bandwidth, and IOPS.

Bandwidth and IOPS are cut to whole numbers: throughput is computed from KiB and runtime. Percentiles are of clat, like
"50.000000%=148". Whether a load is in sequence or at random no field says.

Source: stat.c (show_thread_status_terse_v3_v4) of fio 2.0.8 to 2.1.2; lines of fio 3.33 in each version.
"""

import re
from collections.abc import Iterator

from ...base import Refusal, Run, text_of
from ...reader import LineReader, Outcome, ToolVersion
from .json import operation_of

HEAD, TAIL, FIELDS_A_DISK = 5, 34, 9
MAX_FIELDS = 10_000
MAX_LINE = 2**20
# Of each version that is read: the directions that a line tells of, and the fields of each.
_LAYOUTS = {"3": (("read", "write"), 41), "4": (("read", "write", "trim"), 41), "5": (("read", "write", "trim"), 47)}
_FIGURES = (0, 2, 3, 34)  # in a direction: total, IOPS, runtime, mean of lat
_PERCENTILES = slice(12, 32)

_LINE = re.compile(r"^([2-5]);(?:fio-)?(\d[\w.\-]{0,30});[^;\n]{0,200};\d{1,9};\d{1,5};\d", re.MULTILINE)
_HEADING = re.compile(r"(Host|Guest):[ \t]{0,80}$")
_SIGNAL = re.compile(r"fio: terminating on signal \d+")
_PERCENTILE = re.compile(r"(50|95|99)\.0{1,6}%=(\d{1,15})", re.ASCII)
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)


class FioTerse(LineReader):
    name, benchmark = "fio-terse", "fio"
    counted, limit = "lines of results", 20_000
    nothing = "there is no line of fio's terse output"
    longest_line = MAX_LINE

    def recognises(self, data: bytes) -> bool:
        return b";" in data and bool(_LINE.search(text_of(data)))

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        first = heading = signal = ""
        for number, line in lines:
            if match := _HEADING.match(line):
                heading = match[1]
            elif match := _SIGNAL.search(line):
                signal = match[0]
            elif begin := _LINE.match(line):
                machine = f"{begin[2]}{f' under {heading}:' if heading else ''}"
                first = first or machine
                yield ToolVersion(begin[2])
                if machine != first:
                    reason = f"fio {machine} here and {first} above: two machines in one file; give each its own"
                    yield Refusal(number, reason)
                    continue
                yield _judge(number, begin, line.split(";", MAX_FIELDS), signal)
                signal = ""


def _judge(line: int, begin: re.Match[str], fields: list[str], signal: str) -> Run | Refusal:
    if begin[1] not in _LAYOUTS:
        return Refusal(line, f"terse version {begin[1]} is not read; run fio with --output-format=json")
    directions, width = _LAYOUTS[begin[1]]
    expected = HEAD + len(directions) * width + TAIL
    if len(fields) < expected or (len(fields) - expected) % FIELDS_A_DISK:
        return Refusal(line, f"the line is cut: {len(fields)} fields, {expected} and 9 more a disk are expected")
    if fields[4] != "0":
        return Refusal(line, f"job {fields[2][:80]!r} failed with error {fields[4][:20]}")
    if signal:
        return Refusal(line, f"the run was interrupted ({signal}): what it measured till then is no result")
    parts = {}
    starts = {name: HEAD + number * width for number, name in enumerate(directions)}
    for name, at in starts.items():
        texts = [fields[at + n] for n in _FIGURES]
        values = [float(text) for text in texts if _NUMBER.fullmatch(text)]
        if len(values) < len(texts):
            return Refusal(line, f"a figure of {name} is no number")
        if values[0]:
            parts[name] = values
    runtime = max((part[2] for part in parts.values()), default=0.0)
    if not runtime:
        return Refusal(line, f"job {fields[2][:80]!r} did nothing: no bytes or no time are counted")
    kib = sum(part[0] for part in parts.values())
    rate = sum(part[1] for part in parts.values())
    weighted = sum(part[1] * part[3] for part in parts.values())
    operation, could_be = operation_of("", list(parts))
    percentiles = fields[starts[next(iter(parts))] :][_PERCENTILES] if len(parts) == 1 else []
    return Run(
        workload=fields[2].strip()[:80] or "fio",
        line=line,
        throughput_mib_s=kib / runtime * 1000 / 1024,
        ops_per_s=rate or None,
        latency_ms=weighted / rate / 1000 if rate and weighted else None,
        duration_s=runtime / 1000,
        operation=operation,
        could_be=could_be,
        percentiles_ms={
            f"p{match[1]}": float(match[2]) / 1000
            for text in percentiles
            if (match := _PERCENTILE.fullmatch(text)) and float(match[2])  # 0 is below a microsecond
        },
        warnings=("The terse line does not say what the load was: give its block size and options beside the file.",),
    )
