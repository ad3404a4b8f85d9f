"""Turn a published table and its conditions into rows of the template. No database, no Django.

experiments.rules.number_grammar reads the numbers; n/a or a dash was not measured. Each error names line and column;
the other rows are still read.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from experiments.imports.normalise import CONFIGURATION, HOST, LINE
from experiments.readers.table import NOT_MEASURED, Fault, pair_in
from experiments.readers.table_columns import FIELDS, IGNORED, METRIC_HEADERS, UnknownHeader, parse_header
from experiments.rules.entry_names import NATIVE, fold
from experiments.rules.number_grammar import PrintedNumber, WrongValue, number_text, printed_number
from kdb.disk_path import bytes_of
from kdb.units import METRICS, UNITS, SpelledUnit, spelled_unit

from .conditions import Conditions, LeftOutRows
from .parsing import PlainTable
from .suggestions import parameter_in, unit_in

MAX_ROWS = 20_000  # that a table becomes: what others print is short
MAX_ERRORS = 200
_SPREAD = ("standard_deviation", "minimum", "maximum", "alternative_value")
_SIZES = ("block_size_bytes", "working_set_bytes")
_ONLY_VIRTUAL = frozenset((*CONFIGURATION, "vm_count")) - {*HOST, "hypervisor", "configuration"}
_RESULTS = ("note", "source", "value", *_SPREAD, "repetitions")  # these do not tell rows apart


@dataclass(frozen=True)
class LeftOut:
    """One row of the table that is not taken, and why."""

    line: int
    reason: str


@dataclass
class Converted:
    """The rows that a table becomes (columns of the template, and LINE), what was left out, and what is wrong."""

    rows: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    left_out: list[LeftOut] = field(default_factory=list)
    errors: list[Fault] = field(default_factory=list)


@dataclass(frozen=True)
class _Heading:
    """One column of the table, with what its heading and the conditions say of it.

    name : the column of the template that its cells are; "" where only `words` give them a meaning
    fields : columns of the template that hold for all its cells; words : word of a cell to columns of the template
    percent_of : heading to word, of the row that percentages refer to
    """

    at: int
    text: str
    name: str
    fields: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    percent_of: Mapping[str, str] = field(default_factory=dict)


def convert(table: PlainTable, conditions: Conditions) -> Converted:
    """Return the rows of the template that the table is under these conditions."""
    converted = Converted()
    headings = list(_headings(table, conditions, converted.errors))
    if not any(heading.name == "value" for heading in headings):
        allowed = "a column of numbers: one that is called value, or one under [values]"
        converted.errors.append(Fault(None, "header", ", ".join(table.header)[:80], allowed))
    if converted.errors:
        return converted
    _TableReader(table, conditions, headings, converted).read()
    _name_configurations(converted.rows)
    return converted


# Headings


def _headings(table: PlainTable, conditions: Conditions, errors: list[Fault]) -> Iterator[_Heading]:
    """Yield the columns that have a meaning; append to errors what is wrong with the others."""
    header = [_collapse_spaces(text) for text in table.header]
    for text in dict.fromkeys(header):
        if header.count(text) > 1 and text:
            errors.append(Fault(None, text, f"this heading {header.count(text)} times", "each heading once"))
    section_of = {**dict.fromkeys(conditions.columns, "columns"), **dict.fromkeys(conditions.values, "values")}
    section_of |= {
        heading: f"where of leave_out: {rows.reason}" for rows in conditions.leave_out for heading in rows.where
    }
    section_of |= {heading: "words" for heading in conditions.words if heading not in FIELDS}
    for heading, section in section_of.items():
        if _collapse_spaces(heading) not in header:
            errors.append(Fault(None, section, heading, f"a heading of the table: {', '.join(header)}"))
    values = {_collapse_spaces(heading): fields for heading, fields in conditions.values.items()}
    columns = {_collapse_spaces(heading): name for heading, name in conditions.columns.items()}
    for at, text in enumerate(header):
        words = conditions.words.get(table.header[at], conditions.words.get(text, {}))
        if text in values:
            fields = {name: value for name, value in values[text].items() if name != "percent_of"}
            if (unit := unit_in(text)) and "unit" not in conditions.everywhere:
                fields.setdefault("unit", unit)
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
                    errors.append(Fault(None, text, "this heading", allowed))
                    continue
        words = words or conditions.words.get(name, {})
        yield _Heading(
            at, text, name, fields, {_collapse_spaces(word).casefold(): given for word, given in words.items()}
        )


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


def _meaning(text: str) -> tuple[str, dict[str, str]]:
    """Return the column of the template that a heading names, and fields of its numbers. Raises UnknownHeader."""
    try:
        header = parse_header(text)
    except UnknownHeader:
        bracket = re.fullmatch(r"([^(\[]{1,100}?) ?[(\[]([^)\]]{1,20})[)\]]", text)
        if bracket is None or (unit := spelled_unit(bracket[2])) is None or fold(bracket[1]) not in METRIC_HEADERS:
            raise
        return "value", {"unit": bracket[2]} | ({"metric": unit.metric} if fold(bracket[1]) == "latency" else {})
    fields = {name: getattr(header, name) for name in ("unit", "metric", "vm_count", "repetition")}
    if header.vm_count == "0":
        fields["hypervisor"] = "native"
    return header.name, {name: value for name, value in fields.items() if value}


# Rows


class _TableReader:
    """Reads the rows of one table under its conditions, into `converted`."""

    def __init__(
        self, table: PlainTable, conditions: Conditions, headings: Sequence[_Heading], converted: Converted
    ) -> None:
        self.table, self.conditions, self.converted = table, conditions, converted
        self.settings = [heading for heading in headings if heading.name != "value"]
        self.values = [heading for heading in headings if heading.name == "value"]
        self.header = {_collapse_spaces(text): at for at, text in enumerate(table.header)}
        self.left_out_by_line = {line: rows for rows in conditions.leave_out for line in rows.lines}
        self.bases: dict[str, dict[tuple[str, ...], list[str]]] = {}
        self.ignored = [
            (at, text) for text, at in self.header.items() if conditions.columns.get(table.header[at]) == IGNORED
        ]
        # Settings of a number to the heading and the ignored cells of the first that has them.
        self.first_of: dict[frozenset[tuple[str, str]], tuple[str, list[str]]] = {}

    def read(self) -> None:
        used: set[int] = set()
        for line, cells in zip(self.table.lines, self.table.rows, strict=True):
            rows = self.left_out_rule(line, cells)
            if rows is not None:
                used.add(id(rows))
                self.converted.left_out.append(LeftOut(line, rows.reason))
                continue
            try:
                self.read_row(line, [_collapse_spaces(cell) for cell in cells])
            except WrongValue as problem:
                self.add_error(line, problem)
            if len(self.converted.errors) >= MAX_ERRORS or len(self.converted.rows) > MAX_ROWS:
                allowed = f"at most {MAX_ROWS:,} rows and fewer than {MAX_ERRORS} errors"
                self.converted.errors.append(Fault(line, "table", "more", f"{allowed}; the rest was not read"))
                return
        table_lines = set(self.table.lines)
        for rows in self.conditions.leave_out:
            if id(rows) not in used or not table_lines.issuperset(rows.lines):
                shown = ", ".join(map(str, rows.lines or rows.where.values()))
                self.converted.errors.append(Fault(None, f"leave_out: {rows.reason}", shown, "rows that the table has"))

    def add_error(self, line: int, problem: WrongValue) -> None:
        self.converted.errors.append(Fault(line, *problem.args))

    def left_out_rule(self, line: int, cells: Sequence[str]) -> LeftOutRows | None:
        if line in self.left_out_by_line:
            return self.left_out_by_line[line]
        return next(
            (rows for rows in self.conditions.leave_out if rows.where and self.matches(rows.where, cells)), None
        )

    def matches(self, where: Mapping[str, str], cells: Sequence[str]) -> bool:
        return all(
            _collapse_spaces(cells[self.header[_collapse_spaces(heading)]]).casefold()
            == _collapse_spaces(word).casefold()
            for heading, word in where.items()
        )

    def read_row(self, line: int, cells: list[str]) -> None:
        """Convert the measurements of one row. Raises WrongValue where a setting of the row is wrong."""
        fields = self.read_fields(cells)
        is_measured = False
        for heading in self.values:
            if cells[heading.at].casefold() in NOT_MEASURED:
                continue
            is_measured = True
            try:
                row = self.read_measurement(heading, cells, fields)
                self.check_is_repetition(heading, cells, row)
                self.converted.rows.append({LINE: str(line), **row})
            except WrongValue as problem:
                self.add_error(line, problem)
        if not is_measured:
            self.converted.left_out.append(LeftOut(line, "not measured"))

    def read_fields(self, cells: Sequence[str]) -> dict[str, str]:
        """Return the settings in the row's cells, by column of the template. Raises WrongValue."""
        fields: dict[str, str] = {}
        for heading in self.settings:
            cell = cells[heading.at]
            given = heading.words.get(cell.casefold())
            if given is None:
                if not cell:
                    continue
                if not heading.name:
                    allowed = f"one of its words under [words]: {', '.join(heading.words)}"[:400]
                    raise WrongValue(heading.text, cell[:80], allowed)
                given = {heading.name: cell}
                if heading.name == "pair":
                    given = dict(zip(("guest_fs", "host_fs"), pair_in(heading.text, cell), strict=True))
            elif heading.name == "configuration":
                given = {"configuration": cell, **given}
            for name, value in given.items():
                if fields.setdefault(name, value) != value:
                    allowed = f"{fields[name]}, as another column says of {name}"
                    raise WrongValue(heading.text, value, allowed)
        return fields

    def read_measurement(self, heading: _Heading, cells: Sequence[str], fields: Mapping[str, str]) -> dict[str, str]:
        """Return the row of the template for one number. Raises WrongValue."""
        row = {**fields, **heading.fields}
        is_native = fold(row.get("hypervisor") or self.conditions.everywhere.get("hypervisor", "")) in NATIVE
        for name, value in self.conditions.everywhere.items():
            if not (is_native and name in _ONLY_VIRTUAL):
                row.setdefault(name, value)
        number = printed_number(heading.text, cells[heading.at], row.get("unit", ""), self.conditions.decimal)
        if number.unit is None:
            number = self.resolve_percentage(heading, cells, number, row)
        assert number.unit is not None
        for name in _SPREAD:
            if row.get(name):
                more = printed_number(name, row[name], row.get("unit", ""), self.conditions.decimal, or_zero=True)
                row[name] = number_text(more.value)
        row |= number.columns()
        if metric := row.get("metric"):
            _convert_to_unit_of(metric, row, heading.text)
        elif number.unit.metric != UNITS[number.unit.unit][0]:
            row["metric"] = number.unit.metric
        if number.notes:
            row["note"] = " ".join(filter(None, [*number.notes, row.get("note", "")]))
        for name in _SIZES:
            if (size := row.get(name, "")) and not size.isdigit():
                if (size_bytes := bytes_of(size)) is None:
                    raise WrongValue(name, size[:80], "a size such as 4096, 4k or 1 MiB")
                row[name] = str(size_bytes)
        return {name: value for name, value in row.items() if value}

    def check_is_repetition(self, heading: _Heading, cells: Sequence[str], row: Mapping[str, str]) -> None:
        """Raise WrongValue where only what is left unsaid tells a number from another: it is no repetition.

        Two columns of numbers differ by their headings, and two rows by the cells of columns that are ignored.
        """
        settings = frozenset((name, value) for name, value in row.items() if name not in _RESULTS)
        ignored = [cells[at] for at, _ in self.ignored]
        text, before = self.first_of.setdefault(settings, (heading.text, ignored))
        if text != heading.text:
            allowed = f'what tells it from "{text}": {_setting_of(heading.text)} or repetition = "2" under [values]'
            raise WrongValue(heading.text, "the same settings", allowed)
        for (_, column), cell, other in zip(self.ignored, ignored, before, strict=True):
            if cell != other:
                allowed = '"parameter NAME", "repetition" or "note" under [columns], as it tells equal rows apart'
                raise WrongValue(column, IGNORED, allowed)

    def resolve_percentage(
        self, heading: _Heading, cells: Sequence[str], number: PrintedNumber, row: Mapping[str, str]
    ) -> PrintedNumber:
        """Return a percentage as the number it means. Raises WrongValue."""
        if not heading.percent_of:
            if not row.get("reference"):
                allowed = "percent_of: the row that it is a percentage of; or reference: in words what it is of"
                raise WrongValue(heading.text, cells[heading.at][:80], allowed)
            return number.scaled_by(1.0, SpelledUnit("ratio", 1.0, "relative"))
        key = self.base_key(heading.percent_of, cells)
        if heading.text not in self.bases:
            self.bases[heading.text] = {
                self.base_key(heading.percent_of, plain): plain
                for plain in ([_collapse_spaces(cell) for cell in other] for other in self.table.rows)
                if self.matches(heading.percent_of, plain)
            }
        base = self.bases[heading.text].get(key)
        if base is None:
            shown = ", ".join(heading.percent_of.values())
            raise WrongValue(heading.text, cells[heading.at][:80], f"a row of {shown} that agrees in all else")
        unit = heading.fields.get("unit", "")
        of = printed_number(heading.text, base[heading.at], "" if unit == "%" else unit, self.conditions.decimal)
        if of.unit is None:
            raise WrongValue(
                heading.text, base[heading.at][:80], "a number with its unit, in the row of which others are"
            )
        return number.scaled_by(of.value, of.unit)

    def base_key(self, where: Mapping[str, str], cells: Sequence[str]) -> tuple[str, ...]:
        """Return the cells that a row has in common with the base of its percentages."""
        other = {_collapse_spaces(heading) for heading in where}
        return tuple(
            cells[heading.at] for heading in self.settings if heading.text not in other and heading.name not in _RESULTS
        )


def _setting_of(heading: str) -> str:
    """Return the line of conditions that a heading like "8 threads" stands for."""
    name, value = parameter_in(heading) or ("NAME", "...")
    return f'"parameter {name}" = "{value}"'


def _convert_to_unit_of(metric: str, row: dict[str, str], column: str) -> None:
    """Convert a time in place to its metric's unit: a duration printed in ms, or a latency in s."""
    if metric not in METRICS:
        raise WrongValue("metric", metric[:80], f"one of {', '.join(METRICS)}")
    factors = {("ms", "s"): 1e-3, ("us", "s"): 1e-6, ("s", "ms"): 1e3}
    if factor := factors.get((row["unit"], METRICS[metric].unit)):
        for name in ("value", *_SPREAD):
            if row.get(name):
                row[name] = number_text(float(row[name]) * factor)
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
            while (slug := stem if numbers[stem] == 1 else f"{stem}-{numbers[stem]}") in taken:
                numbers[stem] += 1
            slugs[values] = slug
            taken.add(slug)
        row["configuration"] = slugs[values]
