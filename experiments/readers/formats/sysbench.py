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

from ..base import Refusal, Run
from ..reader import Hit, Report, ReportReader

_KNOWN = ("0.4", "0.5", "1.0", "1.1")
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
_NUMBER = r"(\d{1,15}(?:\.\d{1,9})?)"
_LABELS = {
    "banner": r"sysbench v?(\d[\w.\-]{0,20})(?::| \(|$)",
    "fatal": r".{0,200}(?:FATAL: .{1,200}|Fatal error.{0,200})$",
    "options": r"Running the test with following options:",
    "sql": r"(?:SQL|OLTP test) statistics:",
    "flags": r"Extra file open flags:(?: (\S{1,40})$)?",
    "mode": r"Doing (.{1,60}?) test$",
    "time": rf"(?:total time|time elapsed):\s*{_NUMBER}s$",
    "latency": rf"avg:\s*{_NUMBER}(?:ms)?$",
    # Figures of 1.1, of 1.0, and of 0.4.12.
    "IOPS and MiB/s": rf"(?:read|write):\s*IOPS={_NUMBER} {_NUMBER} MiB/s",
    "IOPS": r"(?:read|write):\s*IOPS=",
    "read MiB/s": rf"read, MiB/s:\s*{_NUMBER}",
    "written MiB/s": rf"written, MiB/s:\s*{_NUMBER}",
    "reads/s": rf"reads/s:\s*{_NUMBER}",
    "writes/s": rf"writes/s:\s*{_NUMBER}",
    "transferred": rf".{{0,200}}?Total transferred \S{{1,20}}\s*\({_NUMBER}([KMGT]?)b/sec\)",
    "requests/s": rf"{_NUMBER} Requests/sec executed",
    "total size": rf"{_NUMBER}([KMGT]?)(?:i?B|b) total file size",
    "block size": rf"Block size {_NUMBER}([KMGT]?)(?:i?B|b)",
    "files": rf"{_NUMBER} files, ",
    "ratio": rf"Read/Write ratio for combined random IO test: {_NUMBER}",
    "flush": rf".{{0,200}}?calling fsync\(\) each {_NUMBER} requests",
    "threads": rf"Number of threads: {_NUMBER}",
    "io mode": r"Using (.{1,40}?) I/O mode",
    "transactions": rf"transactions:\s*\d{{1,15}}\s*\({_NUMBER} per sec\.\)",
    "percentile": rf"(?:approx\.\s*)?(50|95|99)(?:th)? percentile:\s*{_NUMBER}(?:ms)?",
    "script": r".{0,300}\b(oltp_[a-z_]{1,30}|select_random_(?:points|ranges))\b",
}


class Sysbench(ReportReader):
    name = "sysbench"
    nothing = "sysbench's banner with its version is missing"
    signs = (
        (b"SQL statistics:", b"sysbench"),
        (b"SQL statistics:", b"queries performed:"),
        (b"OLTP test statistics:", b"sysbench"),
        (b"OLTP test statistics:", b"queries performed:"),
        (b"sysbench", b"total file size"),
        (b"sysbench", b"Extra file open flags"),
        (b"total file size", b"Extra file open flags"),
    )
    labels = {name: re.compile(pattern) for name, pattern in _LABELS.items()}

    def begins_report(self, report: Report, label: str) -> bool:
        if report.first("banner"):
            return label == "banner"
        return label in ("banner", "options") or (label in ("sql", "flags") and not report.first("options"))

    def judge_run(self, report: Report) -> Run | Refusal | None:
        banner, begin = report.first("banner"), report.first("options")
        if banner:
            return _judge(report, banner.line, banner.match[1])
        if statistics := report.first("sql") or report.first("flags"):
            return _judge(report, (begin or statistics).line, "")
        return Refusal(begin.line, "the run did not finish: its statistics are missing") if begin else None


def _judge(report: Report, line: int, version: str) -> Run | Refusal:
    """Return the run of a report that begins on a line; version : empty without a banner."""
    if fatal := report.first("fatal"):
        return Refusal(fatal.line, f"sysbench failed: {fatal.match[0].strip()}")
    if version and not version.startswith(_KNOWN):
        return Refusal(line, f"sysbench {version} is not known here; {', '.join(_KNOWN)} are")
    if report.first("sql"):
        return _judge_oltp(report, line, version)
    mode = report.first("mode")
    if not mode or mode.match[1] not in _MODES:
        printed = f"{mode.match[1]!r}" if mode else "none"
        return Refusal(line, f"no test of files that is known here (found {printed})")
    time = report.first("time")
    end = time or report.first("IOPS and MiB/s") or report.first("IOPS")
    if not end:
        return Refusal(mode.line, "the run did not finish: there is no total time")
    throughput, rate = _throughput_and_rate(report)
    if not throughput or not rate:
        return Refusal(end.line, "nothing was read or written: the throughput is missing or zero")
    workload, operation = _MODES[mode.match[1]]
    latency, total = report.number("latency"), _bytes(report.first("total size"))
    return Run(
        workload,
        end.line,
        throughput_mib_s=throughput,
        ops_per_s=rate,
        latency_ms=latency or None,
        duration_s=report.number("time") or None,
        operation=operation,
        block_size_bytes=_bytes(report.first("block size")),
        tool_version=version,
        working_set_bytes=total,
        parameters=_parameters(report, total, workload),
        warnings=() if latency else ("The mean latency is printed as zero: it is below 0.01 ms.",),
    )


def _judge_oltp(report: Report, line: int, version: str) -> Run | Refusal:
    """Return the run of an OLTP test: transactions a second."""
    done, time, rate = report.first("transactions"), report.first("time"), report.number("transactions")
    if not done or not time:
        return Refusal(line, "the run did not finish: its transactions or its total time are missing")
    if not rate:
        return Refusal(done.line, "no transaction was done: their rate is zero")
    percentile, script, threads = report.first("percentile"), report.first("script"), report.number("threads")
    percentiles = {f"p{percentile.match[1]}": float(percentile.match[2])} if percentile else {}
    return Run(
        script.match[1] if script else "oltp",
        done.line,
        ops_per_s=rate,
        latency_ms=report.number("latency") or None,
        duration_s=report.number("time") or None,
        tool_version=version,
        percentiles_ms={name: value for name, value in percentiles.items() if value},
        parameters={"rate_of": "transactions", **({} if threads is None else {"threads": int(threads)})},
    )


def _throughput_and_rate(report: Report) -> tuple[float | None, float | None]:
    """Return MiB/s and requests a second, in the words of 1.1, 1.0 or 0.4.12."""
    if newest := report.all("IOPS and MiB/s"):
        rates, throughputs = zip(*((float(hit.match[1]), float(hit.match[2])) for hit in newest[:2]), strict=True)
        return sum(throughputs), sum(rates)
    read, written, reads, writes = map(report.number, ("read MiB/s", "written MiB/s", "reads/s", "writes/s"))
    if read is not None and written is not None and reads is not None and writes is not None:
        return read + written, reads + writes
    moved = report.first("transferred")
    mib_s = float(moved.match[1]) * 1024.0 ** (_POWERS[moved.match[2].lower()] - 2) if moved else None
    return mib_s, report.number("requests/s")


def _parameters(report: Report, total: int | None, workload: str) -> dict[str, Any]:
    flags, mode = report.first("flags"), report.first("io mode")
    threads, files, flush = (
        None if (number := report.number(label)) is None else int(number) for label in ("threads", "files", "flush")
    )
    parameters = {
        "threads": threads,
        "files": files,
        "total_size_bytes": total,
        "read_write_ratio": report.number("ratio") if workload == "rndrw" else None,
        "fsync_every_requests": flush,
        "open_flags": flags.match[1] if flags and flags.match[1] not in ("0", "(none)") else None,
        "io_mode": mode.match[1] if mode else None,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def _bytes(size: Hit | None) -> int | None:
    """Return a number and a letter for a power of 1024, as bytes."""
    return round(float(size.match[1]) * 1024 ** _POWERS[size.match[2].lower()]) if size else None
