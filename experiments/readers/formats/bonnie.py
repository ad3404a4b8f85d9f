"""Bonnie++'s CSV lines: format 1.03 without a version, 1.96 to 1.98 with one. Everything around them is passed over.

    1.97,1.97,host,1,1595640930,80112M,,668,99,993827,96,553909,59,1411,99,1341920,79,8210,150,16,,,,,+++++,+++,...
    hal,48280M,29266,49,42015,12,15601,3,20186,29,30907,2,74.7,0,16,+++++,+++,...

- A rate and the processor's share in percent alternate; the rates of files are KiB/s, those of seeks and of
  small files are a second. The share may exceed 100 and is not read.
- "+++++" was too fast to be measured, an empty field was skipped: both are missing.
- Format 1.98 (2.00) has two columns more after the chunk size: number and processes of the seeks.
- The latencies at the end are maxima, not means, and are not read.

Source: bonnie++ 1.03e, 1.97 and 2.00a, bon_csv2html.cpp and bonnie++.cpp; www.coker.com.au/bonnie++.
"""

import re
from collections.abc import Iterator
from typing import Any

from ..base import Refusal, Run
from ..reader import LineReader, Outcome, System, ToolVersion

UNNAMED = "not named"  # a machine whose line has no name for it
MAX_FIELD = 64
MAX_FIELDS = 200  # of one line; the formats have up to 59

# After the description, in this order, each followed by the processor's share.
_FILE_TESTS = ("char-write", "write", "rewrite", "char-read", "read", "random-seek")
_SMALL_TESTS = ("create", "stat", "delete", "random-create", "random-stat", "random-delete")
_TOO_FAST = re.compile(r"\++", re.ASCII)
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?", re.ASCII)
_SIZE = re.compile(r"(\d{1,9})([kKmMgGtT]?)", re.ASCII)
_FORMAT = re.compile(r"1\.9[6-8][a-z]?", re.ASCII)
_LATER_FORMAT = re.compile(r"[1-9]\.\d\d?[a-z]?", re.ASCII)
_TABLE = re.compile(rb"^Version {1,9}\d\S{0,9} {1,40}-{1,40}Sequential Output-", re.MULTILINE)
_LINE = re.compile(
    rb"^(?:1\.9\d[a-z]?,\d\.\d\d?[a-z]?,[^,\n]{0,200},\d|[^,\n]{1,200},\d{1,9}[kKmMgGtT](?::\d{1,9}[kKmM]?)?,[\d.+]*,[\d+]*,[\d.+]*,)",
    re.MULTILINE,
)


class Bonnie(LineReader):
    name, benchmark = "bonnie", "bonnie++"
    limit, systems = 20_000, "machines"
    longest_line = MAX_FIELD * MAX_FIELDS
    nothing = "only Bonnie++'s table is here, whose columns run together; send the CSV line below it"

    def recognises(self, data: bytes) -> bool:
        start = data[: self.signs_within]
        return bool(_LINE.search(start) or _TABLE.search(start))

    def parse_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Outcome]:
        for number, line in lines:
            fields = [field.strip() for field in line.split(",", MAX_FIELDS)]
            described = _describe(fields)
            if described is None:
                continue
            if isinstance(described, str):
                yield Refusal(number, described)
                continue
            version, first, _ = described
            yield ToolVersion(version)
            yield System(fields[0 if first == 2 else 2] or UNNAMED, number)
            outcomes = [*_runs(number, fields, *described)]
            yield from outcomes or [Refusal(number, "no test of this line was slow enough to be measured")]


def _describe(fields: list[str]) -> tuple[str, int, dict[str, Any]] | str | None:
    """Return version, index of the first rate, and parameters; a sentence where it is no use; None: another line."""
    if len(fields) < 12 or any(len(field) > MAX_FIELD * 4 for field in fields):
        return None
    parameters: dict[str, Any] = {}
    if _FORMAT.fullmatch(fields[0]) and len(fields) > 5 and _LATER_FORMAT.fullmatch(fields[1]):
        first = 9 if fields[0].startswith("1.98") else 7
        size, chunk, files_at = fields[5], fields[6], first + 12
        parameters = {"threads": _whole(fields[3])}
        if first == 9:
            parameters |= {"seeks": _whole(fields[7]), "seek_processes": _whole(fields[8])}
        needed, version = first + 12 + 5 + 12, fields[1]
    elif _SIZE.fullmatch(fields[1].partition(":")[0]) and fields[1][:1].isdigit() and not fields[1].isdigit():
        size, _, chunk = fields[1].partition(":")
        first, files_at, version = 2, 14, "1.03"
        needed = 15 + 12
    else:
        return None
    if len(fields) < needed:
        return f"the line is cut: it has {len(fields)} fields, its format has {needed} before the latencies"
    bytes_of_file = _bytes(size)
    if bytes_of_file is None and not fields[files_at]:
        return f"the size {size!r} cannot be read"
    parameters |= {"file_size_bytes": bytes_of_file, "chunk_bytes": _bytes(chunk), "files": fields[files_at] or None}
    return version, first, {name: value for name, value in parameters.items() if value}


def _runs(
    line: int, fields: list[str], version: str, first: int, parameters: dict[str, Any]
) -> Iterator[Run | Refusal]:
    # Between the two kinds stand the number of files and, except in 1.03, their sizes and directories.
    small = first + 12 + (1 if first == 2 else 5)
    places = [(first + 2 * n, name) for n, name in enumerate(_FILE_TESTS)]
    places += [(small + 2 * n, name) for n, name in enumerate(_SMALL_TESTS)]
    too_fast = [name for at, name in places if _TOO_FAST.fullmatch(fields[at])]
    warnings = (f"Too fast to be measured: {', '.join(too_fast)}.",) if too_fast else ()
    for at, name in places:
        if not fields[at] or _TOO_FAST.fullmatch(fields[at]):
            continue
        if not _NUMBER.fullmatch(fields[at]) or not float(fields[at]):
            yield Refusal(line, f"{name} is {fields[at][:40]!r}; a rate above zero, +++++ or nothing is expected")
            continue
        rate = float(fields[at])
        is_throughput = name in _FILE_TESTS and name != "random-seek"
        yield Run(
            workload="bonnie++",
            line=line,
            throughput_mib_s=rate / 1024 if is_throughput else None,
            ops_per_s=None if is_throughput else rate,
            operation=name,
            tool_version=version,
            working_set_bytes=parameters.get("file_size_bytes") if name in _FILE_TESTS else None,
            parameters=parameters,
            warnings=warnings,
        )


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None


def _bytes(text: str) -> int | None:
    """Return "48280M" in bytes; a plain number is MiB, as for -s; None where it is no size."""
    match = _SIZE.fullmatch(text)
    if not match:
        return None
    return int(match[1]) * 1024 ** (" kmgt".index(match[2].lower()) if match[2] else 2) or None
