"""Tables as people paste them: delimited text, Markdown, ASCII, a web page, a workbook. No Django.

    tables_in(b"| cache | IOPS |\\n|---|---|\\n| none | 145K |")    ->    [PlainTable(["cache", "IOPS"], ...)]

Returns every table of the source, with its caption where it has one; what the headings mean is stated in the conditions
(experiments.imports.tables.conditions). Time and memory are linear in the size of the source, also of a hostile one.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from experiments.readers import table
from experiments.readers.base import text_of
from experiments.readers.reading_process import NotRead, keep_waiting, read_isolated
from experiments.rules.number_grammar import looks_numeric

MAX_BYTES = 4 * 2**20
MAX_LINES = 100_000  # of a text
MAX_TABLES = 200
MAX_ROWS = 10_000  # of all tables of one source
MAX_COLUMNS = 150
MAX_CELLS = 100_000
MAX_CELL = 2_000  # characters
MAX_LINE = 100_000  # characters
LONGEST_SHOWN = 60


class Refused(ValueError):  # noqa: N818 - the user's matter, not a failure of ours
    """The source has no table that can be read. The message may be shown to users; `line` is where, None: the whole."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(f"line {line}: {text}" if line else text)
        self.text, self.line = text, line


@dataclass(frozen=True)
class PlainTable:
    """One table of a source. lines : the line that each row begins on; caption : words above or below it, or ""."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    caption: str = ""

    def __post_init__(self) -> None:
        if len(self.lines) != len(self.rows) or any(len(cells) != len(self.header) for cells in self.rows):
            raise ValueError("a row of another width, or without a line")


Row = tuple[int, list[str]]  # line and cells


def tables_in(content: bytes | str) -> list[PlainTable]:
    """Return every table of a text, a web page or a workbook, in its order. Raises Refused."""
    if len(content) > MAX_BYTES:
        raise Refused(f"{len(content):,} bytes; at most {MAX_BYTES:,} are read. Copy the table alone.")
    if isinstance(content, bytes) and content.startswith(b"PK\x03\x04"):
        return _within_limits(_workbook_tables(content))
    text = text_of(content) if isinstance(content, bytes) else content.replace("\0", "\ufffd")
    text = text.replace("\u00a0", " ").replace("\u202f", " ").replace("\u2009", " ")
    if re.search(r"<(?:table|tr)[\s>]", text, re.IGNORECASE):
        return _within_limits(_html_tables(text))
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        raise Refused(f"{len(lines):,} lines; at most {MAX_LINES:,} are read. Copy the table alone.")
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_LINE:
            raise Refused(f"{len(line):,} characters in one line; at most {MAX_LINE:,} are read.", number)
    if any(map(_is_bar_rule, lines)):
        return _within_limits(_bar_tables(lines))
    delimiter = _delimiter(lines)
    return _within_limits(_delimited_tables(text, delimiter) if delimiter else _aligned_tables(lines))


def read_tables(content: bytes, wait: Callable[[], None] = keep_waiting) -> list[PlainTable]:
    """Return `tables_in` of untrusted bytes, parsed in a process with limits and without rights. Raises Refused.

    wait : called each second; what it raises ends the process
    """
    try:
        parts = read_isolated(content, f"{__name__}:_parse_isolated", _Outcome, wait)
    except NotRead as limit:
        raise Refused(f"found {limit.args[0]}, allowed is {limit.args[1]}.") from limit
    if refusals := [part for part in parts if part.refused]:
        raise Refused(refusals[0].refused, refusals[0].line)
    return [part.table for part in parts if part.table]


@dataclass(frozen=True)
class _Outcome:
    """A table, or why there is none: one answer of the isolated process."""

    table: PlainTable | None = None
    refused: str = ""
    line: int | None = None


def _parse_isolated(content: bytes) -> Iterator[_Outcome]:
    try:
        yield from map(_Outcome, tables_in(content))
    except Refused as error:
        yield _Outcome(refused=error.text, line=error.line)


def _within_limits(tables: Iterable[PlainTable]) -> list[PlainTable]:
    checked_tables: list[PlainTable] = []
    rows = cells = 0
    for plain_table in tables:
        rows += len(plain_table.rows)
        cells += len(plain_table.rows) * len(plain_table.header)
        if rows > MAX_ROWS or cells > MAX_CELLS:
            raise Refused(f"more than {MAX_ROWS:,} rows or {MAX_CELLS:,} cells. Copy the table alone.")
        checked_tables.append(plain_table)
        if len(checked_tables) > MAX_TABLES:
            raise Refused(f"more than {MAX_TABLES} tables. Copy the table alone.")
    if not checked_tables:
        raise Refused("There is no table in it: a line of headings and at least one row of two cells are needed.")
    return checked_tables


def _plain_table(headings: Sequence[Row], rows: Sequence[Row], caption: str = "") -> PlainTable | None:
    """Return a table of rows as wide as its headings, whose lines are joined; None where it is empty.

    Raises Refused.
    """
    width = max((len(cells) for _, cells in headings), default=0)
    if width > MAX_COLUMNS:
        raise Refused(f"{width:,} columns; at most {MAX_COLUMNS} are read.", headings[0][0])
    for line, cells in rows:
        if len(cells) != width:
            raise Refused(f"{_cell_count(len(cells))}, where the headings are {width}.", line)
        if (longest := max(map(len, cells), default=0)) > MAX_CELL:
            raise Refused(f"a cell of {longest:,} characters; at most {MAX_CELL:,} are read.", line)
    rows = [(line, cells) for line, cells in rows if any(cells)]
    if width < 2 or not rows:
        return None
    columns = [[cells[at] for _, cells in headings if at < len(cells)] for at in range(width)]
    header = _unique_headings([" ".join(dict.fromkeys(filter(None, texts)))[:MAX_CELL] for texts in columns])
    return _split_pairs(
        PlainTable(header, [cells for _, cells in rows], [line for line, _ in rows], caption[:200].strip())
    )


# Two numbers in one cell

_TWO_WORDS = re.compile(
    r"(?P<before>[^/]{0,80}?)\b(?P<one>[A-Za-z]{1,30}) ?/ ?(?P<other>[A-Za-z]{1,30})\b"
    r"(?P<after>[^/]{0,80}(?:/s[^/]{0,20})?)"
)
_TWO_NUMBERS = re.compile(r"([^/]{0,30}\d[^/]{0,30}(?:/s(?:ec)?)?) ?/ ?(\d[^/]{0,30}(?:/s(?:ec)?)?)")


def _split_pairs(plain_table: PlainTable) -> PlainTable:
    """Return the table with one number a cell: 6155/1551 under or beside "Random read/write IOPS" are two.

    Each such column becomes "Random read IOPS" and "Random write IOPS", and each such row, after its first cell, two.
    """
    columns = [[heading, *(row[at] for row in plain_table.rows)] for at, heading in enumerate(plain_table.header)]
    columns = [part for column in columns for part in _two_of(column)]
    header, *rows = map(list, zip(*columns, strict=True))
    lines = [(line, part) for line, row in zip(plain_table.lines, rows, strict=True) for part in _two_of(row)]
    header = header if len(header) == len(plain_table.header) else _unique_headings(header)
    return PlainTable(header, [row for _, row in lines], [line for line, _ in lines], plain_table.caption)


def _two_of(cells: list[str]) -> list[list[str]]:
    """Return a column, or a row, as two where its name is of two words and its numbers are pairs; else it alone."""
    name, *numbers = cells
    words = _TWO_WORDS.fullmatch(name)
    filled = [cell for cell in numbers if cell.casefold() not in table.NOT_MEASURED]
    if words is None or not filled or not all(map(_TWO_NUMBERS.fullmatch, filled)):
        return [cells]
    pairs = [match.groups() if (match := _TWO_NUMBERS.fullmatch(cell)) else (cell, cell) for cell in numbers]
    names = (f"{words['before']}{words[which]}{words['after']}" for which in ("one", "other"))
    return [[name, *(pair[place].strip() for pair in pairs)] for place, name in enumerate(names)]


def _unique_headings(header: list[str]) -> list[str]:
    """Return the headings, each once: a second "IOPS" is "IOPS (2)", an empty one "column 3"."""
    seen: dict[str, int] = {}
    named = []
    for number, text in enumerate(header, start=1):
        text = text or f"column {number}"
        seen[text] = seen.get(text, 0) + 1
        named.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return named


def _cell_count(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells} cells"


# Bars: Markdown, psql, MySQL, reStructuredText, box drawing

_BOX = str.maketrans(
    dict.fromkeys(map(chr, [*range(0x250C, 0x254C), *range(0x2552, 0x256D)]), "+")
    | dict.fromkeys("─━═╌╍┄┅┈┉", "-")
    | dict.fromkeys("│┃║╎╏┆┇┊┋", "|")
)
_RULE = re.compile(r"[-=]{2}|[|:+][-=]|[-=][|:+]")  # "| - | - |" is a row of dashes


def _is_bar_rule(line: str) -> bool:
    """Tell whether the line rules a table off: "|---|:--:|", "+-----+-----+", "-----+-----", "├──┼──┤"."""
    plain = line.strip().translate(_BOX)
    return set(plain) <= set("+-=|: ") and bool({"|", "+"} & set(plain)) and _RULE.search(plain) is not None


def _bar_tables(lines: list[str]) -> Iterator[PlainTable]:
    before = ""
    numbered = [(number, line.translate(_BOX)) for number, line in enumerate(lines, start=1)]
    for is_table, block in groupby(numbered, key=lambda item: "|" in item[1] or _is_bar_rule(item[1])):
        part = list(block)
        if not is_table:
            before = next((line for _, line in reversed(part) if line.strip()), before)
            continue
        if any(_is_bar_rule(line) for _, line in part) and (plain_table := _bar_table(part, before.strip("#*: "))):
            yield plain_table
        before = ""


def _bar_table(block: list[tuple[int, str]], caption: str) -> PlainTable | None:
    """Return the table in lines with bars. Between rules stand the headings, then the rows."""
    groups: list[list[Row]] = []
    is_markdown = False
    for is_rule, part in groupby(block, key=lambda item: _is_bar_rule(item[1])):
        if is_rule:
            is_markdown |= not any("+" in line for _, line in part)
        else:
            groups.append([(number, _bar_cells(line)) for number, line in part])
    while len(groups) > 2 and len(groups[0]) == 1 and len(groups[0][0][1]) == 1:  # a title inside the box
        caption, groups = groups[0][0][1][0], groups[1:]
    if len(groups) < 2:
        return None
    headings, body = groups[0], groups[1:]
    if is_markdown:  # as GitHub does: short rows are padded, the last line above the rule is the header
        headings, width = headings[-1:], len(headings[-1][1])
        flat = [(line, [_strip_markdown(cell) for cell in cells]) for group in body for line, cells in group]
        headings = [(line, [_strip_markdown(cell) for cell in cells]) for line, cells in headings]
        return _plain_table(headings, [(line, cells + [""] * (width - len(cells))) for line, cells in flat], caption)
    rows = [row for group in body for row in (_merge_continued_rows(group) if len(body) > 1 else group)]
    return _plain_table(headings, rows, caption)


def _bar_cells(line: str) -> list[str]:
    text = line.strip()
    text = text.removeprefix("|")
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", text)]


def _merge_continued_rows(group: list[Row]) -> list[Row]:
    """Return the rows of a group between rules: a line without a first cell goes on with the one above."""
    rows: list[Row] = []
    for line, cells in group:
        if rows and not cells[0] and len(cells) == len(rows[-1][1]):
            rows[-1] = (rows[-1][0], [f"{one} {more}".strip() for one, more in zip(rows[-1][1], cells, strict=True)])
        else:
            rows.append((line, cells))
    return rows


_LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,1000}\)")
_MARKED = re.compile(r"[*_~`<\[]")
_MARKS = re.compile(r"\*\*|__|~~|`|<br ?/?>")


def _strip_markdown(cell: str) -> str:
    """Return a cell of Markdown without bold, code and links."""
    if not _MARKED.search(cell):
        return cell
    text = _MARKS.sub(lambda mark: " " if mark[0].startswith("<") else "", _LINK.sub(r"\1", cell)).strip()
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == "*" else text


# Delimited text


def table_of_csv(text: str) -> PlainTable | None:
    """Parse a whole text as CSV with commas, semicolons or tabs; return None where its rows are not equally wide, or
    have fewer than two cells."""
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    records, at = list[tuple[int, list[str]]](), 1
    try:
        for cells in reader:
            if any(cells):
                records.append((at, [cell.strip() for cell in cells]))
            at = reader.line_num + 1
    except csv.Error:
        return None
    widths = {len(cells) for _, cells in records}
    if len(widths) != 1 or widths == {1}:
        return None
    (_, header), *rows = records
    return _split_pairs(PlainTable(header, [cells for _, cells in rows], [line for line, _ in rows]))


def _delimiter(lines: list[str]) -> str | None:
    """Return the delimiter that most lines have equally often; None where blanks separate the columns."""
    sample = list(islice(filter(str.strip, lines), 500))
    best, most = None, 0
    for sign in "\t;|,":
        counts = [line.count(sign) for line in sample if sign in line]
        alike = max(map(counts.count, set(counts)), default=0)
        if alike > most:
            best, most = sign, alike
    if best == "," and sum(len(_gaps(line)) > 0 for line in sample) > most * 0.8:
        return None  # the commas are in numbers or words
    return best if best and 2 * sum(best in line for line in sample) >= len(sample) else None


def _gaps(line: str) -> list[str]:
    return re.findall(r"[^\s,;]\s{2,}\S", line.strip())


def _delimited_tables(text: str, delimiter: str) -> Iterator[PlainTable]:
    """Yield the tables of CSV and its like; a line that is empty or has one cell stands between two."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    headings: Row | None = None
    rows: list[Row] = []
    caption, after_break = "", False

    def finished() -> Iterator[PlainTable]:
        if headings and (plain_table := _plain_table([headings], rows, caption)):
            yield plain_table

    def records() -> Iterator[Row]:
        last = 0
        try:
            for cells in reader:
                yield last + 1, [cell.strip() for cell in cells]
                last = reader.line_num
        except csv.Error as error:
            raise Refused(str(error), last + 1) from error

    for line, cells in records():
        if sum(map(bool, cells)) < 2 and (not headings or len(cells) != len(headings[1])):
            after_break = True
            words = next(filter(None, cells), "")
            if not headings:
                caption = words or caption
            elif words:
                yield from finished()
                headings, rows, caption = None, [], words
        elif headings is None or (after_break and (len(cells) != len(headings[1]) or _is_header(cells, rows))):
            yield from finished()
            headings, rows, caption, after_break = (line, cells), [], caption if headings is None else "", False
        else:
            rows.append((line, cells))
            after_break = False
    yield from finished()


def _is_header(cells: list[str], above: list[Row]) -> bool:
    """Tell whether a row begins another table: it has less than half of the numbers that the row above has."""
    return bool(above) and 2 * sum(map(looks_numeric, cells)) < sum(map(looks_numeric, above[-1][1]))


# Columns of blanks


def _aligned_tables(lines: list[str]) -> Iterator[PlainTable]:
    """Yield the tables of text with aligned columns. Raises Refused where no block is a table."""
    problem: Refused | None = None
    has_table = False
    caption = ""
    for is_filled, block in groupby(enumerate(lines, start=1), key=lambda item: bool(item[1].strip())):
        if not is_filled:
            continue
        part = [(number, line.expandtabs()) for number, line in block]
        try:
            plain_table = _aligned_table(part, caption)
        except Refused as error:
            problem = problem or error
            plain_table = None
        caption = "" if plain_table else part[-1][1].strip(" :#")
        if plain_table:
            has_table = True
            yield plain_table
    if problem and not has_table:
        raise problem


def _aligned_table(block: list[tuple[int, str]], caption: str) -> PlainTable | None:
    rules = [line for _, line in block if _is_dashes(line)]
    filled = [(number, line) for number, line in block if not _is_dashes(line)]
    while len(filled) > 1 and not _gaps(filled[0][1]) and any(_gaps(line) for _, line in filled[1:]):
        caption, filled = filled[0][1].strip(" :#"), filled[1:]  # a title right above the headings
    if len(filled) < 2:
        return None
    if rules and len(rules[0].split()) > 1:
        starts = [match.start() for match in re.finditer(r"[-=]+", rules[0])]
        rows = [(number, _split_at(line, starts)) for number, line in filled]
    else:
        rows = _split_at_blanks(filled)
    return _plain_table(rows[:1], rows[1:], caption) if rows else None


def _is_dashes(line: str) -> bool:
    return len(line.strip()) > 2 and set(line.strip()) <= {"-", "=", " "}


def _split_at_blanks(lines: list[tuple[int, str]]) -> list[Row]:
    """Split lines at wide gaps, else at places that are blank in every line, else at every blank.

    Raises Refused where the lines of a table have different numbers of cells; prose has no rows.
    """
    wide = [(number, re.split(r"\s{2,}", line.strip())) for number, line in lines]
    if len({len(cells) for _, cells in wide}) == 1 and len(wide[0][1]) > 1:
        return wide
    if starts := _column_starts(lines):
        return [(number, _split_at(line, starts)) for number, line in lines]
    rows = [(number, line.split()) for number, line in lines]
    if not all(any(map(looks_numeric, cells)) for _, cells in rows[1:]):
        return []
    width = len(rows[0][1])
    for number, cells in rows:
        if len(cells) != width:
            raise Refused(f"{_cell_count(len(cells))} between blanks, where the first line has {width}.", number)
    return rows


def _column_starts(lines: list[tuple[int, str]]) -> list[int]:
    """Return where columns begin: after two places or more that are blank in every line; empty: nowhere."""
    filled = bytearray(max(len(line) for _, line in lines))
    for _, line in lines:
        for match in re.finditer(r"(?<=\S) (?=\S)|\S+", line):
            filled[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    starts = [match.start() for match in re.finditer(rb"(?<!\x01)(?<!\x01\x00)\x01", bytes(filled))]
    return starts if len(starts) > 1 else []


def _split_at(line: str, starts: list[int]) -> list[str]:
    return [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]


# Web pages


def _html_tables(text: str) -> Iterator[PlainTable]:
    """Yield the tables of a page. A row's line is its number in its table, as HTML need not break lines at rows."""
    from lxml import etree

    for sign, most in (("tr", 2 * MAX_ROWS), ("table", 5 * MAX_TABLES)):  # some may hold nothing
        if (number := len(re.findall(rf"<{sign}[\s>]", text, re.IGNORECASE))) > most:
            raise Refused(f"{number:,} elements <{sign}>; at most {most:,} are read. Copy the table alone.")
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        page = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.LxmlError as error:
        raise Refused(f"a page that cannot be read: {error}") from error
    if page is None:
        return
    etree.strip_elements(page, "script", "style", "template", with_tail=False)
    whole = list(page.iter("table")) or [page]  # people also copy rows without their <table>
    rows_of: dict[Any, list[Any]] = {table_element: [] for table_element in whole}
    for row in page.iter("tr"):
        owner = next(row.iterancestors("table"), page)
        rows_of.setdefault(owner, []).append(row)
    for table_element, rows in rows_of.items():
        caption = next((child for child in table_element.iterchildren("caption")), None)
        if plain_table := _html_table(rows, _text_of(caption) if caption is not None else ""):
            yield plain_table


def _html_table(rows: list[Any], caption: str) -> PlainTable | None:
    filled = [(number, row, cells) for (number, cells), row in zip(_spread(rows), rows, strict=True) if any(cells)]
    if len(filled) < 2:
        return None
    headings = next((at for at, (_, row, _) in enumerate(filled) if not _is_heading_row(row)), 0)
    width = max(len(cells) for _, _, cells in filled)
    padded = [(number, cells + [""] * (width - len(cells))) for number, _, cells in filled]
    return _plain_table(padded[: headings or 1], padded[headings or 1 :], caption)


def _is_heading_row(row: Any) -> bool:
    return row.getparent().tag == "thead" or all(cell.tag == "th" for cell in row.iterchildren("td", "th"))


def _spread(rows: list[Any]) -> Iterator[Row]:
    """Yield the cells of every row; a cell with colspan or rowspan is repeated in each place it covers."""
    hanging: dict[int, tuple[int, str]] = {}  # column: further rows that a cell from above covers, and its text
    total = 0
    for number, row in enumerate(rows, start=1):
        cells = {at: text for at, (_, text) in hanging.items()}
        hanging = {at: (more - 1, text) for at, (more, text) in hanging.items() if more > 1}
        at = 0
        for cell in row.iterchildren("td", "th"):
            while at in cells:
                at += 1
            text, wide, high = _text_of(cell), _span(cell, "colspan"), _span(cell, "rowspan")
            if at + wide > MAX_COLUMNS:
                raise Refused(f"more than {MAX_COLUMNS} columns.", number)
            cells |= dict.fromkeys(range(at, at + wide), text)
            if high > 1:
                hanging |= dict.fromkeys(range(at, at + wide), (high - 1, text))
            at += wide
        total += len(cells)
        if total > MAX_CELLS:
            raise Refused(f"more than {MAX_CELLS:,} cells. Copy the table alone.", number)
        yield number, [cells.get(at, "") for at in range(max(cells, default=-1) + 1)]


def _span(cell: Any, name: str) -> int:
    text = (cell.get(name) or "").strip()
    return max(1, min(int(text), 65_534)) if text.isdigit() and len(text) < 6 and text.isascii() else 1


def _text_of(element: Any) -> str:
    """Return the words of an element without those of a table or row inside it."""
    words: list[str] = []

    def gather(inside: Any) -> None:  # as deep as the parser goes, which is 255
        words.append(inside.text or "")
        for child in inside:
            if child.tag == "br":
                words.append(" ")
            elif child.tag not in ("table", "tr"):  # which are read as what they are: each word is taken once
                gather(child)
            words.append(child.tail or "")

    gather(element)
    return " ".join("".join(words).split())[: MAX_CELL + 1]


# Workbooks


def _workbook_tables(data: bytes) -> Iterator[PlainTable]:
    """Yield a table a sheet: its first row that has two cells is the headings."""
    for name, lines in table.sheets(data):
        rows: list[Row] = []
        for item in lines:
            if isinstance(item, table.Fault):
                raise Refused(f"sheet {name[:LONGEST_SHOWN]}: found {item.found}, expected {item.expected}.", item.line)
            line, cells = item
            rows.append((line, [table.as_text(cell) for cell in cells]))
            if len(rows) > MAX_ROWS:
                raise Refused(f"sheet {name[:LONGEST_SHOWN]}: more than {MAX_ROWS:,} rows.", line)
        first = next((at for at, (_, cells) in enumerate(rows) if sum(map(bool, cells)) > 1), None)
        if first is None:
            continue
        width = max(len(cells) for _, cells in rows[first:])
        padded = [(line, cells + [""] * (width - len(cells))) for line, cells in rows[first:]]
        if plain_table := _plain_table(padded[:1], padded[1:], name):
            yield plain_table
