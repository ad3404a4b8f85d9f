"""The columns of a result table: what each means, and the headers people give it.

table_columns.csv has a row for each column; a setting of kdb.disk_path needs one only where it says more.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kdb.disk_path import SETTINGS
from kdb.units import UNITS

PARAMETER = "parameter:"


@dataclass(frozen=True)
class Column:
    """One column.

    label : in forms
    entry_of : the kind of catalogue entry that its cells name; "" for other cells
    longest : characters of a text; None: 80
    aliases : further headers that mean it, as `fold_header` gives them
    """

    name: str
    label: str
    explanation: str
    entry_of: str = ""
    longest: int | None = None
    is_number: bool = False
    example: str = ""
    aliases: tuple[str, ...] = ()


def fold_header(header: str) -> str:
    """Return a header without case, spaces and separators, equal for all its spellings."""
    return re.sub(r"[\s_.\-]+", "", header.casefold())


def _columns() -> Iterator[Column]:
    others = dict(SETTINGS)
    for row in csv.DictReader(Path(__file__).with_suffix(".csv").read_text("utf-8").splitlines()):
        setting = others.pop(name := row["name"], None)
        yield Column(
            name,
            row["label"] or (setting.label if setting else name.replace("_", " ").capitalize()),
            row["explanation"].format(units=", ".join(UNITS)),
            row["entry_of"],
            int(row["longest"]) if row["longest"] else None,
            row["is_number"] == "yes",
            row["example"],
            tuple(row["aliases"].split()),
        )
    for setting in others.values():
        yield Column(
            setting.column,
            setting.label,
            setting.meaning + (f" {', '.join(v.name for v in setting.values)}." if setting.is_closed else ""),
            example="16384" if setting.is_bytes else setting.values[0].name if setting.values else "",
            aliases=tuple({fold_header(setting.axis), fold_header(setting.label)} - {fold_header(setting.column)}),
        )


COLUMNS = tuple(_columns())
FIELDS = {column.name: column for column in COLUMNS}
NUMERIC = frozenset(column.name for column in COLUMNS if column.is_number)
IGNORED = "ignore"  # declared of a column that shall not be imported
# A header that names a metric is a column of values, and may have their unit in brackets.
METRIC_HEADERS = {
    "throughput": "throughput",
    "bandwidth": "throughput",
    "iops": "operation_rate",
    "operationrate": "operation_rate",
    "latency": "latency",
}
UNIT_SPELLINGS = {unit.casefold(): unit for unit in UNITS} | {"iops": "ops/s"}

MAX_HEADER = 200  # characters of one header cell

_UNIT_IN_HEADER = re.compile(r"[\[(]([^\])]{1,12})[\])]$")
_OF_ELBENCHO = ("first", "last")  # "IOPS [last]" of its CSV, which has a reader of its own
_MACHINES = re.compile(r"^(\d{1,5}) ?(?:vms?|guests?|virtual machines?)$")
_RUN = re.compile(r"^(?:run|repetition|rep|iteration) ?#?(\d{1,6})$")


ALIASES = {
    spelling: column.name
    for column in COLUMNS
    for spelling in (fold_header(column.name), *map(fold_header, column.aliases))
} | {"pair": "pair", "fspair": "pair", "filesystempair": "pair", "parameters": "parameters"}


def is_column_role(name: str) -> bool:
    """Tell whether this is something that a user may declare a column to be."""
    return name in (*FIELDS, "pair", IGNORED) or (name.startswith(PARAMETER) and len(name) > len(PARAMETER))


@dataclass(frozen=True)
class Header:
    """The meaning of one header cell.

    name : field the cells belong to; "value" for a wide column, whose cells are values of their own row
    unit, metric : given by the header, else ""
    vm_count, repetition : of a wide column, else ""
    """

    name: str
    unit: str = ""
    metric: str = ""
    vm_count: str = ""
    repetition: str = ""

    @property
    def is_wide(self) -> bool:
        return bool(self.vm_count or self.repetition)


class UnknownHeader(ValueError):  # noqa: N818 - becomes a fault
    """The header is of no column; the text says what is expected.

    is_value : it names a known metric, in an unknown unit
    """

    def __init__(self, expected: str, *, is_value: bool = False) -> None:
        super().__init__(expected)
        self.is_value = is_value


def parse_header(text: str) -> Header:
    """Parse a header cell. Raises UnknownHeader."""
    unit, bare = "", text.strip()
    if len(bare) > MAX_HEADER:
        raise UnknownHeader(f"at most {MAX_HEADER} characters, not {len(bare):,}")
    if match := _UNIT_IN_HEADER.search(bare):
        before, bracket = bare[: match.start()].rstrip(), match[1].strip()
        unit = UNIT_SPELLINGS.get(bracket.casefold(), "") if bracket.casefold() != "mb/s" or bracket == "MB/s" else ""
        if unit:
            bare = before
        elif "/" in bracket or (fold_header(before) in METRIC_HEADERS and bracket not in _OF_ELBENCHO):
            raise UnknownHeader(f"a unit among {', '.join(UNITS)}", is_value=fold_header(before) in METRIC_HEADERS)
    if bare.casefold().startswith(PARAMETER):
        return Header(PARAMETER + bare[len(PARAMETER) :].strip())
    if machines := _MACHINES.match(bare.casefold()):
        return Header("value", unit, vm_count=str(int(machines[1])))
    if bare.casefold() in ("native", "bare metal"):
        return Header("value", unit, vm_count="0")
    if run := _RUN.match(bare.casefold()):
        return Header("value", unit, repetition=str(int(run[1])))
    folded = fold_header(bare)
    if folded in METRIC_HEADERS:
        metric = METRIC_HEADERS[folded]
        return Header("value", unit or ("ops/s" if folded == "iops" else ""), metric)
    if folded in ALIASES:
        return Header(ALIASES[folded], unit)
    raise UnknownHeader(f"one of {', '.join(FIELDS)}, {PARAMETER}<name>, or like 2 VMs, Run 1")
