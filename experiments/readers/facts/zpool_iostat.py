"""zpool iostat -l, -w and -r: the load of a ZFS pool, and its latencies. These are facts and no results, as the text
does not say what caused the load.

                  capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait  scrub
    pool        alloc   free   read  write   read  write   read  write   read  write   read  write   read  write   wait
    ----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
    tank        69.9G  6.92T      2     89  11.4K  2.05M  585us    1ms  559us  358us   21us   14us  155us    1ms      -

    tank         total_wait     disk_wait    syncq_wait    asyncq_wait                       -w: requests by latency
    latency      read  write   read  write   read  write   read  write  scrub   trim
    ----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
    1us             0      0     12      0 ...

    tank          sync_read    sync_write    async_read    async_write      scrub         trim      -r: by size
    req_size      ind    agg    ind    agg    ind    agg    ind    agg    ind    agg    ind    agg
    ----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
    4K           108K      0   355K      0  2.98K      0  1.98M      0    116      0      0      0

- The first sample is of all the time since the pool was imported: of several it is left out. A single one is called so.
- Numbers have three digits; K and M are powers of 1024, in counts too.
- A row of latencies counts those from half of it up to it: percentiles are given as "at most". Of the sizes, the most
  frequent is given, and how many requests of each kind were joined into larger ones (agg).
- Rows of single devices are ignored: the pool's row includes them.

Source: zpool_main.c of OpenZFS 0.8 to 2.3, and outputs of -l and -r in repositories.
"""

import re
from collections.abc import Iterator

from ..base import Fact, TooMuchError
from ..reader import LineReader, Outcome

MAX_SAMPLES = 100_000  # rows of pools

_GROUPS = re.compile(r" {10,200}capacity {1,20}operations {1,20}bandwidth\b")
_HISTOGRAM = re.compile(r"(\S{1,80}) {1,80}(?=total_wait |sync_read )(\S.{0,400})$")
_NUMBER = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([KMGTPE]?)$")
_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ns|us|ms|s)$")
_POWERS = {letter: 1024.0**power for power, letter in enumerate(("", "K", "M", "G", "T", "P", "E"))}
_TO_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
_PAIRS = {("alloc", "free"), ("read", "write"), ("ind", "agg")}
_PERCENTS = (50, 95, 99)
_LOADS = {("operations", "read"): "reads_per_s", ("operations", "write"): "writes_per_s"}
_FLOWS = {("bandwidth", "read"): "read_kib_per_s", ("bandwidth", "write"): "written_kib_per_s"}

Columns = list[tuple[str, str]]
Histogram = dict[str, dict[tuple[str, str], float]]  # label of a row to counts by column


class ZpoolIostat(LineReader):
    name = "zpool-iostat"
    benchmark, counted = "", "facts of pools"
    nothing = "zpool iostat printed no row of a pool, or it is cut"
    is_indented = True
    longest_line = 600
    signs_within = 2**16
    signs = (
        (b"capacity ", b"operations ", b"bandwidth"),
        (b"\nlatency ", b"total_wait"),
        (b"\nreq_size ", b"sync_read"),
    )

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        samples: dict[str, list[tuple[int, dict[tuple[str, str], float]]]] = {}
        histograms: dict[tuple[str, str], list[tuple[int, Histogram]]] = {}
        groups: list[str] = []
        columns: Columns = []
        heading: tuple[int, str] | None = None
        rows: Histogram | None = None
        count = 0
        for number, line in lines:
            words = line.split()
            if _GROUPS.match(line):
                groups, columns, rows, heading = words, [], None, None
            elif match := _HISTOGRAM.match(line):
                groups, columns, rows, heading = match[2].split(), [], None, (number, match[1])
            elif groups and not columns and words[:1] and words[0] in ("pool", "vdev", "latency", "req_size"):
                columns = list(_columns(groups, words[1:]))
                if heading and columns:
                    rows = {}
                    histograms.setdefault((heading[1], words[0]), []).append((heading[0], rows))
            elif columns and words and not line.startswith("-") and len(words) == len(columns) + 1:
                count += 1
                if count > MAX_SAMPLES:
                    raise TooMuchError(count, "rows", MAX_SAMPLES)
                cells = zip(columns, map(_value, words[1:]), strict=True)
                values = {column: value for column, value in cells if value >= 0}
                if rows is not None:
                    rows[words[0]] = values
                elif not line.startswith(" "):
                    samples.setdefault(words[0], []).append((number, values))
        yield from _facts_of_samples(samples)
        yield from _facts_of_histograms(histograms)


def _columns(groups: list[str], words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the columns of a header: those of a group in pairs, then those that stand alone."""
    names = iter(groups)
    at = 0
    while at < len(words):
        width = 2 if tuple(words[at : at + 2]) in _PAIRS else 1
        group = next(names, words[at])
        yield from ((group, word) for word in words[at : at + width])
        at += width


def _value(text: str) -> float:
    """Return a number, or a time in ms; below zero where it is neither."""
    if match := _NUMBER.match(text):
        return float(match[1]) * _POWERS[match[2]]
    if match := _TIME.match(text):
        return float(match[1]) * _TO_MS[match[2]]
    return -1.0


def _facts_of_samples(samples: dict[str, list[tuple[int, dict[tuple[str, str], float]]]]) -> Iterator[Fact]:
    for pool, taken in samples.items():
        counted = taken[1:] or taken
        line = counted[0][0]
        about = f"pool {pool[:80]}"
        yield _sample_count(about, len(taken), line)
        for key in dict.fromkeys(key for _, values in counted for key in values):
            values = [values[key] for _, values in counted if key in values]
            mean = sum(values) / len(values)
            if key in _LOADS:
                yield Fact(about, _LOADS[key], round(mean, 3), line)
            elif key in _FLOWS:
                yield Fact(about, _FLOWS[key], round(mean / 1024, 3), line)
            elif key[0].endswith("_wait") or key[1] == "wait":
                name = "_".join(key)
                yield Fact(about, f"{name}_ms", round(mean, 6), line)


def _sample_count(about: str, samples: int, line: int) -> Fact:
    return Fact(about, "samples", samples - 1 if samples > 1 else "one, of all the time since import", line)


def _facts_of_histograms(histograms: dict[tuple[str, str], list[tuple[int, Histogram]]]) -> Iterator[Fact]:
    for (pool, kind), taken in histograms.items():
        counted = taken[1:] or taken
        line = counted[0][0]
        totals: dict[tuple[str, str], dict[str, float]] = {}
        for _, rows in counted:
            for label, values in rows.items():
                for column, count in values.items():
                    of_column = totals.setdefault(column, {})
                    of_column[label] = of_column.get(label, 0.0) + count
        if not totals:
            continue
        about = f"pool {pool[:80]}"
        yield _sample_count(about, len(taken), line)
        yield from _latencies(about, totals, line) if kind == "latency" else _sizes(about, totals, line)


def _latencies(about: str, totals: dict[tuple[str, str], dict[str, float]], line: int) -> Iterator[Fact]:
    for (group, way), counts in totals.items():
        every = sum(counts.values())
        if group not in ("total_wait", "disk_wait") or not every:
            continue
        bounds = sorted((_value(label), count) for label, count in counts.items() if _TIME.match(label))
        for percent in _PERCENTS:
            reached = 0.0
            for bound, count in bounds:
                reached += count
                if reached * 100 >= percent * every:
                    yield Fact(about, f"{group}_{way}_p{percent}_at_most_ms", bound, line)
                    break


def _sizes(about: str, totals: dict[tuple[str, str], dict[str, float]], line: int) -> Iterator[Fact]:
    for group in dict.fromkeys(group for group, _ in totals):
        alone, joined = (totals.get((group, way), {}) for way in ("ind", "agg"))
        every = sum(alone.values()) + sum(joined.values())
        if not every:
            continue
        both = {label: alone.get(label, 0.0) + joined.get(label, 0.0) for label in {**alone, **joined}}
        most = max(both, key=lambda label: both[label])
        yield Fact(about, f"{group}_requests", round(every), line)
        yield Fact(about, f"{group}_most_frequent_bytes", int(_value(most)), line)
        yield Fact(about, f"{group}_joined_percent", round(sum(joined.values()) / every * 100, 1), line)
