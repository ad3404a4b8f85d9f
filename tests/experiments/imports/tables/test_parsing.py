"""Tables as people paste them: every form gives the same cells, and what is no table says why, in linear time."""

import io
import re
import time
from contextlib import suppress

import openpyxl
import pytest
from lxml import etree

from experiments.imports.tables import parsing
from experiments.imports.tables.parsing import Refused, tables_in

HEADER = ["Cache mode", "4K rand read (kIOPS)", "Seq write"]
ROWS = [["none", "145", "1.2 GB/s"], ["write back", "98.5", "n/a"]]

CSV = 'Cache mode,4K rand read (kIOPS),Seq write\nnone,145,1.2 GB/s\n"write back",98.5,n/a\n'
MARKDOWN = """\
## Results
Prose with a | sign.

| Cache mode | 4K rand read (kIOPS) | Seq write |
|:-----------|---------------------:|-----------|
| `none`     | **145**              | [1.2 GB/s](https://example.org/a) |
| write back | 98.5                 | n/a       |
"""
PSQL = """\
 Cache mode | 4K rand read (kIOPS) | Seq write
------------+----------------------+-----------
 none       |                  145 | 1.2 GB/s
 write back |                 98.5 | n/a
(2 rows)
"""
BOX = """\
┌────────────┬──────────────────────┬───────────┐
│ Cache mode │ 4K rand read (kIOPS) │ Seq write │
├────────────┼──────────────────────┼───────────┤
│ none       │                  145 │ 1.2 GB/s  │
│ write back │                 98.5 │ n/a       │
└────────────┴──────────────────────┴───────────┘
"""
GRID = """\
+------------+----------------------+-----------+
| Cache mode | 4K rand read         | Seq write |
|            | (kIOPS)              |           |
+============+======================+===========+
| none       | 145                  | 1.2       |
|            |                      | GB/s      |
+------------+----------------------+-----------+
| write back | 98.5                 | n/a       |
+------------+----------------------+-----------+
"""
ALIGNED = """\
Results of the run
Cache mode    4K rand read (kIOPS)  Seq write
------------------------------------------------
none                           145  1.2 GB/s
write back                    98.5  n/a
"""
RULED = """\
==========  ====================  =========
Cache mode  4K rand read (kIOPS)  Seq write
==========  ====================  =========
none        145                   1.2 GB/s
write back  98.5                  n/a
==========  ====================  =========
"""
HTML = """\
<!doctype html><body><p>Text</p><table><caption>Table 2</caption><thead>
<tr><th rowspan=2>Cache mode<th>4K rand read<th rowspan=2>Seq write</tr>
<tr><th>(kIOPS)</th></tr></thead>
<tr><th>none</th><td>145</td><td>1.2&nbsp;GB/s<script>x</script></td></tr>
<tr><td>write<br>back</td><td>98.5</td><td>n/a</td></tr>
</table>"""


def workbook(*lines: list) -> bytes:
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


@pytest.mark.parametrize(
    "source",
    [
        CSV,
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        CSV.encode("utf-16"),
        f"Results of the run\n\n{CSV}".replace("\n", "\r\n"),
        *(MARKDOWN, PSQL, BOX, GRID, ALIGNED, RULED, HTML),
        workbook(HEADER, ["none", 145, "1.2 GB/s"], ["write back", 98.5, "n/a"]),
    ],
)
def test_every_form_gives_the_same_cells(source):
    (table,) = tables_in(source)
    assert (table.header, table.rows) == (HEADER, ROWS)
    assert len(table.lines) == 2


def test_lines_are_those_of_the_source_and_captions_stand_above():
    (table,) = tables_in(MARKDOWN)
    assert table.lines == [6, 7]
    assert tables_in(HTML)[0].caption == "Table 2"
    assert tables_in(f"Random reads\n\n{CSV}")[0].caption == "Random reads"
    assert tables_in(ALIGNED)[0].caption == "Results of the run"


def test_a_page_gives_each_of_its_tables():
    inner = "<table><tr><td>a<td>b<tr><td>1<td>2</table>"
    page = f"<table><tr><td>menu<td>{inner}</table>{HTML}"
    assert [table.header for table in tables_in(page)] == [["a", "b"], HEADER]
    assert [len(table.rows) for table in tables_in(f"{MARKDOWN}\n{MARKDOWN}")] == [2, 2]
    assert [table.header[0] for table in tables_in(f"{CSV}\n{CSV.replace('Cache mode', 'Bus')}")] == [
        "Cache mode",
        "Bus",
    ]


def test_spanning_cells_are_in_every_place_that_they_cover():
    page = """<table><tr><th rowspan=2>pool<th colspan=2>4K<tr><th>read<th>write
        <tr><td rowspan=2>zfs<td>1<td>2<tr><td colspan=2>3</table>"""
    (table,) = tables_in(page)
    assert table.header == ["pool", "4K read", "4K write"]
    assert table.rows == [["zfs", "1", "2"], ["zfs", "3", "3"]]


def test_columns_without_blanks_beside_them_and_a_heading_left_out():
    assert tables_in("        read  write\nraw     1234  5\nqcow2   12    678")[0].rows == [
        ["raw", "1234", "5"],
        ["qcow2", "12", "678"],
    ]
    assert tables_in("mode iops\nnone 12\nunsafe 15")[0].rows == [["none", "12"], ["unsafe", "15"]]


def test_headings_are_told_apart():
    assert tables_in("a,,a\n1,2,3\n")[0].header == ["a", "column 2", "a (2)"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("a,b,c\n1,2,3\n4,5\n", "line 3: 2 cells, where the headings are 3."),
        ("mode iops\nnone 12\nwrite back 15", "line 3: 3 cells between blanks, where the first line has 2."),
        (GRID.replace("| write back | 98.5", "| write back "), "line 8: 2 cells, where the headings are 3."),
        ("", "There is no table in it"),
        ("We measured it.\nIt was fast, on the whole.\n", "There is no table in it"),
        ("<table><tr><td>1</table>", "There is no table in it"),
        (f"<table><tr>{'<td>1' * 300}<tr><td>2</table>", "more than 150 columns"),
        ("a,b\n" + "1,2\n" * 10_001, "more than 10,000 rows"),
        ("a,b\n1," + "2" * 3_000, "line 2: a cell of 3,000 characters"),
        (b"PK\x03\x04 broken", "a workbook that spreadsheets open"),
    ],
)
def test_what_is_no_table_is_refused_by_its_line(source, told):
    with pytest.raises(Refused) as refused:
        tables_in(source)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    "part",
    [
        *("<table>", "<tr><td rowspan=65534 colspan=150>", "<tr>", "<td>", "<!--", "</", "<a ", "<br>"),
        *(
            "|-",
            "-+",
            "| a ",
            "a  b ",
            "a, ",
            '"',
            '",',
            "\t",
            "a\n",
            "a b\n\n",
            "|-|\n",
            "|a\n",
            "+-+\n|a|\n",
            "\\|",
            "[a](",
            "**",
        ),
    ],
)
def test_hostile_texts_take_linear_time(part):
    """Below two seconds for 40 kB; what is quadratic takes a minute."""
    text = (
        f"<table><tr><td>1</td></tr>{part * (40_000 // len(part))}"
        if part.startswith("<")
        else part * (40_000 // len(part))
    )
    began = time.process_time()
    with suppress(Refused):
        tables_in(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("inside", ["<div>", "<span>", "<b>", "<td>", "<caption>"])
def test_each_word_of_nested_rows_is_taken_once(inside):
    deep = f"<tr><td>{inside}word " * 60
    words = [word for row in spread(f"<table>{deep}</table>") for word in row]
    assert " ".join(words).split() == ["word"] * 60


def spread(page: str) -> list[list[str]]:
    rows = list(etree.fromstring(page, etree.HTMLParser()).iter("tr"))
    return [cells for _, cells in parsing._spread(rows)]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("<table><tr><td>1<td>2" * 1_001, "1,001 elements <table>; at most 1,000 are read"),
        ("<table>" + "<tr><td>1<td>2" * 20_001, "20,001 elements <tr>; at most 20,000 are read"),
        ("|a|b|\n|-|-|\n" + "|1|2|\n" * 10_001, "more than 10,000 rows or 100,000 cells"),
        (
            "|" + "a|" * 20 + "\n|" + "-|" * 20 + "\n" + ("|" + "1|" * 20 + "\n") * 5_001,
            "more than 10,000 rows or 100,000",
        ),
    ],
)
def test_more_tables_rows_or_cells_than_are_read_are_told(source, told):
    with pytest.raises(Refused, match=re.escape(told)):
        tables_in(source)


def test_nine_thousand_rows_of_markdown_are_read():
    (table,) = tables_in("| a | b |\n|---|---|\n" + "| 1 | **2** |\n" * 9_000)
    assert table.rows == [["1", "2"]] * 9_000


def test_a_source_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(parsing, "MAX_BYTES", 10)
    with pytest.raises(Refused, match="at most 10"):
        tables_in(CSV)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (
            "Product,Random Read/Write IOPS\nEBS,2997/2996\nLonghorn,6155 / 1551\nNone,n/a\n",
            [
                ["Product", "Random Read IOPS", "Random Write IOPS"],
                ["EBS", "2997", "2996"],
                ["Longhorn", "6155", "1551"],
                ["None", "n/a", "n/a"],
            ],
        ),
        (
            "Test,EBS,Longhorn\nBandwidth Read/Write,187MiB/s / 180MiB/s,230MiB/s / 167MiB/s\n",
            [
                ["Test", "EBS", "Longhorn"],
                ["Bandwidth Read", "187MiB/s", "230MiB/s"],
                ["Bandwidth Write", "180MiB/s", "167MiB/s"],
            ],
        ),
        ("Day,MB/s\n2021/11,5\n", [["Day", "MB/s"], ["2021/11", "5"]]),
        ("Read/Write,MB/s\nyes/no,5\n", [["Read/Write", "MB/s"], ["yes/no", "5"]]),
    ],
)
def test_two_numbers_in_a_cell_are_two_numbers(text, cells):
    (table,) = tables_in(text)
    assert [table.header, *table.rows] == cells
