"""sysbench fileio and OLTP, 0.4.12 to 1.1. A file may hold several runs, each from its banner on.

    sysbench 1.0.20 (using ...)            sysbench 0.4.12:  multi-threaded system evaluation benchmark
    Number of threads: 1                   Number of threads: 1
    128 files, 40MiB each                  128 files, 64Mb each
    5GiB total file size                   8Gb total file size
    Block size 16KiB                       Block size 4Kb
    Doing sequential read test             Doing random r/w test
        reads/s: 14646.06                  Read 875.62Mb  Written 583.75Mb  Total transferred 1.4252Gb  (4.8646Mb/sec)
        read, MiB/s: 228.84                1245.33 Requests/sec executed
        total time: 30.0004s               total time: 300.0016s
        avg: 0.07                          avg: 0.29ms

1.1 ("sysbench 1.1.0-3ceba0b (using ...)") sums up in other words, of files without the time:

        read:  IOPS=141.90 141.90 MiB/s (148.79 MB/s)
        write: IOPS=0.00 0.00 MiB/s (0.00 MB/s)

OLTP, of every version; the rate is of transactions, and only a command that the file shows says which script ran.
Every test is read without the banner, too, which people leave out, since no unit depends on the version:

        transactions:                        4296   (427.24 per sec.)
        95th percentile:                       36.89               or another, where --percentile says so

0.4.12 writes Mb and Gb for MiB and GiB (requests times block size say so). Rates are of reads and writes,
without fsync; the latency is the mean over requests, in ms.

Source: sb_fileio.c of sysbench 0.4.12 and 1.0.20; outputs of 1.1.0.
"""

import re
from typing import Any

from .base import LineNumbers, Outcomes, Reading, Refusal, Run, lines_of, text_of, whole_or_nothing

MAX_RUNS = 10_000

_BANNER = re.compile(r"^sysbench v?(\d[\w.\-]{0,20})(?::| \(|$)", re.MULTILINE)
_OPTIONS = re.compile(r"^Running the test with following options:", re.MULTILINE)
_STATISTICS = re.compile(r"^(?:SQL|OLTP test) statistics:|^Extra file open flags:", re.MULTILINE)
_KNOWN = ("0.4", "0.5", "1.0", "1.1")
_SQL = (b"SQL statistics:", b"OLTP test statistics:")
_MODES = {
    "sequential read": ("seqrd", "read"),
    "sequential write": ("seqwr", "write"),
    "sequential write (creation)": ("seqwr", "write"),
    "sequential rewrite": ("seqrewr", "rewrite"),
    "random read": ("rndrd", "random-read"),
    "random write": ("rndwr", "random-write"),
    "random r/w": ("rndrw", "mixed"),
}
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_BLANKS = r"[ \t]{0,80}"
_NUMBER = r"(\d{1,15}(?:\.\d{1,9})?)"
_TIME = rf"^{_BLANKS}(?:total time|time elapsed):{_BLANKS}{_NUMBER}s{_BLANKS}$"
_AVERAGE = rf"^{_BLANKS}avg:{_BLANKS}{_NUMBER}(?:ms)?{_BLANKS}$"


class Sysbench:
    name = "sysbench"

    def recognises(self, data: bytes) -> bool:
        start = data[: 2**20]
        if any(sign in start for sign in _SQL):
            return b"sysbench" in start or b"queries performed:" in start
        signs = (b"total file size", b"Extra file open flags")
        return (b"sysbench" in start and any(sign in start for sign in signs)) or all(sign in start for sign in signs)

    @whole_or_nothing
    def read(self, data: bytes) -> Reading:
        text = "\n".join(line for _, line in lines_of(text_of(data)))
        lines = LineNumbers(text)
        outcomes = Outcomes("runs", MAX_RUNS)
        banners = list(_BANNER.finditer(text))
        for number, banner in enumerate(banners):
            end = banners[number + 1].start() if number + 1 < len(banners) else len(text)
            part = _Part(text[banner.start() : end], lines.at(banner.start()))
            outcomes.add(_read_run(part, banner[1]))
        if not banners and (told := list(_STATISTICS.finditer(text))):
            starts = [match.start() for match in list(_OPTIONS.finditer(text)) or told]
            for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
                part = _Part(text[start:end], lines.at(start))
                is_whole = _STATISTICS.search(part.text)
                cut = Refusal(part.first, "the run did not finish: its statistics are missing")
                outcomes.add(_read_run(part, "") if is_whole else cut)
        elif not banners:
            outcomes.add(Refusal(None, "sysbench's banner with its version is missing"))
        version = outcomes.runs[0].tool_version if outcomes.runs else ""
        return Reading(self.name, version, self.name, outcomes.runs, outcomes.refused)


class _Part:
    """The text of one run, searched a line at a time, with the lines' numbers."""

    def __init__(self, text: str, first: int) -> None:
        self.text, self.first = text, first

    def find(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.text, re.MULTILINE)

    def number(self, pattern: str) -> float | None:
        match = self.find(pattern)
        return float(match[1]) if match else None

    def line(self, match: re.Match[str]) -> int:
        return self.first + self.text.count("\n", 0, match.start())


def _read_run(part: _Part, version: str) -> Run | Refusal:
    if fatal := part.find(r"^.{0,200}(?:FATAL: .{1,200}|Fatal error.{0,200})$"):
        return Refusal(part.line(fatal), f"sysbench failed: {fatal[0].strip()}")
    if version and not version.startswith(_KNOWN):
        return Refusal(part.first, f"sysbench {version} is not known here; {', '.join(_KNOWN)} are")
    if part.find(r"^(?:SQL|OLTP test) statistics:"):
        return _read_sql(part, version)
    mode = part.find(rf"^Doing (.{{1,60}}?) test{_BLANKS}$")
    if not mode or mode[1] not in _MODES:
        printed = f"{mode[1]!r}" if mode else "none"
        return Refusal(part.first, f"no test of files that is known here (found {printed})")
    newest = _newest_figures(part)
    time = part.find(_TIME)
    end = time or part.find(rf"^{_BLANKS}(?:read|write):{_BLANKS}IOPS=")
    if not end:
        return Refusal(part.line(mode), "the run did not finish: there is no total time")
    workload, operation = _MODES[mode[1]]
    throughput, rate = newest or _new_figures(part) or _old_figures(part)
    if not throughput or not rate:
        return Refusal(part.line(end), "nothing was read or written: the throughput is missing or zero")
    latency = part.number(_AVERAGE)
    total = part.find(rf"^{_NUMBER}([KMGT]?)(?:i?B|b) total file size")
    block = part.find(rf"^Block size {_NUMBER}([KMGT]?)(?:i?B|b)")
    return Run(
        workload=workload,
        line=part.line(end),
        throughput_mib_s=throughput,
        ops_per_s=rate,
        latency_ms=latency or None,
        duration_s=float(time[1]) or None if time else None,
        operation=operation,
        block_size_bytes=_bytes(block),
        tool_version=version,
        working_set_bytes=_bytes(total),
        parameters=_parameters(part, _bytes(total)),
        warnings=() if latency else ("The mean latency is printed as zero: it is below 0.01 ms.",),
    )


def _read_sql(part: _Part, version: str) -> Run | Refusal:
    """Return the run of an OLTP test: transactions a second."""
    done = part.find(rf"^{_BLANKS}transactions:{_BLANKS}\d{{1,15}}{_BLANKS}\({_NUMBER} per sec\.\)")
    time = part.find(_TIME)
    if not done or not time:
        return Refusal(part.first, "the run did not finish: its transactions or its total time are missing")
    if not float(done[1]):
        return Refusal(part.line(done), "no transaction was done: their rate is zero")
    latency = part.number(_AVERAGE)
    percentile = part.find(
        rf"^{_BLANKS}(?:approx\.{_BLANKS})?{_BLANKS}(50|95|99)(?:th)? percentile:{_BLANKS}{_NUMBER}(?:ms)?"
    )
    script = part.find(r"^.{0,300}\b(oltp_[a-z_]{1,30}|select_random_(?:points|ranges))\b")
    parameters = {"rate_of": "transactions", "threads": _whole(part.number(rf"^Number of threads: {_NUMBER}"))}
    return Run(
        workload=script[1] if script else "oltp",
        line=part.line(done),
        ops_per_s=float(done[1]),
        latency_ms=latency or None,
        duration_s=float(time[1]) or None,
        tool_version=version,
        percentiles_ms={f"p{percentile[1]}": float(percentile[2])} if percentile and float(percentile[2]) else {},
        parameters={name: value for name, value in parameters.items() if value is not None},
    )


def _newest_figures(part: _Part) -> tuple[float, float] | None:
    """Return MiB/s and requests a second of 1.1."""
    matches = [part.find(rf"^{_BLANKS}{name}:{_BLANKS}IOPS={_NUMBER} {_NUMBER} MiB/s") for name in ("read", "write")]
    sums = [tuple(map(float, match.groups())) for match in matches if match]
    return (sum(mib for _, mib in sums), sum(rate for rate, _ in sums)) if sums else None


def _new_figures(part: _Part) -> tuple[float, float] | None:
    """Return MiB/s and requests a second of 1.0."""
    names = ("read, MiB", "written, MiB", "reads", "writes")
    read, written, reads, writes = (part.number(rf"^{_BLANKS}{name}/s:{_BLANKS}{_NUMBER}") for name in names)
    if read is None or written is None or reads is None or writes is None:
        return None
    return read + written, reads + writes


def _old_figures(part: _Part) -> tuple[float | None, float | None]:
    """Return MiB/s and requests a second of 0.4.12."""
    moved = part.find(rf"Total transferred \S{{1,20}}{_BLANKS}\({_NUMBER}([KMGT]?)b/sec\)")
    rate = part.number(rf"^{_BLANKS}{_NUMBER} Requests/sec executed")
    return (float(moved[1]) * 1024.0 ** (_POWERS[moved[2].lower()] - 2) if moved else None), rate


def _parameters(part: _Part, total: int | None) -> dict[str, Any]:
    files = part.number(rf"^{_NUMBER} files, ")
    ratio = part.number(rf"^Read/Write ratio for combined random IO test: {_NUMBER}")
    flushed = part.number(rf"calling fsync\(\) each {_NUMBER} requests")
    flags = part.find(rf"^Extra file open flags: (\S{{1,40}}){_BLANKS}$")
    io = part.find(r"^Using (.{1,40}?) I/O mode")
    parameters = {
        "threads": _whole(part.number(rf"^Number of threads: {_NUMBER}")),
        "files": _whole(files),
        "total_size_bytes": total,
        "read_write_ratio": ratio if part.find(r"^Doing random r/w test") else None,
        "fsync_every_requests": _whole(flushed),
        "open_flags": flags[1] if flags and flags[1] not in ("0", "(none)") else None,
        "io_mode": io[1] if io else None,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _bytes(match: re.Match[str] | None) -> int | None:
    """Return a number and a letter for a power of 1024, as bytes."""
    return round(float(match[1]) * 1024 ** _POWERS[match[2].lower()]) if match else None
