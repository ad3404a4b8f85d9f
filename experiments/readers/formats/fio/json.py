"""fio's JSON and JSON+, 2.x and 3.x, with whatever text stands around it.

    {"fio version": "fio-3.16", "global options": {...},
     "jobs": [{"jobname": "mail", "groupid": 0, "error": 0, "job options": {"rw": "randwrite", "bs": "4k", ...},
               "read": {...}, "write": {"io_bytes": 1073741824, "bw": 52428, "runtime": 20000, "total_ios": 262144,
                                        "lat_ns": {"mean": 76000.0, ...}, ...}}]}

- io_bytes is KiB up to 2.20 and bytes from 2.21 on; which it is shows in its ratio to bw, which is always KiB/s.
- bw and iops are cut to whole numbers, so both are computed from io_bytes, total_ios and runtime (ms).
- 2.1 has iops and no total_ios: there the requests are iops times runtime, a whole number a second.
- Latencies are "lat" in us up to 2.x, "lat_ns" in ns from 3.0 on; the mean is over requests, from submission.
- Without group_reporting each process is an entry: those of one job and group ran together and are added up.
- With group_reporting the jobs of a group are one entry, with the options of one of them: options that its counters
  belie are not taken.
- With --client, "client_stats" ends in "All clients", which has the others in it, but not their options.
- Percentiles are of "lat" where fio was told lat_percentiles, else of "clat", from submission to completion; the bins
  of JSON+ ("bins": {"76032": 12, ...}, each up to 2 % wide) are of the same: of several processes only bins add up.

Programs that keep fio's document inside their own may sort its names; one document anywhere in a JSON text is read,
and several under different names are refused by these names.

Source: stat.c and client.c of fio 2.1.4 to 3.33.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from ...base import FileRefusedError, LineNumbers, Refusal, Run, TooMuchError, percentiles_of, text_of
from ...parts import refuse_several
from ...reader import Outcome, Reader, System, ToolVersion, two_installations

MAX_DOCUMENTS = 1_000
MAX_JOBS = 10_000  # of one document
FITS = 0.01  # how far the mean size of requests may be from the block size
MAX_TWICE = 4  # times the text that may be read more than once, because documents in it are broken

_DOCUMENT = re.compile(r'\{\s{0,80}"fio version"\s{0,80}:')
_JOB = re.compile(r'\\?"jobname\\?"\s{0,80}:')
_SIGNAL = re.compile(r"fio: terminating on signal \d+")
_ERROR = re.compile(r"\berr= ?(\d{1,5})\b")
_SIZE = re.compile(r"(\d{1,12})([kmgt]?)i?b?", re.ASCII | re.IGNORECASE)
_NAMED = re.compile(rb'"fio version\\?"')
ALL_CLIENTS = "All clients"
PERCENTILES = (50, 95, 99)
_DIRECTIONS = ("read", "write", "trim", "mixed")

# Options that tell what the load is. What names files, hosts or devices is none of them.
OPTIONS = (
    *("rw", "readwrite", "bs", "blocksize", "iodepth", "numjobs", "ioengine", "direct", "buffered", "sync", "fsync"),
    *("fdatasync", "end_fsync", "size", "filesize", "nrfiles", "runtime", "time_based", "ramp_time", "rwmixread"),
    *("rwmixwrite", "thread", "rate", "rate_iops", "rate_process", "random_distribution", "bsrange", "bssplit"),
)
_SUMMED = "Its counters are not of a job with its {}: fio added up several jobs, and their own options are left out."
_LIMITS = ("rate", "rate_iops", "rate_process")
OPERATIONS = {
    "read": "read",
    "write": "write",
    "randread": "random-read",
    "randwrite": "random-write",
    "trim": "trim",
    "randtrim": "random-trim",
}
_TWO_WAYS = {"rw": "", "readwrite": "", "randrw": "random-", "trimwrite": "", "randtrimwrite": "random-"}


class FioJson(Reader):
    name, benchmark = "fio-json", "fio"
    counted, limit, systems = "runs", 50_000, "documents of fio"
    nothing = "fio's JSON has no jobs in it"

    def recognises(self, data: bytes) -> bool:
        if not _NAMED.search(data):
            return False
        text = text_of(data)
        return bool(_DOCUMENT.search(text)) or text.lstrip()[:1] in ("{", "[")

    def parse(self, data: bytes) -> Iterator[Outcome]:
        text = text_of(data)
        first = _DOCUMENT.search(text)
        is_inside = text.lstrip()[:1] in ("{", "[") and not (first and not text[: first.start()].strip())
        if is_inside and (outer := _whole(text)) is not None:
            return _parse_inside(outer, text)
        return _parse_documents(text)


def _parse_documents(text: str) -> Iterator[Outcome]:
    """Yield what the documents of a text hold. Raises FileRefusedError."""
    lines = LineNumbers(text)
    version = ""
    position = documents = wasted = 0
    while start := _DOCUMENT.search(text, position):
        documents += 1
        if documents > MAX_DOCUMENTS:
            rest = sum(1 for _ in _DOCUMENT.finditer(text, start.end()))
            raise TooMuchError(documents + rest, "documents of fio", MAX_DOCUMENTS)
        before = text[position : start.start()]
        line = lines.at(start.start())
        try:
            document, position = json.JSONDecoder().raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            wasted += getattr(error, "pos", len(text)) - start.start()
            if wasted > MAX_TWICE * len(text):
                inside = "most of them broken and inside one another"
                raise FileRefusedError(f"{documents:,} documents, {inside}: give each its own file", line) from None
            yield Refusal(line, "the JSON is cut, or broken: fio did not finish it")
            position = start.end()
            continue
        own_version = _version(document)
        if version and own_version != version:
            yield two_installations(line, "fio", own_version, version)
            continue
        version = version or own_version
        yield ToolVersion(version)
        jobs_at = [lines.at(job.start()) for job in _JOB.finditer(text, start.start(), position)]
        yield from _read_document(document, before, jobs_at or [line])


def _parse_inside(outer: Any, text: str) -> Iterator[Outcome]:
    """Yield the documents that somebody else's JSON holds. Raises FileRefusedError."""
    documents = list(islice(_embedded_documents(outer), MAX_DOCUMENTS + 1))
    if len(documents) > MAX_DOCUMENTS:
        raise TooMuchError(text.count("fio version"), "documents of fio", MAX_DOCUMENTS)
    lines = LineNumbers(text)
    jobs_at = (lines.at(job.start()) for job in _JOB.finditer(text))
    outcomes_of: dict[str, tuple[int, list[Run | Refusal]]] = {}  # name of a document to its first line and outcomes
    versions: dict[str, int] = {}
    named: dict[str, str] = {}  # load to the name of the document that has it
    is_repeated = False
    for names, document in documents:
        listed = (document.get(key) for key in ("jobs", "client_stats"))
        count = sum(len(jobs) for jobs in listed if isinstance(jobs, list))
        own = list(islice(jobs_at, count)) or [1]
        name, version = " > ".join(names), _version(document)
        versions.setdefault(version, own[0])
        outcomes = outcomes_of.setdefault(name, (own[0], []))[1]
        for outcome in _read_document(document, "", own):
            if isinstance(outcome, Run):
                load = f"{outcome.workload} {outcome.operation} {outcome.parameters}"
                is_repeated |= named.setdefault(load, name) != name
                outcome = replace(outcome, tool_version=version)
            outcomes.append(outcome)
    # Other loads are other jobs of one machine; the same under two names are two machines, or two settings.
    if not is_repeated and len(versions) > 1:
        raise FileRefusedError(refuse_several("versions of fio", versions))
    yield ToolVersion("" if is_repeated else next(iter(versions), ""))
    for name, (line, outcomes) in outcomes_of.items():
        if is_repeated:
            yield System(name, line)
        yield from outcomes


def _version(document: dict[str, Any]) -> str:
    return str(document.get("fio version", ""))[:40].removeprefix("fio-")


def _whole(text: str) -> Any:
    """Return the text as one JSON value; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _embedded_documents(outer: Any) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield fio's documents in a JSON value, in order, with the names that lead there; texts may hold one, too."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), outer)]
    while waiting:
        names, value = waiting.pop()
        if isinstance(value, str) and _NAMED.search(value.encode(errors="replace")):
            value = _whole(value)
            if isinstance(value, str):
                continue
        if isinstance(value, dict) and "fio version" in value:
            yield names, value
        elif isinstance(value, dict):
            waiting += [((*names[:20], key[:80]), value[key]) for key in reversed(value)]
        elif isinstance(value, list):
            waiting += [(names, item) for item in reversed(value)]


def _read_document(document: dict[str, Any], before: str, lines: list[int]) -> Iterator[Run | Refusal]:
    """Yield one document, the text before it, and the lines of its jobs. Raises TooMuchError."""
    entries = _entries(document)
    if len(entries) > MAX_JOBS:
        raise TooMuchError(len(entries), f"jobs of fio (line {lines[0]})", MAX_JOBS)
    if signal := _SIGNAL.search(before):
        yield Refusal(lines[0], f"the run was interrupted ({signal[0]}): what it measured till then is no result")
        return
    if (error := _ERROR.search(before)) and int(error[1]):
        yield Refusal(lines[0], f"fio complained of error {error[1]} before it wrote this")
        return
    shared = document.get("global options")
    shared = {**(shared if isinstance(shared, dict) else {}), **_common_options(document)}
    groups: dict[tuple[str, str, str], list[tuple[int, dict[str, Any]]]] = {}
    for index, job in entries:
        key = (str(job.get("jobname", "")), str(job.get("groupid", "")), str(job.get("hostname", "")))
        groups.setdefault(key, []).append((lines[min(index, len(lines) - 1)], job))
    at_once: dict[tuple[str, str], int] = {}
    for _, group, host in groups:
        at_once[group, host] = at_once.get((group, host), 0) + 1
    for (name, group, host), jobs in groups.items():
        yield _judge(name, jobs, shared, at_once[group, host])


def _entries(document: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return the jobs with their place in the document; for several clients only their sum."""
    jobs = document.get("jobs")
    if not isinstance(jobs, list) or not jobs:
        jobs = document.get("client_stats")
        jobs = jobs if isinstance(jobs, list) else []
        sums = [(n, job) for n, job in enumerate(jobs) if isinstance(job, dict) and job.get("jobname") == ALL_CLIENTS]
        if sums:
            return sums
    return [(n, job) for n, job in enumerate(jobs) if isinstance(job, dict)]


def _common_options(document: dict[str, Any]) -> dict[str, Any]:
    """Return the options that all clients have in common, and with one value; numjobs is each client's own."""
    clients = document.get("client_stats")
    others = [
        client
        for client in (clients if isinstance(clients, list) else ())
        if isinstance(client, dict) and client.get("jobname") != ALL_CLIENTS
    ]
    options: list[dict[str, Any]] = [own for client in others if isinstance(own := client.get("job options"), dict)]
    if not options or len(options) < len(others):
        return {}
    first = options[0]
    return {key: first[key] for key in first if key != "numjobs" and all(own.get(key) == first[key] for own in options)}


def _judge(name: str, jobs: list[tuple[int, dict[str, Any]]], shared: dict[str, Any], at_once: int) -> Run | Refusal:
    line = jobs[0][0]
    for at, job in jobs:
        if (error := job.get("error", 0)) != 0:
            return Refusal(at, f"job {name[:80]!r} failed with error {str(error)[:20]}")
    parts: dict[str, list[float]] = {}  # direction: bytes, requests, longest runtime (ms), latency x requests (ms)
    counted = 0.0
    for at, job in jobs:
        for direction in _DIRECTIONS:
            section = job.get(direction)
            if not isinstance(section, dict) or not _number(section.get("io_bytes")):
                continue
            if direction == "mixed" and parts.keys() - {"mixed"}:  # unified_rw_reporting=both: the sum of those above
                continue
            moved = _bytes(section)
            if moved is None:
                return Refusal(at, f"io_bytes, bw and runtime of {direction} do not fit together in any unit")
            runtime = _number(section.get("runtime"))
            counted += _number(section.get("total_ios"))
            requests = _number(section.get("total_ios")) or _number(section.get("iops")) * runtime / 1000
            part = parts.setdefault(direction, [0.0, 0.0, 0.0, 0.0])
            part[0] += moved
            part[1] += requests
            part[2] = max(part[2], runtime)
            part[3] += _latency(section) * requests
    runtime = max((part[2] for part in parts.values()), default=0.0)
    moved, requests = (sum(part[n] for part in parts.values()) for n in (0, 1))
    if not runtime or not moved or not requests:
        return Refusal(line, f"job {name[:80]!r} did nothing: no bytes, requests or time are counted")
    options = jobs[0][1].get("job options")
    job_options = {**shared, **(options if isinstance(options, dict) else {})}
    belied = _contradicted_options(job_options, parts, counted)
    if belied:
        job_options = {key: value for key, value in shared.items() if key not in belied}
    parameters = {key: plain(job_options[key]) for key in OPTIONS if key in job_options and _is_plain(job_options[key])}
    if len(jobs) > 1:
        parameters.setdefault("numjobs", len(jobs))
    operation, could_be = operation_of(str(job_options.get("rw", job_options.get("readwrite", ""))), list(parts))
    if belied and could_be:
        operation, could_be = "mixed", ()
    latency = sum(part[3] for part in parts.values()) / requests
    return Run(
        workload=name.strip()[:80] or "fio",
        line=line,
        throughput_mib_s=moved / runtime * 1000 / 2**20,
        ops_per_s=requests / runtime * 1000,
        latency_ms=latency or None,
        duration_s=runtime / 1000,
        operation=operation,
        could_be=could_be,
        block_size_bytes=block_size_of(job_options.get("bs", job_options.get("blocksize")), list(parts)),
        percentiles_ms=_percentiles(
            [job[part] for _, job in jobs for part in parts if isinstance(job.get(part), dict)]
        ),
        parameters=parameters,
        warnings=(*_warnings(job_options, at_once), *((_SUMMED.format(" and ".join(belied)),) if belied else ())),
    )


def _contradicted_options(options: dict[str, Any], parts: dict[str, list[float]], requests: float) -> list[str]:
    """Return the options of a job that its counters belie: fio added up several, and kept the options of one.

    requests : as counted; 0 where this version does not count them
    """
    belied_options: list[str] = []
    if "verify" in options or "mixed" in parts:  # it reads what it wrote, or counts both ways as one
        return belied_options
    for name in ("rw", "readwrite"):
        rw = str(options.get(name, "")).partition(":")[0].strip().lower()
        if rw in OPERATIONS and set(parts) != {OPERATIONS[rw].removeprefix("random-")}:
            belied_options.append(name)
    for name in ("bs", "blocksize"):
        size = block_size_of(options.get(name), list(parts)) if not {"bsrange", "bssplit"} & options.keys() else None
        if size and requests and abs(sum(part[0] for part in parts.values()) / requests / size - 1) > FITS:
            belied_options.append(name)
    return belied_options


def _warnings(options: dict[str, Any], at_once: int) -> Iterator[str]:
    if any(name in options for name in _LIMITS):
        yield "The options limit the rate: the figure is that limit where the storage could do more."
    if at_once > 1:
        yield f"It ran beside {at_once - 1} other jobs of its group, and shared the storage with them."


def _bytes(section: dict[str, Any]) -> float | None:
    """Return io_bytes as bytes: KiB or bytes, as its ratio to bw shows; None where it is neither."""
    moved, runtime, bandwidth = (_number(section.get(name)) for name in ("io_bytes", "runtime", "bw"))
    if not runtime:
        return moved
    if bandwidth < 4:  # cut to a whole number, it tells nothing; only 2.21 and later have io_kbytes
        return moved if "io_kbytes" in section or "bw_bytes" in section else moved * 1024
    ratio = moved / (runtime / 1000) / bandwidth
    if 0.5 < ratio < 2:
        return moved * 1024
    return moved if 512 < ratio < 2048 else None


def _latency(section: dict[str, Any]) -> float:
    """Return the mean latency, ms; 0 where there is none."""
    for name, factor in (("lat_ns", 1e-6), ("lat", 1e-3)):
        if isinstance(section.get(name), dict):
            return _number(section[name].get("mean")) * factor
    return 0.0


def operation_of(rw: str, directions: list[str]) -> tuple[str, tuple[str, ...]]:
    """Return the operation by the option rw and the directions that moved bytes; without rw, what it could be."""
    rw = rw.partition(":")[0].strip().lower()
    if len(directions) > 1 or (directions == ["mixed"] and rw not in OPERATIONS):
        return "mixed", ()
    if rw in OPERATIONS:
        return OPERATIONS[rw], ()
    if rw in _TWO_WAYS:
        return _TWO_WAYS[rw] + directions[0], ()
    return "", (directions[0], f"random-{directions[0]}")


def _with_percentiles(section: dict[str, Any]) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield the latencies of a section that have percentiles or bins, and the factor that makes them ms."""
    for name, factor in (("lat_ns", 1e-6), ("clat_ns", 1e-6), ("lat", 1e-3), ("clat", 1e-3)):
        latencies = section.get(name)
        if isinstance(latencies, dict) and any(isinstance(latencies.get(key), dict) for key in ("percentile", "bins")):
            yield latencies, factor


def _percentiles(sections: list[dict[str, Any]]) -> dict[str, float]:
    """Return percentiles, ms: of one direction as printed, of several from their bins; none if some lack bins."""
    sections = [section for section in sections if _number(section.get("io_bytes"))]
    with_factors = [pair for section in sections for pair in islice(_with_percentiles(section), 1)]
    if len(with_factors) == 1 == len(sections) and isinstance(printed := with_factors[0][0].get("percentile"), dict):
        by_percent = {_percent(key): _number(value) * with_factors[0][1] for key, value in printed.items()}
        return {f"p{percent}": by_percent[percent] for percent in PERCENTILES if by_percent.get(percent)}
    counts: Counter[float] = Counter()
    for latencies, factor in with_factors:
        bins = latencies.get("bins")
        if not isinstance(bins, dict):
            return {}
        for key, count in bins.items():
            if (middle := _percent(key)) and (times := _number(count)):
                counts[middle * factor] += int(times)
    return percentiles_of(counts.items()) if len(with_factors) == len(sections) else {}


def _percent(key: Any) -> float | None:
    text = str(key)
    return float(text) if re.fullmatch(r"\d{1,18}(?:\.\d{1,9})?", text, re.ASCII) else None


def block_size_of(value: Any, directions: list[str]) -> int | None:
    """Return the block size: bs has one, or those of reads, writes and trims; the last given holds for the rest."""
    listed = [_size(part) for part in str(value).split(",", 3)] if value is not None else []
    if not 0 < len(listed) <= 3:
        return None
    at = {"read": 0, "write": 1, "trim": 2}
    sizes = {listed[min(at[name], len(listed) - 1)] for name in directions if name in at} or set(listed)
    return sizes.pop() if len(sizes) == 1 else None


def _number(value: Any) -> float:
    """Return a finite number not below zero; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        return 0.0
    return float(value)


def _size(value: Any) -> int | None:
    match = _SIZE.fullmatch(str(value).strip())
    if not match:
        return None
    return int(match[1]) * 1024 ** (" kmgt".index(match[2].lower()) if match[2] else 0) or None


def _is_plain(value: Any) -> bool:
    return (
        isinstance(value, str | int) and not isinstance(value, bool) and "/" not in str(value) and len(str(value)) < 80
    )


def plain(value: Any) -> str | int:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else text
