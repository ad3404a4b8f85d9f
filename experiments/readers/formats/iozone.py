"""IOzone's text: the table of automatic and single mode, and throughput mode.

                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite ...
              64       4      538      838    29036     2868    32241    11070    15079     13490      7753  1143223 ...

Throughput mode (-t), where several processes or threads work at once, each on a file of its own:

    Throughput test with 4 processes
    Each process writes a 2097152 kByte file in 128 kByte records
    Children see throughput for  4 initial writers  =  109333.84 kB/sec
    Parent sees throughput for  4 initial writers   =  109326.48 kB/sec

The children's is the sum of their rates while all of them ran; the parent's is all bytes over the whole time.

- Figures are KiB/s ("kBytes/sec" of 1024 bytes), the file size and the record length KiB.
- Tests that were not run leave their column blank, so a figure belongs to the header it ends below.
- The last four columns go through stdio: with -I (O_DIRECT) they still use the page cache.
- Without "iozone test complete." the test did not finish.

Source: iozone.c of IOzone 3.327 to 3.482; outputs of 3.242 and later.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ..base import Refusal, Run, lines_of, text_of
from ..reader import Outcome, Reader, ToolVersion

MAX_LINE = 1_000

OPERATIONS = (
    *("write", "rewrite", "read", "reread", "random-read", "random-write", "backward-read", "record-rewrite"),
    *("stride-read", "fwrite", "frewrite", "fread", "freread"),
)
_STDIO = ("fwrite", "frewrite", "fread", "freread")
_OFF_BY = 3  # characters that a figure may end beside its header

_VERSION = re.compile(r"Version \$Revision: (\S{1,20}) \$")
_HEADER = re.compile(r"\s{0,200}[kK]B\s{1,200}reclen\s{1,200}write\b")
_ROW = re.compile(r"\s{0,200}\d{1,15}\s{1,200}\d{1,15}(?:\s|$)", re.ASCII)  # size and record, whatever follows
_COMPLETE = "iozone test complete"
_UNIT = re.compile(r"Output is in (\S{1,40}(?: \S{1,40}){0,3})")
_COMMAND = re.compile(r"Command line used: (.{1,500})")
_AT_ONCE = re.compile(r"Throughput test with (\d{1,6}) (?:process|thread)")
_EACH = re.compile(r"Each (?:process|thread) writes a (\d{1,15}) [kK][Bb]yte file in (\d{1,12}) [kK][Bb]yte records")
_CHILDREN = re.compile(
    r"Children see throughput for {1,4}(\d{1,6}) ([a-z -]{1,30}?)\s{1,20}=\s{1,20}"
    r"(\d{1,15}\.\d\d) [kK](?:B|[Bb]ytes)/sec"
)
_PARENT = re.compile(r"Parent sees throughput for .{1,80}?=\s{1,20}(\d{1,15}\.\d\d) [kK](?:B|[Bb]ytes)/sec")
_WHO = {
    "initial writers": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "reverse readers": "backward-read",
    "stride readers": "stride-read",
    "random readers": "random-read",
    "random writers": "random-write",
    "mixed workload": "mixed",
    "fwriters": "fwrite",
    "freaders": "fread",
}
_APART = "The parent saw {:.4g} MiB/s, less than half: the processes hardly ran together."
_COLOUR = re.compile(r"\x1b(?:\[[\d;]{0,20}[A-Za-z]|\([AB0])")
_FLAGS = {"I": "direct_io", "e": "flush_included", "c": "close_included", "o": "sync_writes", "B": "mmap", "p": "purge"}


class Iozone(Reader):
    name = "iozone"
    limit = 50_000
    nothing = "there is neither a table of results nor one of throughput mode"
    signs = ((b"Iozone: Performance Test of File I/O",), (b"reclen", b"kB", b"rewrite"))

    def parse(self, data: bytes) -> Iterator[Outcome]:
        lines = [line for _, line in lines_of(text_of(data))]
        headers = [index for index, line in enumerate(lines) if len(line) < MAX_LINE and _HEADER.match(_plain(line))]
        for start, end in pairwise([*headers, len(lines)]):
            yield from _with_version(_read_test(lines, start, end))
        yield from _with_version(_throughput_mode(lines))


def _with_version(outcomes: Iterable[Run | Refusal]) -> Iterator[Outcome]:
    for outcome in outcomes:
        if isinstance(outcome, Run) and outcome.tool_version:
            yield ToolVersion(outcome.tool_version)
        yield outcome


def _read_test(lines: list[str], start: int, end: int) -> list[Run | Refusal]:
    before = [_plain(line) for line in lines[max(0, start - 60) : start]]
    version, unit, command = (_last(pattern, before) for pattern in (_VERSION, _UNIT, _COMMAND))
    if unit and unit.lower() not in ("kbytes/sec", "kbytes/second"):
        return [Refusal(start + 1, f"the output is in {unit}; run IOzone without -N and -O, for kBytes/sec")]
    header = _plain(lines[start])
    edges = [match.end() for match in re.finditer(r"\S+", header)]
    if len(edges) != 2 + len(OPERATIONS):
        return [Refusal(start + 1, f"the header has {len(edges)} columns, IOzone's has {2 + len(OPERATIONS)}")]
    flags = {flag for word in (command or "").split() if re.fullmatch(r"-[A-Za-z]{1,3}", word) for flag in word[1:]}
    options = {name: True for flag, name in _FLAGS.items() if flag in flags}
    outcomes: list[Run | Refusal] = []
    is_complete = False
    last = start
    for index in range(start + 1, end):
        line = _plain(lines[index])
        if _COMPLETE in line:
            is_complete = True
            break
        cells = _cells(line, edges)
        if cells is None:
            if _ROW.match(line):
                reason = f"a row of the table whose figures do not stand below its header: {line.strip()[:80]!r}"
                outcomes.append(Refusal(index + 1, reason))
            continue
        last = index
        outcomes += _figures(index + 1, cells, options, version or "")
    if not is_complete:
        reason = "the test did not finish: 'iozone test complete.' is missing after its table"
        return [Refusal(last + 1, reason)]
    return outcomes or [Refusal(start + 1, "the table has no figures")]


def _throughput_mode(lines: list[str]) -> Iterator[Run | Refusal]:
    version = ""
    test: _Throughput | None = None
    for number, line in enumerate(lines, start=1):
        line = line[:MAX_LINE].strip(" \t>")
        if match := _VERSION.search(line):
            version = match[1]
        elif match := _AT_ONCE.match(line):
            yield from test.judged() if test else ()
            test = _Throughput(number, int(match[1]), version)
        elif test and (match := _EACH.match(line)):
            test.size, test.record = int(match[1]) * 1024, int(match[2]) * 1024
        elif match := _CHILDREN.match(line):
            if test is None:
                yield Refusal(number, "the line 'Throughput test with ...' is missing above: how many ran is not known")
                return
            test.rows.append((number, match[2].strip(), float(match[3])))
        elif test and test.rows and (match := _PARENT.match(line)):
            test.parents[test.rows[-1][0]] = float(match[1])
        elif test and _COMPLETE in line:
            test.is_complete = True
            yield from test.judged()
            test = None
    yield from test.judged() if test else ()


class _Throughput:
    """One throughput test: what so many processes at once did."""

    def __init__(self, line: int, processes: int, version: str) -> None:
        self.line, self.processes, self.version = line, processes, version
        self.size = self.record = 0
        self.rows: list[tuple[int, str, float]] = []
        self.parents: dict[int, float] = {}
        self.is_complete = False

    def judged(self) -> Iterator[Run | Refusal]:
        if not self.rows:
            yield Refusal(self.line, "the throughput test has no figures: it did not finish")
        for line, who, rate in self.rows:
            operation = _WHO.get(who)
            parent = self.parents.get(line)
            if operation is None:
                yield Refusal(line, f"what {who[:40]!r} did is not known here; {', '.join(_WHO)} are")
            elif not rate:
                yield Refusal(line, f"{who}: 0 kB/sec is no result")
            elif parent is None:
                yield Refusal(line, f"{who}: what the parent saw is missing: the text is cut")
            else:
                parameters = {"processes": self.processes, "file_size_bytes": self.size}
                yield Run(
                    workload="iozone",
                    line=line,
                    throughput_mib_s=rate / 1024,
                    operation=operation,
                    block_size_bytes=self.record or None,
                    tool_version=self.version,
                    working_set_bytes=self.processes * self.size or None,
                    parameters={name: value for name, value in parameters.items() if value},
                    warnings=(_APART.format(parent / 1024),) if parent < rate / 2 else (),
                )


def _cells(line: str, edges: list[int]) -> dict[int, int] | None:
    """Return column to figure; None for a line that is no row of the table."""
    if len(line) > MAX_LINE:
        return None
    cells: dict[int, int] = {}
    for match in re.finditer(r"\S+", line):
        if not (match[0].isascii() and match[0].isdecimal() and len(match[0]) < 16):
            return None
        column = min(range(len(edges)), key=lambda n: abs(edges[n] - match.end()))
        if abs(edges[column] - match.end()) > _OFF_BY or column in cells:
            return None
        cells[column] = int(match[0])
    return cells if {0, 1} < cells.keys() else None


def _figures(line: int, cells: dict[int, int], options: dict[str, bool], version: str) -> list[Run | Refusal]:
    """Return a row's figures; a zero is none, since IOzone leaves blank what was not run."""
    size, record = cells[0] * 1024, cells[1] * 1024
    if not size or not record:
        return [Refusal(line, f"a file of {cells[0]} kB by records of {cells[1]} kB is no test; both are above zero")]
    outcomes: list[Run | Refusal] = []
    for column, operation in enumerate(OPERATIONS, start=2):
        if column not in cells:
            continue
        if not cells[column]:
            outcomes.append(
                Refusal(line, f"{operation} at records of {cells[1]} kB is 0 kBytes/sec; a figure is above zero")
            )
            continue
        is_cached = operation in _STDIO and options.get("direct_io")
        warnings = ("It goes through stdio and the page cache, whatever -I says.",) if is_cached else ()
        outcomes.append(
            Run(
                workload="iozone",
                line=line,
                throughput_mib_s=cells[column] / 1024,
                operation=operation,
                block_size_bytes=record,
                tool_version=version,
                working_set_bytes=size,
                parameters={"file_size_bytes": size, **options},
                warnings=warnings,
            )
        )
    return outcomes


def _plain(line: str) -> str:
    return _COLOUR.sub("", line[: MAX_LINE * 2]).expandtabs()


def _last(pattern: re.Pattern[str], lines: list[str]) -> str | None:
    return next((match[1] for line in reversed(lines) if (match := pattern.search(line))), None)
