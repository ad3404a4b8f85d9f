"""Tables of results: headers, wide columns, and every way to get one wrong."""

import csv
import io
from datetime import date

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.readers import table
from experiments.readers.table import Fault, Table, read_table, recognises, template_csv, template_xlsx
from experiments.readers.table_columns import FIELDS, parse_header
from kdb.units import UNITS

PLAIN = "workload,unit,value\nmail,MiB/s,10.5\nweb,MiB/s,4\n"


def read(text: str | bytes) -> Table:
    return read_table(text.encode() if isinstance(text, str) else text)


def rows(text: str | bytes) -> list[dict]:
    """Return the rows as dicts with their line; fails on a fault."""
    parsed = read(text)
    assert parsed.faults == ()
    return [{"line": line, **dict(zip(parsed.fields, cells, strict=True))} for line, cells in parsed.rows()]


def as_texts(rows_read: list[dict]) -> list[dict]:
    return [{name: str(cell) for name, cell in row.items()} for row in rows_read]


def row_faults(text: str | bytes) -> list[Fault]:
    parsed = read(text)
    assert parsed.faults == ()
    return [item for item in parsed.rows() if isinstance(item, Fault)]


def workbook(*lines: list, sheet: str = "Results") -> bytes:
    book = openpyxl.Workbook()
    book.active.title = sheet
    for line in lines:
        book.active.append(line)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_a_plain_table_is_a_row_a_line():
    assert rows(PLAIN) == [
        {"line": 2, "workload": "mail", "unit": "MiB/s", "value": "10.5"},
        {"line": 3, "workload": "web", "unit": "MiB/s", "value": "4"},
    ]


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace("\n", "\r\n"),
        f"\ufeff{PLAIN}",
        f"# made by hand\n\n{PLAIN}".replace("workload,unit", "Workload,Unit"),
    ],
)
def test_delimiters_line_ends_and_comments_do_not_matter(text):
    assert [row["value"] for row in rows(text)] == ["10.5", "4"]


def test_other_encodings_are_read():
    assert rows(PLAIN.replace("mail", "café").encode("latin-1"))[0]["workload"] == "café"
    assert rows(PLAIN.encode("utf-16"))[0]["workload"] == "mail"


def test_title_lines_may_stand_above_and_lines_keep_their_numbers():
    assert rows(f"Table 3,,\nMail server on KVM,,\n{PLAIN}")[0]["line"] == 4


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("gFS", "guest_fs"),
        ("Guest file system", "guest_fs"),
        ("host-fs", "host_fs"),
        ("VMs", "vm_count"),
        ("Std.Dev", "standard_deviation"),
        ("Block size", "block_size_bytes"),
        ("parameter:Threads", "parameter:Threads"),
        ("Tool", "benchmark"),
    ],
)
def test_headers_have_aliases(header, name):
    assert parse_header(header).name == name


@pytest.mark.parametrize(
    ("header", "unit", "metric"),
    [
        ("Throughput (MB/s)", "MB/s", "throughput"),
        ("throughput [MiB/s]", "MiB/s", "throughput"),
        ("IOPS", "ops/s", "operation_rate"),
        ("Latency (ms)", "ms", "latency"),
    ],
)
def test_a_quantity_as_header_brings_its_unit(header, unit, metric):
    assert (parse_header(header).name, parse_header(header).unit, parse_header(header).metric) == (
        "value",
        unit,
        metric,
    )
    assert rows(f"workload,{header}\nmail,5\n")[0] == {
        "line": 2,
        "workload": "mail",
        "value": "5",
        "unit": unit,
        "metric": metric,
    }


@pytest.mark.parametrize("header", ["Throughput (KB/s)", "Throughput (mb/s)", "Bandwidth [GB/s]"])
def test_a_unit_that_is_none_of_ours_is_named_as_a_fault(header):
    (fault,) = read(f"workload,{header}\nmail,5\n").faults
    assert (fault.line, fault.found) == (1, header)
    assert ", ".join(UNITS) in fault.expected


def test_a_column_a_vm_count_becomes_a_row_a_cell():
    wide = "pair,workload,unit,Native,1 VM,2 VMs,3 virtual machines\nXFS on ext4,mail,MB/s,20,10,-,7\n"
    parsed = read(wide)
    assert parsed.fields == ("workload", "unit", "guest_fs", "host_fs", "hypervisor", "value", "vm_count")
    assert [*parsed.rows()] == [
        (2, ("mail", "MB/s", "", "ext4", "native", "20", "0")),
        (2, ("mail", "MB/s", "XFS", "ext4", "", "10", "1")),
        (2, ("mail", "MB/s", "XFS", "ext4", "", "7", "3")),
    ]


def test_a_column_a_run_becomes_a_repetition_a_cell():
    repetitions = rows("workload,unit,Run 1,Run 2\nmail,ms,4,n/a\n")
    assert [(row["repetition"], row["value"]) for row in repetitions] == [("1", "4")]


def test_a_decimal_comma_is_one_where_semicolons_part_the_cells():
    assert rows("workload;unit;value\nmail;ms;1,5\n")[0]["value"] == "1.5"
    assert rows('workload,unit,value\nmail,ms,"1,5"\n')[0]["value"] == "1,5"  # and no number later


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("workload,value,value", "value"),
        ("workload,vm_count,1 VM", "vm_count"),
        ("workload,value,1 VM,unit", "value"),
        ("workload,1 VM,Run 1", "machines and runs"),
        ("workload,pair,guest_fs,value", "pair"),
        ("workload,unit,Throughput (MB/s)", "unit"),
    ],
)
def test_a_header_that_contradicts_itself_is_refused(header, found):
    table_found = read(f"{header}\nmail,1,2\n")
    assert found in [fault.found for fault in table_found.faults]
    assert list(table_found.rows()) == []


@pytest.mark.parametrize(
    ("line", "field", "found"),
    [
        ("mail,MiB/s", "line", "2 cells"),
        ("mail,MiB/s,1,2", "line", "4 cells"),
        ("workload,unit,value", "line", "the header once more"),
        ('"mail,MiB/s,1', "line", "unexpected end of data"),
    ],
)
def test_a_line_that_is_no_row_is_a_fault_and_the_rest_is_read(line, field, found):
    (fault,) = row_faults(f"{PLAIN}{line}\n")
    assert (fault.line, fault.field, fault.found) == (4, field, found)


@pytest.mark.parametrize(
    "text",
    [
        "workload;value;unit\na;1.085;MiB/s\nb;85,4;MiB/s\n",
        "workload;value;unit\nb;85,4;MiB/s\na;1.085;MiB/s\n",
        "workload;unit;1 VM;2 VMs\na;MiB/s;1.085;3\nb;MiB/s;85,4;4\n",
    ],
)
def test_a_point_beside_decimal_commas_may_part_thousands_and_is_refused(text):
    (fault,) = [item for item in read_table(text.encode()).rows() if isinstance(item, Fault)]
    assert (fault.field, fault.found) == ("value", "1.085")
    assert "85,4 (line " in fault.expected


def test_a_pair_is_two_names_with_on_between():
    (fault,) = row_faults("pair,workload,value\nX/E,mail,1\n")
    assert (fault.field, fault.found) == ("pair", "X/E")


# JSON lines

LINES = '{"workload": "mail", "value": 10.5, "unit": "MiB/s", "vm_count": null, "parameters": {"threads": 16}}\n'


def test_json_lines_have_the_fields_of_the_first():
    assert rows(LINES) == [
        {
            "line": 1,
            "workload": "mail",
            "value": 10.5,
            "unit": "MiB/s",
            "vm_count": "",
            "parameters": '{"threads": 16}',
        }
    ]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"workload": "mail", "speed": 3}', "speed"),
        ('{"workload": ["mail"]}', "workload"),
        ('{"workload": true}', "workload"),
        ('{"parameters": {"a": [1]}}', "parameters"),
        ('{"workload": "mail", "value": 3, "value": 4}', "value"),
        ('{"parameters": {"threads": 1, "threads": 2}}', "parameters"),
        ("[1]", "line"),
        ("{", "line"),
    ],
)
def test_a_json_line_that_is_no_row_is_a_fault(line, field):
    (fault,) = row_faults(LINES + line)
    assert (fault.line, fault.field) == (2, field)


FOREIGN = {
    "csv": b"workload,unit,value,speed\nmail,ms,1,2\n",
    "jsonl": b'{"workload": "mail", "unit": "ms", "value": 1, "speed": 2}\n',
    "xlsx": workbook(["workload", "unit", "value", "speed"], ["mail", "ms", 1, 2]),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_column_is_told_and_the_rows_come_without_it(kind):
    parsed = read_table(FOREIGN[kind])
    (fault,) = parsed.unknown
    assert (parsed.format, parsed.faults, fault.line, fault.found) == (kind, (), 1, "speed")
    assert parsed.fields == ("workload", "unit", "value")
    ((_, cells),) = parsed.rows()
    assert [str(cell) for cell in cells] == ["mail", "ms", "1"]


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize(
    ("said", "more"),
    [("ignore", []), ("standard_deviation", ["standard_deviation"]), ("parameter:rpm", ["parameter:rpm"])],
)
def test_a_foreign_column_is_what_somebody_says_it_is(kind, said, more):
    parsed = read_table(FOREIGN[kind], {"speed": said, "value": "note"})  # what is ours stays ours
    assert (parsed.unknown, parsed.faults) == ((), ())
    assert [*parsed.fields] == ["workload", "unit", "value", *more]
    ((_, cells),) = parsed.rows()
    assert [str(cell) for cell in cells[3:]] == ["2"] * len(more)


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_column_cannot_be_a_column_that_is_there(kind):
    (fault,) = read_table(FOREIGN[kind], {"speed": "value"}).faults
    assert (fault.found, fault.field) == ("value", "header")


def test_a_decimal_comma_is_one_in_a_foreign_column_of_numbers():
    table_found = read_table(b"workload;unit;value;scatter\nmail;ms;1,5;0,2\n", {"scatter": "standard_deviation"})
    assert [cells for _, cells in table_found.rows()] == [("mail", "ms", "1.5", "0.2")]


# XLSX


def test_a_workbook_gives_the_rows_of_the_same_csv():
    lines = list(csv.reader(PLAIN.splitlines()))
    book = workbook(lines[0], ["mail", "MiB/s", 10.5], ["web", "MiB/s", 4])
    assert read(book).format == "xlsx"
    assert as_texts(rows(book)) == as_texts(rows(PLAIN))


def test_numbers_of_a_workbook_stay_numbers_in_columns_of_numbers_and_are_texts_elsewhere():
    book = workbook(["guest_kernel", "vm_count", "parameter:threads", "value"], [6.5, 0, 16.0, 0.1])
    ((_, cells),) = read(book).rows()
    assert cells == ("6.5", 0, "16", 0.1)
    assert type(cells[3]) is float


def test_a_cell_that_is_neither_text_nor_number_is_a_fault():
    lines = ["mail", "MiB/s", True], ["web", "MiB/s", "#DIV/0!"], ["#REF!", "MiB/s", 1], ["# a comment", "MiB/s", 1]
    faults = row_faults(workbook(["workload", "unit", "value"], *lines))
    assert [(fault.line, fault.found) for fault in faults] == [(2, "True"), (3, "#DIV/0!"), (4, "#REF!")]
    dated = workbook(["workload", "unit", "value", "day"], ["mail", "MiB/s", 1, date(2026, 1, 1)])
    assert [cells for _, cells in read_table(dated, {"day": "ignore"}).rows()] == [("mail", "MiB/s", 1)]


def test_one_sheet_with_our_header_is_expected():
    book = openpyxl.load_workbook(io.BytesIO(workbook(["workload", "value"], ["mail", 1])))
    book.create_sheet("Again").append(["workload", "value"])
    content = io.BytesIO()
    book.save(content)
    (fault,) = read(content.getvalue()).faults
    assert fault.found == "2 (Results, Again)"
    (fault,) = read(workbook(["a", "b"])).faults
    assert fault.found == "none"


@pytest.mark.parametrize("cut", [50, 500, -30])
def test_a_broken_workbook_is_a_fault(cut):
    assert read(template_xlsx()[:cut]).faults


def test_a_workbook_that_unpacks_to_too_much_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(table, "MAX_INFLATED", 1000)
    (fault,) = read(template_xlsx()).faults
    assert "when unpacked" in fault.found


# The template, and everything else


def test_the_template_has_every_column_and_reads_without_a_fault():
    template = read(template_csv())
    assert template.faults == ()
    assert set(FIELDS) <= set(template.fields)
    assert as_texts(rows(template_csv())) == as_texts(rows(template_xlsx()))
    assert len(rows(template_csv())) == 3


@pytest.mark.parametrize(
    "text",
    [
        *("a,b\n1,2\n", "", "value\n1\n", "Filebench Version 1\n", '{"fio version": "x"}', "[]"),
        '{"blocksize": 4096, "iops": 25}',  # of ceph osd bench, on one line
    ],
)
def test_what_is_no_table_of_ours_is_left_to_others(text):
    assert not recognises(text.encode())


@given(data=st.binary(max_size=3000))
def test_arbitrary_bytes_fail_nothing(data):
    recognises(data)
    list(read_table(data).rows())


WORDS = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="#"), min_size=1, max_size=20)


@given(cells=st.lists(st.lists(WORDS, min_size=3, max_size=3), max_size=5), delimiter=st.sampled_from(",\t"))
def test_what_was_written_is_read_cell_for_cell(cells, delimiter):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(["workload", "source", "value"])
    writer.writerows(cells)
    assert [list(item[1]) for item in read(text.getvalue()).rows()] == cells
