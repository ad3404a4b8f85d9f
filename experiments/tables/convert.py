"""Turn a published table and its conditions into rows of the template. No database, no Django.

What a cell may hold: 123.4, 1,234, 145K, 1.2 GB/s, 120-140 (its middle, with least and greatest), 120 ± 5, ~500, 85 %
of a stated row, +12 % against it; n/a or a dash was not measured. Everything that is wrong is an error with line and
column, and stops no other row.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from experiments.entry_names import NATIVE, fold
from experiments.imports.normalise import CONFIGURATION, HOST, LINE
from experiments.readers.table import NOT_MEASURED
from experiments.readers.table_columns import FIELDS, IGNORED, METRIC_HEADERS, UnknownHeader, meaning
from kdb.disk_path import bytes_of
from kdb.units import METRICS, PREFIXES, UNITS, SpelledUnit, spelled_unit

from .conditions import Conditions, LeftOutRows
from .plain import PlainTable

MAX_ROWS = 20_000  # that a table becomes: what others print is short
MAX_ERRORS = 200
LONGEST_NUMBER = 120  # characters of a cell with a number

IN_RANGE = "The middle of the printed range."
ABOUT = "Printed as about that."
_OF_THE_VALUE = ("standard_deviation", "minimum", "maximum", "alternative_value")
_SIZES = ("block_size_bytes", "working_set_bytes")
_ONLY_VIRTUAL = frozenset((*CONFIGURATION, "vm_count")) - {*HOST, "hypervisor", "configuration"}
_BESIDE = ("note", "source", "value", *_OF_THE_VALUE, "repetitions")  # columns that make no row another one


@dataclass(frozen=True)
class LeftOut:
    """One row of the table that is not taken, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class Wrong:
    """One thing that cannot be as it is. line : the first, None where it is not about rows; more : further lines

    column : heading
    """

    line: int | None
    column: str
    found: str
    allowed: str
    more: int = 0

    def __str__(self) -> str:
        lines = f"line {self.line}{f' and {self.more} more' if self.more else ''}" if self.line else ""
        place = ", ".join(filter(None, [lines, self.column]))
        return f"{place}: found {self.found or 'nothing'}, allowed is {self.allowed}"


@dataclass
class Converted:
    """The rows that a table becomes: columns of the template, and LINE; what was left out, and what is wrong."""

    rows: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    left_out: list[LeftOut] = field(default_factory=list)
    errors: list[Wrong] = field(default_factory=list)


class _Found(Exception):  # noqa: N818 - becomes a Wrong
    """The column, what was found in it, and what is allowed."""


@dataclass(frozen=True)
class _Heading:
    """One column of the table. said : columns of the template that it says of its numbers; words : of the table

    name : the column of the template that its cells are, "" where only its words say something
    """

    at: int
    text: str
    name: str
    said: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    percent_of: Mapping[str, str] = field(default_factory=dict)


def convert(table: PlainTable, conditions: Conditions) -> Converted:
    """Return the rows of the template that the table is under these conditions."""
    converted = Converted()
    headings = list(_headings(table, conditions, converted.errors))
    if not any(heading.name == "value" for heading in headings):
        allowed = "a column of numbers: one that is called value, or one under [values]"
        converted.errors.append(Wrong(None, "header", ", ".join(table.header)[:80], allowed))
    if converted.errors:
        return converted
    _Table(table, conditions, headings, converted).read()
    _name_configurations(converted.rows)
    return converted


# Headings


def _headings(table: PlainTable, conditions: Conditions, errors: list[Wrong]) -> Iterator[_Heading]:
    """Yield the columns that say something; what is wrong with the others goes to the errors."""
    header = [_plain(text) for text in table.header]
    for text in dict.fromkeys(header):
        if header.count(text) > 1 and text:
            errors.append(Wrong(None, text, f"this heading {header.count(text)} times", "each heading once"))
    told = {**dict.fromkeys(conditions.columns, "columns"), **dict.fromkeys(conditions.values, "values")}
    told |= {heading: f"where of leave_out: {rows.reason}" for rows in conditions.leave_out for heading in rows.where}
    told |= {heading: "words" for heading in conditions.words if heading not in FIELDS}
    for heading, section in told.items():
        if _plain(heading) not in header:
            errors.append(Wrong(None, section, heading, f"a heading of the table: {', '.join(header)}"))
    values = {_plain(heading): fields for heading, fields in conditions.values.items()}
    columns = {_plain(heading): name for heading, name in conditions.columns.items()}
    for at, text in enumerate(header):
        words = conditions.words.get(table.header[at], conditions.words.get(text, {}))
        if text in values:
            fields = {name: value for name, value in values[text].items() if name != "percent_of"}
            yield _Heading(at, text, "value", fields, percent_of=values[text].get("percent_of", {}))
            continue
        if (name := columns.get(text, "")) == IGNORED or not (text or words):
            continue
        fields = {}
        if not name:
            try:
                name, fields = _meaning(text)
            except UnknownHeader as unknown:
                if not words:
                    allowed = f"{unknown}; or say what it holds under [columns], [values] or [words]"
                    errors.append(Wrong(None, text, "this heading", allowed))
                    continue
        words = words or conditions.words.get(name, {})
        yield _Heading(at, text, name, fields, {_plain(word).casefold(): given for word, given in words.items()})


def _plain(text: str) -> str:
    return " ".join(text.split())


def _meaning(text: str) -> tuple[str, dict[str, str]]:
    """Return the column of the template that a heading names, and what it says of its numbers. Raises UnknownHeader."""
    try:
        header = meaning(text)
    except UnknownHeader:
        bracket = re.fullmatch(r"([^(\[]{1,100}?) ?[(\[]([^)\]]{1,20})[)\]]", text)
        if bracket is None or (unit := spelled_unit(bracket[2])) is None or fold(bracket[1]) not in METRIC_HEADERS:
            raise
        return "value", {"unit": bracket[2]} | ({"metric": unit.metric} if fold(bracket[1]) == "latency" else {})
    fields = {
        "unit": header.unit,
        "metric": header.metric,
        "vm_count": header.vm_count,
        "repetition": header.repetition,
    }
    if header.vm_count == "0":
        fields["hypervisor"] = "native"
    return header.name, {name: value for name, value in fields.items() if value}


# Rows


class _Table:
    """One table under its conditions, while its rows are read."""

    def __init__(
        self, table: PlainTable, conditions: Conditions, headings: Sequence[_Heading], converted: Converted
    ) -> None:
        self.table, self.conditions, self.converted = table, conditions, converted
        self.settings = [heading for heading in headings if heading.name != "value"]
        self.values = [heading for heading in headings if heading.name == "value"]
        self.header = {_plain(text): at for at, text in enumerate(table.header)}
        self.left_out_by_line = {line: rows for rows in conditions.leave_out for line in rows.lines}
        self.bases: dict[str, dict[tuple[str, ...], list[str]]] = {}

    def read(self) -> None:
        used: set[int] = set()
        for line, cells in zip(self.table.lines, self.table.rows, strict=True):
            rows = self.is_left_out(line, cells)
            if rows is not None:
                used.add(id(rows))
                self.converted.left_out.append(LeftOut(line, rows.reason))
                continue
            try:
                self.row(line, [_plain(cell) for cell in cells])
            except _Found as problem:
                self.wrong(line, problem)
            if len(self.converted.errors) >= MAX_ERRORS or len(self.converted.rows) > MAX_ROWS:
                allowed = f"at most {MAX_ROWS:,} rows and fewer than {MAX_ERRORS} errors"
                self.converted.errors.append(Wrong(line, "table", "more", f"{allowed}; the rest was not read"))
                return
        there = set(self.table.lines)
        for rows in self.conditions.leave_out:
            if id(rows) not in used or not there.issuperset(rows.lines):
                shown = ", ".join(map(str, rows.lines or rows.where.values()))
                self.converted.errors.append(Wrong(None, f"leave_out: {rows.reason}", shown, "rows that the table has"))

    def wrong(self, line: int, problem: _Found) -> None:
        self.converted.errors.append(Wrong(line, *problem.args))

    def is_left_out(self, line: int, cells: Sequence[str]) -> LeftOutRows | None:
        if line in self.left_out_by_line:
            return self.left_out_by_line[line]
        return next(
            (rows for rows in self.conditions.leave_out if rows.where and self.is_where(rows.where, cells)), None
        )

    def is_where(self, where: Mapping[str, str], cells: Sequence[str]) -> bool:
        return all(
            _plain(cells[at]).casefold() == _plain(word).casefold()
            for heading, word in where.items()
            if (at := self.header[_plain(heading)]) < len(cells)
        )

    def row(self, line: int, cells: list[str]) -> None:
        """Take the measurements of one row in. Raises _Found where none of it can be."""
        width = len(self.table.header)
        if any(cells[width:]):
            raise _Found("row", f"{len(cells)} cells", f"at most {width}, as the header has")
        cells += [""] * (width - len(cells))
        fields = self.fields(cells)
        is_measured = False
        for heading in self.values:
            if cells[heading.at].casefold() in NOT_MEASURED:
                continue
            is_measured = True
            try:
                self.converted.rows.append({LINE: str(line), **self.measurement(heading, cells, fields)})
            except _Found as problem:
                self.wrong(line, problem)
        if not is_measured:
            self.converted.left_out.append(LeftOut(line, "not measured"))

    def fields(self, cells: Sequence[str]) -> dict[str, str]:
        """Return what the row's cells say, by column of the template. Raises _Found."""
        fields: dict[str, str] = {}
        for heading in self.settings:
            cell = cells[heading.at]
            given = heading.words.get(cell.casefold())
            if given is None:
                if not cell:
                    continue
                if not heading.name:
                    allowed = f"one of its words under [words]: {', '.join(heading.words)}"[:400]
                    raise _Found(heading.text, cell[:80], allowed)
                given = _pair(heading.text, cell) if heading.name == "pair" else {heading.name: cell}
            elif heading.name == "configuration":
                given = {"configuration": cell, **given}
            for name, value in given.items():
                if fields.setdefault(name, value) != value:
                    allowed = f"{fields[name]}, as another column says of {name}"
                    raise _Found(heading.text, value, allowed)
        return fields

    def measurement(self, heading: _Heading, cells: Sequence[str], fields: Mapping[str, str]) -> dict[str, str]:
        """Return one number with what is known of it. Raises _Found."""
        row = {**fields, **heading.said}
        is_native = fold(row.get("hypervisor") or self.conditions.everywhere.get("hypervisor", "")) in NATIVE
        for name, value in self.conditions.everywhere.items():
            if not (is_native and name in _ONLY_VIRTUAL):
                row.setdefault(name, value)
        number = _number(heading.text, cells[heading.at], row.get("unit", ""), self.conditions.decimal)
        if number.is_percent:
            number = self.of_base(heading, cells, number, row)
        assert number.unit is not None
        for name in _OF_THE_VALUE:
            if row.get(name):
                more = _number(name, row[name], row.get("unit", ""), self.conditions.decimal, or_zero=True)
                row[name] = _printed(more.value)
        row |= {name: value for name, value in number.columns().items() if value}
        if metric := row.get("metric"):
            _into_unit_of(metric, row, heading.text)
        elif number.unit.metric != UNITS[number.unit.unit][0]:
            row["metric"] = number.unit.metric
        if number.notes:
            row["note"] = " ".join(filter(None, [*number.notes, row.get("note", "")]))
        for name in _SIZES:
            if (size := row.get(name, "")) and not size.isdigit():
                if (size_bytes := bytes_of(size)) is None:
                    raise _Found(name, size[:80], "a size such as 4096, 4k or 1 MiB")
                row[name] = str(size_bytes)
        return {name: value for name, value in row.items() if value}

    def of_base(self, heading: _Heading, cells: Sequence[str], number: "_Number", row: Mapping[str, str]) -> "_Number":
        """Return a percentage as the number it means. Raises _Found."""
        if not heading.percent_of:
            if not row.get("reference"):
                allowed = "percent_of: the row that it is a percentage of; or reference: in words what it is of"
                raise _Found(heading.text, cells[heading.at][:80], allowed)
            return number.times(1.0, SpelledUnit("ratio", 1.0, "relative"))
        key = self.key(heading.percent_of, cells)
        if heading.text not in self.bases:
            self.bases[heading.text] = {
                self.key(heading.percent_of, plain): plain
                for plain in ([_plain(cell) for cell in other] for other in self.table.rows)
                if self.is_where(heading.percent_of, plain)
            }
        base = self.bases[heading.text].get(key)
        if base is None:
            shown = ", ".join(heading.percent_of.values())
            raise _Found(heading.text, cells[heading.at][:80], f"a row of {shown} that agrees in all else")
        unit = heading.said.get("unit", "")
        of = _number(heading.text, base[heading.at], "" if unit == "%" else unit, self.conditions.decimal)
        if of.unit is None or of.is_percent:
            raise _Found(heading.text, base[heading.at][:80], "a number with its unit, in the row of which others are")
        return number.times(of.value, of.unit)

    def key(self, where: Mapping[str, str], cells: Sequence[str]) -> tuple[str, ...]:
        """Return the cells in which a row and its base agree."""
        apart = {_plain(heading) for heading in where}
        return tuple(
            cells[heading.at] if heading.at < len(cells) else ""
            for heading in self.settings
            if heading.text not in apart and heading.name not in _BESIDE
        )


def _pair(column: str, cell: str) -> dict[str, str]:
    guest, on, host = cell.partition("-on-") if "-on-" in cell else cell.partition(" on ")
    if not on:
        raise _Found(column, cell[:80], "a pair of file systems, guest first, like xfs-on-ext4")
    return {"guest_fs": guest.strip(), "host_fs": host.strip()}


# Numbers

_NUMBER = r"\d{1,20}(?:[.,']\d{1,20}){0,8}(?:[eE][+-]?\d{1,3})?"
_CELL = re.compile(
    rf"(?P<about>~|≈|about |approx\. ?|ca\. ?)?(?P<sign>[+-]|−)? ?(?P<low>{_NUMBER})(?P<low_prefix>[kKMGT]?)"
    rf"(?:(?P<own_space> ?)(?P<own>[A-Za-zµμ%/]{{1,12}}))?"
    rf"(?:(?: ?(?:-|–|—|\.\.\.?|…|to) ?)(?P<high>{_NUMBER})(?P<high_prefix>[kKMGT]?))?"
    rf"(?: ?(?:±|\+/-|\+-) ?(?P<deviation>{_NUMBER})(?P<deviation_prefix>[kKMGT]?)(?P<deviation_percent> ?%)?)?"
    r"(?P<space> ?)(?P<unit>\D.{0,20})?"
)
_ALLOWED_NUMBER = "a number such as 123.4, 145K, 1.2 GB/s, 120-140 or 120 ± 5; n/a for none"


@dataclass(frozen=True)
class _Number:
    """A cell of numbers. is_percent : value is the share of something, 0.85 of 85 % and 1.12 of +12 %"""

    value: float
    unit: SpelledUnit | None
    minimum: float | None = None
    maximum: float | None = None
    deviation: float | None = None
    is_percent: bool = False
    notes: tuple[str, ...] = ()
    text: str = ""  # as it was printed, where it needs no reckoning

    def times(self, base: float, unit: SpelledUnit) -> "_Number":
        def of(number: float | None) -> float | None:
            return None if number is None else number * base

        spread = (of(self.minimum), of(self.maximum), of(self.deviation))
        return _Number(self.value * base, unit, *spread, notes=self.notes)

    def columns(self) -> dict[str, str]:
        assert self.unit is not None
        return {
            "value": self.text or _printed(self.value),
            "unit": self.unit.unit,
            "minimum": _printed(self.minimum),
            "maximum": _printed(self.maximum),
            "standard_deviation": _printed(self.deviation),
        }


def _number(column: str, cell: str, unit_said: str, decimal: str, *, or_zero: bool = False) -> _Number:
    """Return the number in a cell, in the unit that it or its column says. Raises _Found."""
    match = _CELL.fullmatch(cell) if len(cell) <= LONGEST_NUMBER else None
    if match is None:
        bound = "; a bound is no value: leave the row out, or say it in words" if cell[:1] in "<>≤≥" else ""
        raise _Found(column, cell[:80], f"{_ALLOWED_NUMBER}{bound}")
    own, space = match["own"] or "", match["own_space"]
    if (last := (match["unit"] or "").strip()) and last != own:
        if own and (match["high"] or match["deviation"]):
            raise _Found(column, cell[:80], "one unit for all of a cell")
        own, space = f"{own} {last}".strip(), space if own else match["space"]
    prefix = match["high_prefix"] or match["low_prefix"]
    if own in PREFIXES and own:  # "145 K"
        prefix, own = own, ""
    elif own and not space and prefix and own != "%":  # "1.2GB/s"
        own, prefix = prefix + own, ""
    is_percent = own == "%" or (unit_said == "%" and not own)
    if match["sign"] and not is_percent:
        raise _Found(column, cell[:80], "a number above zero")
    unit = None if is_percent else spelled_unit(own or unit_said)
    if unit is None and not is_percent:
        allowed = f"one of {', '.join(UNITS)}, with a prefix or without, like GB/s, kIOPS or ns"
        raise _Found("unit", own or unit_said, allowed)

    def reckon(name: str) -> float | None:
        if not match[name]:
            return None
        letter = prefix if name in ("low", "high") else match["deviation_prefix"] or prefix
        number = _plain_number(column, match[name], decimal)
        return number * PREFIXES[letter] * (unit.factor if unit else 0.01)

    low, high = reckon("low"), reckon("high")
    assert low is not None
    if match["sign"]:
        low = 1 + (-low if match["sign"] != "+" else low)
        high = None
    if high is not None and low > high:
        low, high = high, low
    value = low if high is None else (low + high) / 2
    deviation = reckon("deviation")
    if deviation is not None and match["deviation_percent"] and not is_percent:
        deviation = value * _plain_number(column, match["deviation"], decimal) / 100
    if not (value > 0 or (value == 0 and or_zero)) or value == float("inf"):
        raise _Found(column, cell[:80], "a number above zero")
    is_as_printed = cell == match["low"] and decimal == "." and "," not in cell and "'" not in cell
    return _Number(
        value,
        unit,
        minimum=None if high is None else low,
        maximum=high,
        deviation=deviation,
        is_percent=is_percent,
        notes=tuple(filter(None, [IN_RANGE if high is not None else "", ABOUT if match["about"] else ""])),
        text=cell if is_as_printed and unit is not None and unit.factor == 1 else "",
    )


def _plain_number(column: str, text: str, decimal: str) -> float:
    """Return the number of "1,234.5", or with a decimal comma of "1.234,5". Raises _Found."""
    thousands = "," if decimal == "." else "."
    whole, _, rest = text.partition(decimal)
    groups = re.split(rf"[{thousands}']", whole)
    is_grouped = len(groups) == 1 or (len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
    if thousands in rest or decimal in rest or not is_grouped:
        raise _Found(
            column, text, f'a number with "{decimal}" before its decimals; say decimal = "," for the other one'
        )
    return float("".join(groups) + ("." + rest if rest else ""))


def _printed(number: float | None) -> str:
    """Return a number as text, without the traces of binary arithmetic."""
    return "" if number is None else repr(float(f"{number:.12g}")).removesuffix(".0")


def _into_unit_of(metric: str, row: dict[str, str], column: str) -> None:
    """Bring a time into the unit of its metric: a duration that is printed in ms, a latency in s."""
    if metric not in METRICS:
        raise _Found("metric", metric[:80], f"one of {', '.join(METRICS)}")
    factors = {("ms", "s"): 1e-3, ("us", "s"): 1e-6, ("s", "ms"): 1e3}
    if factor := factors.get((row["unit"], METRICS[metric].unit)):
        for name in ("value", *_OF_THE_VALUE):
            if row.get(name):
                row[name] = _printed(float(row[name]) * factor)
        row["unit"] = METRICS[metric].unit


# Names of configurations


def _name_configurations(rows: Sequence[dict[str, str]]) -> None:
    """Name each configuration after its hypervisor, its file systems, and what differs from row to row."""
    if any(row.get("configuration") for row in rows):
        return
    names = [name for name in CONFIGURATION if name != "configuration"]
    differ = {name for name in names if len({row.get(name, "") for row in rows}) > 1}
    slugs: dict[tuple[str, ...], str] = {}
    numbers: Counter[str] = Counter()
    taken: set[str] = set()
    for row in rows:
        values = tuple(row.get(name, "") for name in names)
        if not row.get("hypervisor"):
            continue
        if values not in slugs:
            always = ("hypervisor", "guest_fs", "backend", "host_fs")
            words = " ".join(row.get(name, "") for name in [*always, *(n for n in names if n in differ - {*always})])
            stem = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:70].strip("-")
            numbers[stem] += 1
            while (slug := _numbered(stem, numbers[stem])) in taken:
                numbers[stem] += 1
            slugs[values] = slug
            taken.add(slug)
        row["configuration"] = slugs[values]


def _numbered(stem: str, number: int) -> str:
    return stem if number == 1 else f"{stem}-{number}"
