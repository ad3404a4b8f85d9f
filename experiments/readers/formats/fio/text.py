"""fio's text for people, 2.x and 3.x: figures of three or four digits, marked as rounded.

    mail: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16
    fio-3.33
    mail: (groupid=0, jobs=4): err= 0: pid=1384: Mon Apr 26 11:02:03 2021
      write: IOPS=77.3k, BW=302MiB/s (317MB/s)(4096MiB/13569msec)            3.x
      write: io=4096.0MB, bw=309452KB/s, iops=77363, runt= 13569msec         2.x
        clat (usec): min=50, max=1780, avg=195.61, stdev=82.37
         lat (usec): min=65, max=1809, avg=206.63, stdev=83.88
        clat percentiles (usec):
         |  1.00th=[   65], 50.00th=[  190], 95.00th=[  310], 99.00th=[  343]

- KB, MB and GB of 2.x are powers of 1024, as KiB, MiB and GiB of 3.x are.
- Blocks of one job in one invocation are its processes and are added up; of several clients the sum counts.
- The line with rw= stands once a job; where it is missing, what the load was is not known.
- With group_reporting the jobs of a group have one block, under the name of the first: what they do not have in
  common is no setting of it.

Source: stat.c and client.c of fio 2.1 to 3.41.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...base import Refusal, Run
from ...reader import LineReader, Outcome, ToolVersion, two_installations
from .json import ALL_CLIENTS, FioJson, operation_of
from .terse import FioTerse

NOTE = "Rounded to three or four digits by fio's text."

_JOB = re.compile(rb"^.{0,200}: \(groupid=\d+, jobs=\d+\): err= ?\d", re.MULTILINE)
_OLD = re.compile(rb"(?:^|[\n>]) {0,4}(?:read|write) ?: (?:io=|IOPS=)", re.IGNORECASE)

_LOAD = re.compile(
    r"(.{1,200}?): \(g=(\d{1,6})\): rw=(\w{1,20}), bs=(.{1,200}?), ioengine=(\S{1,40}), iodepth=(\d{1,6})"
)
_RESULT = re.compile(r"(.{1,200}?): \(groupid=(\d{1,6}), jobs=(\d{1,6})\): err= ?(\d{1,5})")
_VERSION = re.compile(r"fio-(\d\S{0,20})\s*$")
_DIRECTION = re.compile(r"(read|write|trim|mixed)\s{0,3}: (?=.{0,40}\b(?:io=|IOPS=))")
_FIGURE = re.compile(r"\b(iops|bw|runt)= ?(\d{1,12}(?:\.\d{1,3})?)([kKMGT]?)i?(B/s|msec|)(?=[,\s(]|$)", re.IGNORECASE)
_RUNTIME = re.compile(r"/(\d{1,12})msec\)")
_LATENCY = re.compile(r"lat \(([num])sec\)\s{0,4}: min=.{1,80}?avg= ?(\d{1,12}(?:\.\d{1,3})?)([kKMG]?),")
_PERCENTILES = re.compile(r"(c?lat) percentiles \(([num])sec\)")
_PERCENTILE = re.compile(r"(50|95|99)\.0{2,6}th=\[ *(\d{1,15})\]")
_SIGNAL = re.compile(r"fio: terminating on signal \d+")
_RANGE = re.compile(r"(\d{1,12}(?:\.\d)?)([KMGT]?)(?:i?B)?-\1\2(?:i?B)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_TO_MS = {"n": 1e-6, "u": 1e-3, "m": 1.0}
_SLOTS = {"read": 0, "write": 1, "trim": 2}
_OF_LOAD = {"rw": 3, "bs": 4, "ioengine": 5, "iodepth": 6}  # groups of _LOAD


@dataclass
class _Part:
    """One direction of one block."""

    mib_s: float = 0.0
    iops: float = 0.0
    runtime_ms: float = 0.0
    latency_ms: float | None = None
    percentiles_ms: dict[str, float] = field(default_factory=dict)


@dataclass
class _Block:
    """The lines below one "(groupid=..., jobs=...)"."""

    line: int
    name: str
    group: str
    invocation: int
    jobs: int
    error: str
    signal: str
    parts: dict[str, _Part] = field(default_factory=dict)


class FioText(LineReader):
    name, benchmark = "fio-text", "fio"
    counted = "runs"
    nothing = "there is no job with its figures in fio's text"
    longest_line = 1_000

    def recognises(self, data: bytes) -> bool:
        is_text = bool(_JOB.search(data[: 2**20]) or _OLD.search(data[: 2**20]))
        return is_text and not FioJson().recognises(data) and not FioTerse().recognises(data)

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        blocks: list[_Block] = []
        loads: dict[tuple[int, str, str], re.Match[str]] = {}
        version = signal = ""
        invocation = 0
        part: _Part | None = None
        unit: float | None = None  # of percentiles, to ms
        orphan: int | None = None
        for number, line in lines:
            line = line.strip(" \t>|")
            if match := _VERSION.match(line):
                if version and match[1] != version:
                    yield two_installations(number, "fio", match[1], version)
                    break
                version = match[1]
                yield ToolVersion(version)
            elif match := _LOAD.match(line):
                if blocks and blocks[-1].invocation == invocation:
                    invocation += 1
                loads.setdefault((invocation, match[1], match[2]), match)
            elif match := _RESULT.match(line):
                blocks.append(_Block(number, match[1], match[2], invocation, int(match[3]), match[4], signal))
                part, signal = None, ""
            elif match := _SIGNAL.search(line):
                signal = match[0]
            elif match := _DIRECTION.match(line):
                part = _part(line)
                if blocks and match[1] not in blocks[-1].parts:
                    blocks[-1].parts[match[1]] = part
                else:
                    orphan = orphan or number
            elif part and (match := _LATENCY.match(line)):
                part.latency_ms = float(match[2]) * 1000.0 ** _POWERS[match[3].lower()] * _TO_MS[match[1]]
            elif match := _PERCENTILES.match(line):
                unit = _TO_MS[match[2]]
            elif part and unit:
                for percent, value in _PERCENTILE.findall(line):
                    if float(value):  # else below what the unit can tell
                        part.percentiles_ms[f"p{percent}"] = float(value) * unit
            if line.startswith("Run status group"):
                part = unit = None
        if orphan is not None:
            yield Refusal(orphan, "figures without the line above them that names their job: the text is cut")
        names = {(block.invocation, block.group): set[str]() for block in blocks}
        for block in blocks:
            names[block.invocation, block.group].add(block.name)
        others: dict[tuple[int, str], list[re.Match[str]]] = {}  # loads of a group that have no block
        for (began, name, group_id), load in loads.items():
            if name not in names.get((began, group_id), ()):
                others.setdefault((began, group_id), []).append(load)
        for group in _groups(blocks):
            key = (group[0].invocation, group[0].group)
            is_alone = len(names[key]) == 1 and group[0].name != ALL_CLIENTS
            yield _judge(group, loads, others.get(key, []) if is_alone else [])


def _part(line: str) -> _Part:
    part = _Part()
    for name, digits, power, unit in _FIGURE.findall(line):
        value, name = float(digits), name.lower()
        if name == "bw" and unit.lower() == "b/s":
            part.mib_s = part.mib_s or value * 1024.0 ** (_POWERS[power.lower()] - 2)
        elif name == "iops" and not unit:
            part.iops = value * 1000.0 ** _POWERS[power.lower()]
        elif name == "runt":
            part.runtime_ms = value
    if match := _RUNTIME.search(line):
        part.runtime_ms = float(match[1])
    return part


def _groups(blocks: list[_Block]) -> Iterator[list[_Block]]:
    """Yield the blocks of one job of one invocation; for several clients only their sum."""
    summed = {block.invocation for block in blocks if block.name == ALL_CLIENTS}
    groups: dict[tuple[int, str, str], list[_Block]] = {}
    for block in blocks:
        if block.invocation not in summed or block.name == ALL_CLIENTS:
            groups.setdefault((block.invocation, block.name, block.group), []).append(block)
    yield from groups.values()


def _judge(
    blocks: list[_Block], loads: dict[tuple[int, str, str], re.Match[str]], others: list[re.Match[str]]
) -> Run | Refusal:
    """Return the run of a job's blocks; others : loads of jobs that fio added up with it, under its name."""
    first = blocks[0]
    for block in blocks:
        if block.error != "0":
            return Refusal(block.line, f"job {block.name[:80]!r} failed with error {block.error}")
        if block.signal:
            reason = f"the run was interrupted ({block.signal}): what it measured till then is no result"
            return Refusal(block.line, reason)
    parts = [(name, part) for block in blocks for name, part in block.parts.items() if part.mib_s or part.iops]
    names = list(dict.fromkeys(name for name, _ in parts))
    if len(names) > 1 and "mixed" in names:  # unified_rw_reporting=both: the sum of the others
        parts = [(name, part) for name, part in parts if name != "mixed"]
        names.remove("mixed")
    throughput, rate = sum(part.mib_s for _, part in parts), sum(part.iops for _, part in parts)
    if not throughput or not rate:
        return Refusal(first.line, f"job {first.name[:80]!r} did nothing, or its figures are cut")
    load = _load(first, loads)
    latency = None
    if all(part.latency_ms is not None for _, part in parts):
        latency = sum(part.iops * (part.latency_ms or 0) for _, part in parts) / rate
    all_loads = [load, *others] if load else []
    is_alike = {name: len({job_load[n] for job_load in all_loads}) == 1 for name, n in _OF_LOAD.items()}
    operation, could_be = operation_of(load[3] if load else "", names)
    if others and not is_alike["rw"]:
        operation, could_be = "mixed", ()
    jobs = sum(block.jobs for block in blocks)
    options = {"rw": load[3], "ioengine": load[5], "iodepth": int(load[6])} if load else {}
    options = {name: value for name, value in options.items() if is_alike[name]}
    return Run(
        workload=first.name.strip()[:80] or "fio",
        line=first.line,
        throughput_mib_s=throughput,
        ops_per_s=rate,
        latency_ms=latency or None,
        duration_s=max(part.runtime_ms for _, part in parts) / 1000 or None,
        operation=operation,
        could_be=could_be,
        block_size_bytes=_block_size(load[4], names) if load and is_alike["bs"] else None,
        percentiles_ms=parts[0][1].percentiles_ms if len(parts) == 1 else {},
        parameters={**options, "numjobs": jobs},
        note=NOTE,
        warnings=(NOTE, *((added_up([job_load[1] for job_load in all_loads]),) if others else ())),
    )


def added_up(names: list[str]) -> str:
    """Return the warning about jobs that fio reports as one."""
    listed = ", ".join(name.strip()[:40] for name in names[:10])
    return f"fio added up the jobs {listed} (group_reporting): what they do not have in common is left out."


def _load(block: _Block, loads: dict[tuple[int, str, str], re.Match[str]]) -> re.Match[str] | None:
    """Return the line with the load of a block; for all clients that of any, where all have the same."""
    if block.name != ALL_CLIENTS:
        return loads.get((block.invocation, block.name, block.group))
    lines = [load for (invocation, _, _), load in loads.items() if invocation == block.invocation]
    return lines[0] if len({load.groups()[2:] for load in lines}) == 1 else None


def _block_size(text: str, names: list[str]) -> int | None:
    """Return the one size of all directions that did anything: "(R) 4096B-4096B, (W) ..." or "4K-4K/4K-4K/4K-4K"."""
    slots = [_RANGE.search(slot) for slot in re.split(r"[,/]", text, maxsplit=4)]
    if len(slots) == 1:
        slots *= 3
    wanted = {_SLOTS[name] for name in names if name in _SLOTS} or {0, 1}
    sizes = set()
    for slot in wanted:
        match = slots[slot] if slot < len(slots) else None
        sizes.add(round(float(match[1]) * 1024 ** _POWERS[match[2].lower()]) if match else None)
    return sizes.pop() if len(sizes) == 1 else None
