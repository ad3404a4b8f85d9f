"""elbencho's text, CSV and JSON, 1.0 to 3.1: one run for each phase that reads or writes.

    $ elbencho -w -b 4k -s 1g -t 4 --iodepth 8 --rand --direct --lat --latpercent /dev/sdb     or: COMMAND LINE: "..."
    OPERATION   RESULT TYPE        FIRST DONE   LAST DONE
    WRITE       Elapsed time     :     4.512s      4.788s        1.x, 2.0: Elapsed ms
                IOPS             :      58102       54752
                Throughput MiB/s :        226         213        with --base10: MB/s
                IO latency       : [ min=38us avg=581us max=12.1ms ]       up to 2.0: IO lat us, without units
                IO lat % us      : [ 1%<=215 50%<=512 75%<=724 99%<=1722 99.9%<=4096 ]

    ISO date,label,path type,...,operation,time ms [first],time ms [last],...,IOPS [last],...,version,command

    {"phase_type":"WRITE","config":{"threads":"4",...},"last_done":{"iops":"54752","bytes\\/s":"224264192",
     "latency":{"IO":{"avg_us":"581",...,"histogram":{"buckets":[{"range":"430.5-512us","count":"7012"},...]}}}}}

- "Last done" is of the whole phase, and is read; "first done" ends with the fastest thread.
- A phase RWMIX70 or MIX-T2 reads and writes: both are added up. JSON has their histograms, the text no common one.
- Throughput of text and CSV is cut to whole MiB/s: where rate times block size is as much, that is read.
- A percentile is the end of its bin of the histogram, each 19 % (2 to the 1/4) wide, as the text prints it.
- Phases of directories and files (MKDIRS, STAT, RMFILES ...) move no blocks and are not read.

Source: Statistics.cpp and LatencyHistogram.cpp of 1.0 to 3.1.10; outputs of 3.1.10.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base import Refusal, Run, lines_of, percentiles_of, text_of
from ..reader import Outcome, Reader

MAX_LINE = 200_000  # of JSON with its histograms; a line of text or CSV is far shorter
WIDE = "elbencho rounds percentiles up to the end of a bin, by 19 % at most."
WHOLE = "elbencho prints whole MiB/s, rounded down."

_SILENT = ("SYNC", "DROPCACHE", "IDLE", "QUIT")  # phases without figures
_MIX = re.compile(r"RWMIX\d{1,3}|MIX-T\d{1,6}")
_ELAPSED = re.compile(r"([A-Z][A-Z_+rs0-9-]{1,20}) {1,20}Elapsed (ms|time) {0,20}: {1,20}\S{1,20} {1,20}(\S{1,20})$")
_RATE = re.compile(r"IOPS(?: (write|read))? {0,20}: {1,20}\d{1,18} {1,20}(\d{1,18})$")
_THROUGHPUT = re.compile(r"(?:Throughput )?(Mi?B)/s(?: (write|read))? {0,20}: {1,20}\d{1,18} {1,20}(\d{1,18})$")
_LATENCY = re.compile(
    r"IO(?: (wr|rd))? lat(?:ency)?(?: us)? {0,20}: \[ min=\S{1,20} avg=(\d{1,15}(?:\.\d{1,3})?)(us|ms|s|) "
)
_PERCENTILES = re.compile(r"IO(?: (wr|rd))? lat %(?: us|ile) {0,20}: \[ (.{1,300})\]")
_PERCENTILE = re.compile(r"(50|95|99)%<=(\d{1,15}(?:\.\d)?)(?= |$)")
_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,2})m)?(?:(\d{1,2}(?:\.\d{3})?)s)?(?:(\d{1,12})ms)?")
_COMMAND = re.compile(r"(?:.{0,200}[\s$#>\"/])?elbencho\"? (\"?--?[A-Za-z].{0,4000})$")
_SIZE = re.compile(r"(\d{1,18})([kmgt]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_RANGE = re.compile(r"\d{1,12}(?:\.\d)?-(\d{1,12}(?:\.\d)?)us", re.ASCII)
_TO_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "": 1e-3}
# A setting of the load: its column of the CSV, its name in JSON, its options, and what holds where none is given.
_SETTINGS = {
    "threads": ("threads", "threads", ("-t", "--threads"), "1"),
    "iodepth": ("IO depth", "io_depth", ("--iodepth",), "1"),
    "block": ("block size", "block_size", ("-b", "--block"), "1m"),
    "file_size_bytes": ("file size", "file_size", ("-s", "--size"), ""),
    "dirs": ("dirs", "dirs", ("-n", "--dirs"), ""),
    "files": ("files", "files", ("-N", "--files"), ""),
    "hosts": ("hosts", "hosts", ("--hosts",), "1"),
    "random": ("random", "random_offsets", ("--rand",), "false"),
    "direct": ("direct IO", "direct_io", ("--direct",), "false"),
    "label": ("label", "label", ("--label",), ""),
    "version": ("version", "version", (), ""),
}
_OF_OPTION = {option: name for name, (_, _, options, _) in _SETTINGS.items() for option in options}
_NUMBERS = ("threads", "iodepth", "file_size_bytes", "dirs", "files", "hosts")
_FLAGS = ("random", "direct")
_VALUES = {"1": True, "true": True, "0": False, "false": False}


@dataclass
class _Way:
    """What a phase did in one direction. percentiles_ms : as printed; bins : end, ms, to count"""

    iops: float = 0.0
    mib_s: float = 0.0
    latency_ms: float = 0.0
    percentiles_ms: dict[str, float] = field(default_factory=dict)
    bins: dict[float, float] = field(default_factory=dict)


@dataclass
class _Phase:
    """One phase. ways : by "" where it has but one, else by "w" and "r"."""

    line: int
    name: str
    seconds: float
    settings: Mapping[str, str]
    ways: dict[str, _Way] = field(default_factory=dict)
    is_whole: bool = True  # its throughput is cut to whole MiB/s

    def way(self, name: str | None) -> _Way:
        return self.ways.setdefault((name or "")[:1], _Way())


class Elbencho(Reader):
    name = "elbencho"
    counted, limit = "phases", 10_000
    nothing = "there is no phase of elbencho with its figures: it did not finish"
    signs = (
        (b'"phase_type"', b'"last_done"'),
        (b"time ms [first]", b"MiB/s [last]"),
        (b"RESULT TYPE", b"FIRST DONE", b"LAST DONE"),
    )

    def parse(self, data: bytes) -> Iterator[Outcome]:
        for phase in _phases((number, line[:MAX_LINE].strip()) for number, line in lines_of(text_of(data))):
            if isinstance(phase, Refusal) or phase.name not in _SILENT:
                yield phase if isinstance(phase, Refusal) else _judge(phase)


def _phases(lines: Iterator[tuple[int, str]]) -> Iterator[_Phase | Refusal]:
    """Yield the phases of text, CSV or JSON, which may follow one another."""
    header: list[str] = []
    settings: dict[str, str] = {}
    phase: _Phase | None = None
    for number, line in lines:
        if line.startswith('{"phase_type"'):
            yield _json_phase(number, line)
        elif "time ms [first]" in line:
            header = line.split(",")
        elif header and line.count(",") > 9:
            yield _csv_phase(number, dict(zip(header, line.split(","), strict=False)))  # no cell has a comma
        elif match := _ELAPSED.match(line):
            yield from [phase] if phase else []
            phase = _Phase(number, match[1], _seconds(match[3] + ("ms" if match[2] == "ms" else "")), settings)
        elif phase and (match := _RATE.match(line)):
            phase.way(match[1]).iops = float(match[2])
        elif phase and (match := _THROUGHPUT.match(line)):
            phase.way(match[2]).mib_s = float(match[3]) * (1e6 / 2**20 if match[1] == "MB" else 1)
        elif phase and (match := _LATENCY.match(line)):
            phase.way(match[1]).latency_ms = float(match[2]) * _TO_MS[match[3]]
        elif phase and (match := _PERCENTILES.match(line)):
            printed = {f"p{nth}": float(us) / 1000 for nth, us in _PERCENTILE.findall(match[2]) if float(us)}
            phase.way(match[1]).percentiles_ms = printed
        elif phase and line.startswith("Terminating due to interrupt"):
            yield Refusal(phase.line, f"interrupted in {phase.name}: what it measured till then is no result")
            phase = None
        elif (match := _COMMAND.match(line)) or (phase and line.startswith("OPERATION ")):
            yield from [phase] if phase else []
            phase, settings = None, _command_settings(match[1]) if match else {}  # whose command was not copied
    yield from [phase] if phase else []


def _csv_phase(line: int, row: Mapping[str, str]) -> _Phase:
    settings = {name: row.get(column, "") for name, (column, _, _, _) in _SETTINGS.items()}
    phase = _Phase(line, row.get("operation", ""), _size(row.get("time ms [last]")) / 1000, settings)
    for way, prefix in (("", ""), ("r", "rwmix read ")):
        iops, mib_s = (_size(row.get(f"{prefix}{name} [last]")) for name in ("IOPS", "MiB/s"))
        if iops or mib_s:
            phase.ways[way] = _Way(iops, mib_s, _size(row.get(f"{prefix}IO lat us [avg]")) / 1000)
    return phase


def _json_phase(line: int, text: str) -> _Phase | Refusal:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return Refusal(line, "the JSON of a phase is cut, or broken")
    last, config = _inner(document, "last_done"), {**document, **_inner(document, "config")}
    command = _COMMAND.match(str(config.get("command", "")).strip())  # which is all that JSON before 3.0-37 says
    settings = _command_settings(command[1]) if command else {}
    settings |= {name: str(config[key]) for name, (_, key, _, _) in _SETTINGS.items() if key in config}
    seconds = _size(last.get("elapsed_time_ms")) / 1000
    phase = _Phase(line, str(document.get("phase_type", "")), seconds, settings, is_whole=False)
    latency = _inner(_inner(last, "latency"), "IO")
    histogram = _inner(latency, "histogram")
    for way, (figures, means, bins) in {
        "": [last, latency, histogram],
        "r": [_inner(inner, "rwmix_read") for inner in (last, latency, histogram)],
    }.items():
        iops, mib_s = _size(figures.get("iops")), _size(figures.get("bytes/s")) / 2**20
        if iops or mib_s:
            mean = _size(means.get("avg_us")) / 1000
            phase.ways[way] = _Way(iops, mib_s, mean, bins=dict(_bins(bins.get("buckets"))))
    return phase


def _inner(document: dict[str, Any], name: str) -> dict[str, Any]:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _bins(buckets: Any) -> Iterator[tuple[float, float]]:
    for bucket in buckets if isinstance(buckets, list) else ():
        match = _RANGE.fullmatch(str(bucket.get("range", ""))) if isinstance(bucket, dict) else None
        if match and float(match[1]):
            yield float(match[1]) / 1000, _size(bucket.get("count"))


def _command_settings(text: str) -> dict[str, str]:
    """Return what the options of a command state, and the defaults of the others."""
    try:
        words = shlex.split(text)
    except ValueError:
        return {}
    settings = {name: default for name, (_, _, _, default) in _SETTINGS.items()}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, _, value = word.partition("=") if word.startswith("--") else (word[:2], "", word[2:])
        if (name := _OF_OPTION.get(option, "")) in _FLAGS:
            settings[name] = value or "true"
        elif name:
            settings[name] = value or following
    return settings


def _size(text: Any) -> int:
    """Return a number, or a size such as "4k"; 0 of anything else."""
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    return int(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " ") if match else 0


def _seconds(text: str) -> float:
    """Return the seconds of "1h2m3s", "1m2.345s" or "812ms"; 0 of anything else."""
    match = _DURATION.fullmatch(text)
    parts = match.groups("0") if match else ()
    return sum(float(part) * size for part, size in zip(parts, (3600, 60, 1, 0.001), strict=False))


def _judge(phase: _Phase) -> Run | Refusal:
    is_mix = bool(_MIX.fullmatch(phase.name))
    if not is_mix and phase.name not in ("READ", "WRITE"):
        return Refusal(phase.line, f"the phase {phase.name[:40]} does not only read or write blocks: it is not read")
    ways, settings = list(phase.ways.values()), phase.settings
    rate, throughput = sum(way.iops for way in ways), sum(way.mib_s for way in ways)
    block = _size(settings.get("block", ""))
    exact = rate * block / 2**20
    is_cut = phase.is_whole and not throughput <= exact < throughput + len(ways)
    throughput = exact if phase.is_whole and not is_cut else throughput
    if not throughput:
        return Refusal(phase.line, f"the phase {phase.name} did nothing, or its figures are cut")
    latency = sum(way.iops * way.latency_ms for way in ways) if all(way.latency_ms for way in ways) else 0
    bins = [pair for way in ways for pair in way.bins.items()] if all(way.bins for way in ways) else []
    percentiles = percentiles_of(bins) or (ways[0].percentiles_ms if len(ways) == 1 else {})
    parameters: dict[str, str | int] = {name: n for name in _NUMBERS if (n := _size(settings.get(name, "")))}
    parameters |= {name: int(flag) for name in _FLAGS if (flag := _VALUES.get(settings.get(name, ""))) is not None}
    ways_to = (phase.name.lower(), f"random-{phase.name.lower()}")
    could_be = () if is_mix or "random" in parameters else ways_to
    notes = (*((WIDE,) if percentiles else ()), *((WHOLE,) if is_cut else ()))
    return Run(
        workload=settings.get("label", "")[:80].strip() or "elbencho",
        line=phase.line,
        throughput_mib_s=throughput,
        ops_per_s=float(rate) or None,
        latency_ms=latency / rate if latency and rate else None,
        duration_s=phase.seconds or None,
        operation="mixed" if is_mix else "" if could_be else ways_to[int(parameters["random"])],
        could_be=could_be,
        block_size_bytes=block or None,
        tool_version=settings.get("version", "")[:40],
        percentiles_ms=percentiles,
        parameters=parameters | ({"mix": phase.name} if is_mix else {}),
        note=" ".join(notes),
        warnings=notes,
    )
