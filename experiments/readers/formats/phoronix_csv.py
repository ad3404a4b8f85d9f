"""The Phoronix Test Suite's result-file-to-csv, 4 to 10.8: the same tests as of composite.xml, of one or more systems.

    ,my disks,                                                                  in earlier releases without commas
    (blank)
     ,,"ext4","xfs"
    Processor,,Intel ...,Intel ...
    (blank)
     ,,"ext4","xfs"
    "Flexible IO Tester - Type: Random Read - Engine: Linux AIO - Block Size: 4KB (IOPS)",HIB,81233,79011

- The unit stands behind the description in 10.8. Before, the table has none: a test that knows but one is read, fio
  is not, which has two.
- A value is the mean of the repetitions, and how many these were the table does not say; composite.xml does.
- Each column of values is a system of its own: which they are is asked.
- Some releases write the identifier of a test in place of its title, and the first no column for HIB or LIB.

Source: pts_result_file_output.php of 4.0 to 10.8.6; no public output was found.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import replace

from ..base import FileRefusedError, Refusal, Run, lines_of, text_of
from ..reader import Outcome, Reader, System
from .phoronix import NUMBER, TEST, UNITS, run_of

MAX_LINE = 10_000
MAX_SYSTEMS = 200
NOTE = "The mean of its repetitions, whose number the table does not say."

_TITLES = {
    "flexible io tester": "fio",
    "threaded i/o tester": "tiobench",
    "postmark": "postmark",
    "dbench": "dbench",
    "fs-mark": "fs-mark",
}
_HEADER = re.compile(r' ,(?:,)?"')
_UNIT = re.compile(r"(.{1,600}) \(([^()]{1,40})\)$")


class PhoronixCsv(Reader):
    name, benchmark = "phoronix-csv", "phoronix"
    limit, systems = 50_000, "systems"
    nothing = "there is no result below the second line of systems: the table is cut"

    def recognises(self, data: bytes) -> bool:
        lines = text_of(data[: 2**18]).splitlines()[:2_000]
        headers = [line for line in lines if _HEADER.match(line)]
        return len(headers) > 1 and len(set(headers)) == 1

    def parse(self, data: bytes) -> Iterator[Outcome]:
        systems: list[str] = []
        names: list[str] = []
        headers, at, before = 0, 1, 1
        for number, line in lines_of(text_of(data)):
            if _HEADER.match(line):
                before = 2 if line.startswith(" ,,") else 1  # cells before the values
                cells = _cells(line)[before:]
                if headers and cells != systems:
                    yield Refusal(number, "other systems than above: a second table; give each its own file")
                    return
                systems, headers, at = cells, headers + 1, number
                if len(systems) > MAX_SYSTEMS:
                    raise FileRefusedError(f"more than {MAX_SYSTEMS} systems", number)
                names = [name or f"column {column}" for column, name in enumerate(systems, start=1)]
                if len(set(names)) < len(names):
                    names = [f"{name}, column {column}" for column, name in enumerate(names, start=1)]
            elif headers > 1 and line.strip():
                for column, outcome in _judge(number, _cells(line), before, len(systems)):
                    if isinstance(outcome, Run):
                        yield System(names[column], at)
                    yield outcome


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line[:MAX_LINE]]), [])
    except csv.Error:
        return []


def _judge(line: int, cells: list[str], before: int, columns: int) -> list[tuple[int, Run | Refusal]]:
    """Return the results of a line, each with its column."""
    if len(cells) != before + columns:
        reason = f"the line is cut, or has cells too many: {len(cells)}, {before + columns} are expected"
        return [(0, Refusal(line, reason))]
    label, values = cells[0].strip(), cells[before:]
    if before > 1 and cells[1] == "LIB":
        return [(0, Refusal(line, f"{label[:80]}: a result that is better when less is none of those known here"))]
    unit = _UNIT.fullmatch(label)
    name, _, description = (unit[1] if unit else label).partition(" - ")
    identifier = TEST.fullmatch(name.strip())
    test = identifier[1] if identifier else _TITLES.get(name.strip().lower(), "")
    units = [scale for of, scale in UNITS if of == test]
    scale = unit[2] if unit and unit[2] in units else ""
    if not scale and len(units) > 1:
        return [(0, Refusal(line, f"{label[:80]}: the table has no unit; send composite.xml"))]
    if not units or (unit and not scale and ":" not in unit[2]):
        return [(0, Refusal(line, f"{label[:80]} is no storage test whose unit is known here"))]
    outcomes: list[tuple[int, Run | Refusal]] = []
    for column, value in enumerate(values):
        if not value.strip():
            continue  # this system did not run it
        if not NUMBER.fullmatch(value.strip()) or not float(value):
            outcomes.append((column, Refusal(line, f"{test}: the test failed, there is no value")))
            continue
        run = run_of(test, scale or units[0], line, float(value), description)
        outcomes.append((column, replace(run, note=NOTE, warnings=(NOTE,))))
    return outcomes
