"""Tables of results: CSV (comma, semicolon or tab), XLSX, and JSON lines.

    hypervisor,host_fs,guest_fs,workload,benchmark,vm_count,value,unit
    kvm,ext4,xfs,varmail,filebench,1,85.4,MiB/s

Wide tables, as papers print them, have one column per VM count or run; each of their cells is a row:

    pair;workload;Throughput (MB/s) ...        or:   pair;workload;unit;1 VM;2 VMs;3 VMs;Native

A row is named cells of one measurement; experiments.imports.normalise decides what they mean. An empty cell of a wide
column, or one with a dash or "n/a", was not measured and gives no row. Rows are streamed. Nothing here raises on any
input: a line that is wrong is yielded as a Fault.
"""

import codecs
import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from experiments.rules.number_grammar import WrongValue
from kdb.csv_cells import unescaped
from kdb.pairs import LONGEST_PAIR, written_pair

from .archives import check_directory
from .table_columns import COLUMNS, FIELDS, IGNORED, MAX_HEADER, NUMERIC, PARAMETER, Header, UnknownHeader, parse_header

MAX_HEADER_LINES = 20  # title lines that may stand before the header
MAX_COLUMNS = 500
MAX_CELL = 10_000  # characters
MAX_LINE = 2**20  # of a CSV or a JSON line
MAX_INFLATED = 256 * 2**20  # bytes that an XLSX may unpack to
MAX_XLSX_ROWS = 200_000  # more are read from CSV, which is a hundred times quicker
MAX_XLSX_CELLS = 5_000_000
MAX_XLSX_TEXTS = 1_000_000  # of the table of shared strings: openpyxl makes an object of each, used or not
MAX_SHEETS = 50
LONGEST_SHOWN = 120
NOT_MEASURED = frozenset(("", "-", "–", "—", "x", "n/a", "na", "n.a.", "--", "not measured"))

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_MAYBE_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3}){1,5}", re.ASCII)
_XLSX_SIGN = b"PK\x03\x04"


@dataclass(frozen=True)
class Fault:
    """One thing that keeps a line, or the whole file, from being read. The texts may be shown to users.

    line : the first, None where it is not about lines; more : number of further lines
    """

    line: int | None
    field: str
    found: str
    expected: str
    more: int = 0

    def __str__(self) -> str:
        lines = f"line {self.line}{f' and {self.more} more' if self.more else ''}, " if self.line else ""
        return f"{lines}{self.field}: {self.difference}"

    @property
    def difference(self) -> str:
        return f"found {self.found or 'nothing'}, allowed is {self.expected}"


class Unfit(str):
    """What stands in a cell that holds neither a text nor a number: a date, an error, a list."""


Cell = str | int | float  # a number where the file has one in a column of numbers
Cells = tuple[Cell, ...]
Lines = Iterator[tuple[int, list[Any]] | Fault]  # of CSV texts, of XLSX a Cell each
ParseHeader = Callable[[str], Header]


@dataclass(frozen=True)
class Table:
    """One table. fields : names of the cells that rows() yields; with faults there are no rows.

    unknown : faults naming columns that are not of the template; the rows come without them
    """

    format: str
    fields: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    unknown: tuple[Fault, ...] = ()
    _rows: Callable[[], Iterator[tuple[int, Cells] | Fault]] = field(default=lambda: iter(()), repr=False)

    def rows(self) -> Iterator[tuple[int, Cells] | Fault]:
        """Return line and cells of each measurement, texts stripped, "" for an empty cell; streamed."""
        return iter(()) if self.faults else self._rows()


def recognises(data: bytes) -> bool:
    """Tell whether the file has a header, or a first JSON line, with names of the template. Never raises."""
    if data.startswith(_XLSX_SIGN):
        return _is_xlsx(data)
    text = _first_text(data)
    if _is_json(text):
        return _find_header(_json_lines(text), _plain_header) is not None
    return _find_header(_csv_lines(text, _delimiter(text)), parse_header) is not None


def read_table(data: bytes, columns: Mapping[str, str] | None = None) -> Table:
    """Return the table in a file that `recognises` knows. Never raises.

    columns : header that is not of the template, to field or IGNORED
    """
    columns = columns or {}
    if data.startswith(_XLSX_SIGN):
        return _read_xlsx(data, columns)
    text = _first_text(data)
    if _is_json(text):
        return _table("jsonl", lambda: _json_lines(_open_text(data)), columns, parse=_plain_header)
    delimiter = _delimiter(text)
    return _table("csv", lambda: _csv_lines(_open_text(data), delimiter), columns, decimal_comma=delimiter == ";")


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


# Shared by the three kinds: a header, and lines of cells


def _find_header(lines: Lines, parse: ParseHeader) -> tuple[int, int, list[str]] | None:
    """Return place, line and cells of the first that has a column of values and another one of the template.

    It is among the first MAX_HEADER_LINES.
    """
    for place, item in enumerate(islice(lines, MAX_HEADER_LINES)):
        if isinstance(item, Fault):
            return None
        line, cells = item[0], [as_text(cell) for cell in item[1]]
        known = set()
        for cell in cells[:MAX_COLUMNS]:
            try:
                known.add(parse(cell).name)
            except UnknownHeader as unknown:
                if unknown.is_value:
                    known.add("value")
        if "value" in known and len(known) > 1:
            return place, line, cells
    return None


def _table(
    kind: str,
    lines: Callable[[], Lines],
    columns: Mapping[str, str],
    *,
    parse: ParseHeader = parse_header,
    decimal_comma: bool = False,
) -> Table:
    header = _find_header(lines(), parse)
    if header is None:
        expected = "a header with a column of values and others of the template"
        return Table(kind, faults=(Fault(None, "header", "none", expected),))
    place, at, cells = header
    headers, faults, unknown = _headers(at, cells, columns, parse)
    if faults:
        return Table(kind, faults=tuple(faults), unknown=tuple(unknown))
    layout = _Layout(headers, decimal_comma)

    def rows() -> Iterator[tuple[int, Cells] | Fault]:
        width, repeated = len(cells), cells
        layout.find_decimal_comma(lines())
        for item in islice(lines(), place + 1, None):
            if isinstance(item, Fault):
                yield item
                continue
            line, raw_cells = item
            texts = raw_cells if kind == "csv" else [as_text(cell) for cell in raw_cells]
            if (longest := max(map(len, texts), default=0)) > MAX_CELL:
                at_cell = next(n for n, text in enumerate(texts) if len(text) > MAX_CELL)
                name = cells[at_cell][:LONGEST_SHOWN] if at_cell < width else f"cell {at_cell + 1}"
                yield Fault(line, name, f"{longest:,} characters", f"at most {MAX_CELL:,}")
            elif len(raw_cells) != width:
                yield Fault(line, "line", f"{len(raw_cells)} cells", f"{width}, as the header has")
            elif texts == repeated:
                yield Fault(line, "line", "the header once more", "a row")
            else:
                yield from layout.rows(line, raw_cells, texts)

    return Table(kind, layout.fields, (), tuple(unknown), rows)


def _headers(
    line: int, cells: list[str], columns: Mapping[str, str], parse: ParseHeader
) -> tuple[list[Header | None], list[Fault], list[Fault]]:
    """Return the meaning of each column (None: ignored), the faults, and the columns that are not of the template."""
    headers: list[Header | None] = []
    faults: list[Fault] = []
    unknown: list[Fault] = []
    if len(cells) > MAX_COLUMNS:
        return [], [Fault(line, "header", f"{len(cells)} columns", f"at most {MAX_COLUMNS}")], []
    for cell in cells:
        header = None
        if cell:
            try:
                header = _meaning(cell, columns, parse)
            except UnknownHeader as error:
                is_foreign = not error.is_value and _is_short(cell)
                (unknown if is_foreign else faults).append(
                    Fault(line, "header", cell if is_foreign else cell[:LONGEST_SHOWN], str(error))
                )
        headers.append(header)
    plain = [header.name for header in headers if header and not header.is_wide]
    faults += [
        Fault(line, "header", name, "each column once") for name in dict.fromkeys(plain) if plain.count(name) > 1
    ]
    wide = [header for header in headers if header and header.is_wide]
    for name in ("vm_count", "repetition"):
        if any(getattr(header, name) for header in wide) and name in plain:
            faults.append(Fault(line, "header", name, f"either a column {name} or a column for each"))
    if wide and "value" in plain:
        faults.append(Fault(line, "header", "value", "either a column of values or a column for each"))
    if {header.vm_count != "" for header in wide} == {True, False}:
        faults.append(
            Fault(line, "header", "machines and runs", "a column for each VM count or for each run, not both")
        )
    if "pair" in plain and {"guest_fs", "host_fs"} & set(plain):
        faults.append(Fault(line, "header", "pair", "either a pair or the two file systems"))
    has_unit = any(header and header.unit for header in headers)
    if has_unit and "unit" in plain:
        faults.append(Fault(line, "header", "unit", "either a column unit or the unit in the header of the values"))
    return headers, faults, list(dict.fromkeys(unknown))


def _is_short(header: str) -> bool:
    return 0 < len(header) <= MAX_HEADER


def _meaning(cell: str, columns: Mapping[str, str], parse: ParseHeader) -> Header | None:
    """Return what a header means, or is said to mean; None for a column to ignore. Raises UnknownHeader."""
    try:
        return parse(cell)
    except UnknownHeader as unknown:
        if unknown.is_value or cell not in columns:
            raise
        return None if columns[cell] == IGNORED else Header(columns[cell])


class _Layout:
    """Turns the cells of a line into one row, or several in a wide table."""

    def __init__(self, headers: list[Header | None], decimal_comma: bool) -> None:
        plain = [(index, header) for index, header in enumerate(headers) if header and not header.is_wide]
        self.wide = [(index, header) for index, header in enumerate(headers) if header and header.is_wide]
        self.pair_at = next((index for index, header in plain if header.name == "pair"), None)
        self.plain = [index for index, header in plain if header.name != "pair"]
        names = [header.name for _, header in plain if header.name != "pair"]
        self.names = [header.name if header else "" for header in headers]
        # Values that the header gives for all rows come after the cells.
        self.value = next((header for _, header in plain if header.name == "value"), None)
        stated = {"unit": self.value.unit, "metric": self.value.metric} if self.value else {}
        self.constants = {name: text for name, text in stated.items() if text and name not in names}
        if any(header.vm_count == "0" for _, header in self.wide) and "hypervisor" not in names:
            self.constants["hypervisor"] = ""  # a place for "native"
        extra: list[str] = ["guest_fs", "host_fs"] if self.pair_at is not None else []
        extra += self.constants
        if self.wide:
            extra += ["value", *(["vm_count"] if self.wide[0][1].vm_count else ["repetition"])]
            if any(header.unit for _, header in self.wide):
                extra.append("unit")
        self.fields = (*names, *extra)
        self.decimal = [n for n, name in enumerate(self.fields) if name in NUMERIC] if decimal_comma else []
        self.numeric_at = [
            n for n, header in enumerate(headers) if header and (header.is_wide or header.name in NUMERIC)
        ]
        self.first_comma: tuple[int, str] | None = None  # line and cell
        self.native_at = {name: self.fields.index(name) for name in ("hypervisor", "guest_fs") if name in self.fields}
        self.is_simple = not extra and not self.decimal and self.plain == list(range(len(headers)))
        self.is_numeric = [header is not None and header.name in NUMERIC for header in headers]

    def find_decimal_comma(self, lines: Lines) -> None:
        """Remember the first number with a decimal comma: in such a file 1.085 may mean a thousand."""
        if not self.decimal:
            return
        for item in lines:
            if isinstance(item, Fault):
                return
            line, cells = item
            for index in self.numeric_at:
                if index < len(cells) and _DECIMAL_COMMA.fullmatch(cells[index]):
                    self.first_comma = line, cells[index]
                    return

    def rows(self, line: int, raw_cells: list[Cell], texts: list[str]) -> Iterator[tuple[int, Cells] | Fault]:
        """Yield a line's rows. raw_cells : as in the file; texts : as texts, the same list where all are"""
        if not any(texts):
            return
        cells: Sequence[Cell] = texts
        if raw_cells is not texts:
            if unfit := [n for n, cell in enumerate(raw_cells) if isinstance(cell, Unfit) and self.names[n]]:
                yield Fault(line, self.names[unfit[0]], texts[unfit[0]][:LONGEST_SHOWN], "a text or a number")
                return
            triples = zip(raw_cells, texts, self.is_numeric, strict=True)
            cells = [raw if is_numeric else text for raw, text, is_numeric in triples]
        if self.is_simple:
            yield line, tuple(cells)
            return
        own = [cells[index] for index in self.plain]
        if self.pair_at is not None:
            try:
                own += pair_in("pair", texts[self.pair_at])
            except WrongValue as problem:
                yield Fault(line, *problem.args)
                return
        own += self.constants.values()
        if self.first_comma:
            at, comma = self.first_comma
            index = next((n for n in self.numeric_at if _MAYBE_THOUSANDS.fullmatch(texts[n])), None)
            if index is not None:
                expected = f"a number without a point, or a file without {comma} (line {at}): it may be a thousand"
                yield Fault(line, self.names[index], texts[index][:LONGEST_SHOWN], expected)
                return
        if not self.wide:
            yield line, self._with_decimal_points(own)
        for index, header in self.wide:
            if texts[index].casefold() not in NOT_MEASURED:
                row = [*own, cells[index], header.vm_count or header.repetition]
                if len(row) < len(self.fields):
                    row.append(header.unit)
                yield line, self._with_decimal_points(self._make_native(row) if header.vm_count == "0" else row)

    def _make_native(self, row: list[Cell]) -> list[Cell]:
        """Make the row native: a column "Native" is the bare machine, whatever the rest of its line says."""
        for name, text in (("hypervisor", "native"), ("guest_fs", "")):
            if name in self.native_at:
                row[self.native_at[name]] = text
        return row

    def _with_decimal_points(self, row: list[Any]) -> Cells:
        for index in self.decimal:
            if _DECIMAL_COMMA.fullmatch(row[index]):
                row[index] = row[index].replace(",", ".")
        return tuple(row)


def pair_in(field: str, cell: str) -> tuple[str, str]:
    """Return guest and host file system. Raises WrongValue."""
    try:
        return written_pair(cell)
    except ValueError:
        expected = f"like xfs-on-ext4, guest first, of at most {LONGEST_PAIR} characters"
        raise WrongValue(field, cell[:LONGEST_SHOWN] or "nothing", expected) from None


def as_text(cell: Cell) -> str:
    """Return a cell as a CSV file would have it."""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    return str(cell)


# CSV


def _encoding(data: bytes) -> str:
    """Return the encoding: UTF-16 by its mark, UTF-8 where all of it is, else Latin-1; read in parts, never copied."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), 2**20):
            decoder.decode(data[start : start + 2**20])
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _open_text(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), _encoding(data), errors="replace", newline="")


def _first_text(data: bytes) -> str:
    """Return the first 64 KiB as text, to recognise the format."""
    return _open_text(data[: 2**16]).read()


def _delimiter(text: str) -> str:
    """Return the most frequent delimiter of the first line that has any."""
    for line in text.splitlines()[:MAX_HEADER_LINES]:
        counts = {sign: line.count(sign) for sign in ",;\t"}
        if max(counts.values()):
            best = max(counts, key=counts.__getitem__)
            if counts[best] > 1 or "\t" in line or len(text) < 200:
                return best
    return ","


def _csv_lines(text: str | io.TextIOBase, delimiter: str) -> Lines:
    """Yield line number and stripped cells of each line that is neither empty nor a comment."""
    stream = io.StringIO(text, newline="") if isinstance(text, str) else text
    reader = csv.reader(_without_nul(stream), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells and not (cells[0].startswith("#") or (len(cells) == 1 and not cells[0].strip())):
                yield reader.line_num, [unescaped(cell.strip()) for cell in cells]
    except csv.Error as error:
        yield Fault(reader.line_num, "line", str(error), "cells as spreadsheets write them")


def _without_nul(stream: Any) -> Iterator[str]:
    for line in iter(lambda: stream.readline(MAX_LINE + 1), ""):
        if len(line) > MAX_LINE:
            raise csv.Error(f"more than {MAX_LINE:,} characters")
        yield line.replace("\0", "\ufffd") if "\0" in line else line


# JSON lines


def _plain_header(name: str) -> Header:
    """Parse a name in an object, which brings neither a unit nor a number of machines, as benchmarks name such figures
    themselves. Raises UnknownHeader."""
    with suppress(UnknownHeader):
        if (header := parse_header(name)) == Header(header.name) and header.name != "pair":
            return header
    raise UnknownHeader(f"one of {', '.join(FIELDS)}, parameters")


def _json_lines(text: str | io.TextIOBase) -> Lines:
    """Yield the names of the first object, then of each object its cells in their order, "" for a missing name."""
    stream = io.StringIO(text) if isinstance(text, str) else text
    names: list[str] = []
    expected, number = "", 0
    try:
        for number, line in enumerate(_without_nul(stream), start=1):
            if not line.strip():
                continue
            try:
                document = json.loads(line, object_pairs_hook=_mark_repeated_names)
            except (ValueError, RecursionError):
                document = None
            if not isinstance(document, dict):
                yield Fault(number, "line", line.strip()[:LONGEST_SHOWN], "one JSON object")
                continue
            if not names:
                names, expected = [*document], f"one of the first line: {', '.join(document)}"
                yield number, names
            if foreign := document.keys() - names:
                yield Fault(number, min(foreign)[:LONGEST_SHOWN], "this name", expected)
            else:
                yield number, [_json_cell(name, document.get(name)) for name in names]
    except csv.Error as error:
        yield Fault(number + 1, "line", str(error), "one JSON object")


def _mark_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a name that it has twice holds no value, because one of the two would be lost."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        values[name] = Unfit(f"{name[:LONGEST_SHOWN]} twice") if name in values else value
    return values


def _json_cell(name: str, value: Any) -> Cell:
    match value:
        case None:
            return ""
        case Unfit() | int() | float() if not isinstance(value, bool):
            return value
        case str():
            return value.strip()
        case dict() if name == "parameters" and _is_flat(value):
            return json.dumps(value, sort_keys=True)
    return Unfit(json.dumps(value)[:LONGEST_SHOWN])


def _is_flat(value: dict[str, Any]) -> bool:
    return all(isinstance(inner, str | int | float) and not isinstance(inner, Unfit) for inner in value.values())


# XLSX


def _is_xlsx(data: bytes) -> bool:
    try:
        check_directory("", data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except Exception:  # zipfile raises many kinds on what is no ZIP
        return False


def sheets(data: bytes) -> Iterator[tuple[str, Lines]]:
    """Yield name and lines of each sheet of a workbook; "" and a Fault where it cannot be read."""
    import openpyxl

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            fault = _workbook_fault(archive)
        if fault:
            yield "", iter((fault,))
            return
        with closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)) as book:
            for name in book.sheetnames[: MAX_SHEETS + 1]:
                yield name, _sheet_lines(book, name)
    except MemoryError:
        raise
    except Exception as error:  # whatever a broken or hostile workbook makes of openpyxl
        yield "", iter((_broken_workbook(error),))


def _broken_workbook(error: Exception) -> Fault:
    problem = f"{type(error).__name__}: {error}"[:LONGEST_SHOWN]
    return Fault(None, "workbook", problem, "a workbook that spreadsheets open")


def _read_xlsx(data: bytes, columns: Mapping[str, str]) -> Table:
    names, with_header = [], []
    for name, lines_of_sheet in sheets(data):
        names.append(name)
        start = [*islice(lines_of_sheet, MAX_HEADER_LINES)]
        if broken := [item for item in start if isinstance(item, Fault) and item.field == "workbook"]:
            return Table("xlsx", faults=(broken[0],))
        if _find_header(iter(start), parse_header) is not None:
            with_header.append(name)
    if len(names) > MAX_SHEETS:
        return _bad_workbook(f"more than {MAX_SHEETS} sheets", f"at most {MAX_SHEETS}")
    if len(with_header) != 1:
        listed = f"{len(with_header)} ({', '.join(with_header)})" if with_header else "none"
        return _bad_workbook(listed, "one sheet with a header of the template")

    def lines() -> Lines:
        for name, lines_of_sheet in sheets(data):
            if name in ("", with_header[0]):
                yield from lines_of_sheet
                return

    return _table("xlsx", lines, columns)


_ROW_OR_CELL = re.compile(rb"<(?:\w{1,20}:)?(?:(row)(?=[\s/>])|c(?=[\s/>]))")
_SHARED_TEXT = re.compile(rb"<(?:\w{1,20}:)?(?:si|r)(?=[\s/>])")  # and parts of one that look different
_ATTRIBUTES = re.compile(
    rb"(?:\s{1,20}[\w:.-]{1,60}\s{0,5}=\s{0,5}(?:\"[^\"<>]{0,200}\"|'[^'<>]{0,200}')){0,40}\s{0,20}/?>"
)
_ROW_NUMBER = re.compile(rb"\sr\s*=\s*[\"']([^\"']*)")


def _workbook_fault(archive: zipfile.ZipFile) -> Fault | None:
    """Return why a workbook is not read: too large, or rows too many, too far down or out of order.

    This is one pass before any parser, because openpyxl fills each gap with rows and silently drops rows out of order.
    """
    inflated = sum(entry.file_size for entry in archive.infolist())
    if inflated > MAX_INFLATED:
        return Fault(None, "workbook", f"{inflated:,} bytes when unpacked", f"at most {MAX_INFLATED:,}")
    cells = texts = 0
    for name in archive.namelist():
        if not name.endswith(".xml"):
            continue
        rows = last = 0
        text = archive.read(name)
        if b"\0" in text[:4] or text.startswith((b"\xff\xfe", b"\xfe\xff")):
            return Fault(None, "workbook", f"{name} in UTF-16", "UTF-8, as spreadsheets write it")
        texts += len(_SHARED_TEXT.findall(text))
        for match in _ROW_OR_CELL.finditer(text):
            if not match[1]:
                cells += 1
                continue
            rows += 1
            attributes = _ATTRIBUTES.match(text, match.end())
            if attributes is None:
                return Fault(rows, "workbook", "a row that no spreadsheet writes so", "short, plain attributes")
            number = _ROW_NUMBER.search(attributes[0])
            if number and not (number[1].isdigit() and len(number[1]) < 10):
                shown = number[1][:40].decode(errors="replace")
                return Fault(None, "workbook", f"a row numbered {shown!r}", "whole numbers of at most nine digits")
            row = int(number[1]) if number else last + 1
            if max(row, rows) > MAX_XLSX_ROWS:
                expected = f"at most row {MAX_XLSX_ROWS:,}: delete what stands below the table, or save it as CSV"
                return Fault(max(row, rows), "workbook", f"row {max(row, rows):,}", expected)
            if row <= last:
                return Fault(row, "workbook", f"row {row:,} below row {last:,}", "rows in their order, each once")
            last = row
    if texts > MAX_XLSX_TEXTS:
        return Fault(None, "workbook", f"{texts:,} shared texts", f"at most {MAX_XLSX_TEXTS:,}: save it as CSV")
    if cells > MAX_XLSX_CELLS:
        return Fault(None, "workbook", f"{cells:,} cells", f"at most {MAX_XLSX_CELLS:,}: save it as CSV")
    return None


def _bad_workbook(problem: str, expected: str) -> Table:
    return Table("xlsx", faults=(Fault(None, "workbook", problem, expected),))


def _sheet_lines(book: Any, name: str) -> Lines:
    try:
        yield from _rows(book[name])
    except MemoryError:
        raise
    except Exception as error:  # whatever a broken or hostile workbook makes of openpyxl
        yield _broken_workbook(error)


def _rows(sheet: Any) -> Lines:
    if not hasattr(sheet, "reset_dimensions"):  # a chart
        return
    sheet.reset_dimensions()  # the stated size of a sheet may be false
    width = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS + 1), start=1):
        if row.count(None) == len(row):
            continue
        used = next(n for n in range(len(row), 0, -1) if row[n - 1] is not None)
        values = row[: max(used, width)]
        cells = [_sheet_cell(value) for value in values]
        while len(cells) > width and cells and cells[-1] == "":
            cells.pop()
        filled = len(cells) - cells.count("")
        if filled and (isinstance(cells[0], Unfit) or not str(cells[0]).startswith("#")):
            if filled > 1:
                width = max(width, len(cells))
            yield number, cells + [""] * (width - len(cells))


def _sheet_cell(value: Any) -> Cell:
    match value:
        case None:
            return ""
        case str() if not (value.startswith("#") and value.endswith(("!", "?", "/A"))):
            return value.strip()
        case int() | float() if not isinstance(value, bool):
            return value
    return Unfit(value)


# The template

_EXAMPLES: tuple[dict[str, str], ...] = (
    {},
    {"guest_fs": "btrfs", "value": "61.2", "standard_deviation": "2.4"},
    {"hypervisor": "native", "guest_fs": "", "vm_count": "", "virtualisation": "none", "value": "120.9"},
)
_VIRTUAL_ONLY = (
    *("hypervisor_release", "virtual_devices", "backend", "image_format", "allocation", "cache_mode"),
    *("io_mode", "disk_bus"),
    *("guest_os", "guest_kernel", "guest_mount_options", "vm_vcpus", "vm_ram_gib", "vm_disk"),
)


def _template_rows() -> Iterator[list[str]]:
    yield [*FIELDS, f"{PARAMETER}threads"]
    for changed in _EXAMPLES:
        row = {name: column.example for name, column in FIELDS.items()} | changed
        if row["hypervisor"] == "native":
            row |= dict.fromkeys(_VIRTUAL_ONLY, "")
        yield [*row.values(), "16"]


def template_csv() -> str:
    """Return a header with every column, and rows that show how they are filled in."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_template_rows())
    return text.getvalue()


def template_xlsx() -> bytes:
    """Return the header and the rows as a workbook; its second sheet explains the columns."""
    import openpyxl

    book = openpyxl.Workbook()
    for row in _template_rows():
        book.active.append([_as_number(cell) for cell in row])
    book.active.title = "Results"
    book.active.freeze_panes = "A2"
    explained = book.create_sheet("Columns")
    for column in chain((("Column", "What it means"),), ((c.name, c.explanation) for c in COLUMNS)):
        explained.append(column)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _as_number(cell: str) -> str | float | int | None:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell or None
