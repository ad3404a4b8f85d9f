"""A reader refuses what is more than it takes, with its number; nothing is cut, dropped or taken for another's."""

import io
import json
import zipfile

import openpyxl
import pytest

from experiments.readers import base, read, reading_process, table
from experiments.readers.archives import MAX_LISTED, ArchiveError, is_archive, members
from experiments.readers.formats.fio import json as fio_json
from experiments.readers.reading_process import NotRead, ReadingProcess
from experiments.readers.table_columns import MAX_HEADER

SECTION = {"io_bytes": 1_048_576, "bw": 1024, "runtime": 1000, "total_ios": 256, "bw_bytes": 1_048_576}
JOB = {"jobname": "mail", "groupid": 0, "error": 0, "write": SECTION}
BONNIE = (
    "1.97,1.97,{},1,1595640930,8G,,668,99,120832,96,61440,59,1411,99,133120,79,410.5,15,16,,,,,3000,58,,,,,,,,,,,\n"
)
IOZONE_HEADER = (
    "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read"
    "   fwrite frewrite    fread  freread"
)
IOZONE = f"""
{IOZONE_HEADER}
           65536       4    20480    24576    30720        0     9216
           65536       8    20480    245x6    30720
iozone test complete.
"""
SYSBENCH = """sysbench 1.0.20 (using system LuaJIT)
5GiB total file size
Block size 16KiB
Doing sequential read test
    reads/s:                      14646.06
    writes/s:                     0.00
    read, MiB/s:                  228.84
    written, MiB/s:               0.00
    total time:                          30.0004s
         avg:                                    0.07
"""


def reasons(text: str) -> list[str]:
    return [refusal.reason for refusal in read(text.encode()).refused]


# More than is read


def test_more_fio_documents_than_are_read_are_counted():
    text = "\n".join([json.dumps({"fio version": "fio-3.16", "jobs": [JOB]})] * (fio_json.MAX_DOCUMENTS + 7))
    assert reasons(text) == ["1,007 documents of fio in one file; at most 1,000 are read: split it"]


def test_more_fio_jobs_than_are_read_are_counted():
    jobs = [{**JOB, "groupid": number} for number in range(fio_json.MAX_JOBS + 1)]
    text = json.dumps({"fio version": "fio-3.16", "jobs": jobs})
    assert reasons(text) == ["10,001 jobs of fio (line 1) in one file; at most 10,000 are read: split it"]


@pytest.mark.slow
def test_more_phoronix_results_than_are_read_are_counted():
    result = (
        "<Result><Identifier>pts/tiobench-1.3.1</Identifier><Scale>MB/s</Scale>"
        "<Data><Entry><Identifier>a</Identifier><Value>{}</Value></Entry></Data></Result>\n"
    )
    text = "<PhoronixTestSuite>\n" + "".join(result.format(n + 1) for n in range(5_001)) + "</PhoronixTestSuite>"
    assert reasons(text) == ["5,001 results in one file; at most 5,000 are read: split it"]


@pytest.mark.slow
def test_more_runs_and_lines_than_are_read_are_counted():
    report = (
        "Time:\n 61 seconds total\n 55 seconds of transactions (363 per second)\n"
        " 1 megabytes read (2.13 megabytes per second)\n 1 megabytes written (2.64 megabytes per second)\n"
    )
    assert reasons("PostMark v1.5\n" + report * 10_001) == [
        "10,001 runs in one file; at most 10,000 are read: split it"
    ]
    text = "dbench version 4.00 - Copyright\n" + "x\n" * base.MAX_LINES
    assert reasons(text) == ["1,000,001 lines in one file; at most 1,000,000 are read: split it"]


def test_broken_documents_inside_one_another_are_not_read_over_and_over():
    text = '{"fio version": "fio-3.16", "jobs": [' * 200 + "1, " * 100_000
    assert "broken and inside one another" in reasons(text)[0]


# Nothing dropped


def test_a_zero_and_a_figure_out_of_place_in_iozones_table_are_named():
    reading = read(IOZONE.encode())
    assert [(run.line, run.operation) for run in reading.runs] == [
        *((3, "write"), (3, "rewrite"), (3, "read")),
        (3, "random-read"),
    ]
    assert [(refusal.line, refusal.reason.partition(":")[0]) for refusal in reading.refused] == [
        (3, "reread at records of 4 kB is 0 kBytes/sec; a figure is above zero"),
        (4, "a row of the table whose figures do not stand below its header"),
    ]


def test_a_zero_in_bonnies_line_is_named():
    assert reasons(BONNIE.format("a").replace(",3000,", ",0,")) == [
        "create is '0'; a rate above zero, +++++ or nothing is expected"
    ]


# Several in one file


def test_bonnie_lines_of_several_machines_are_refused_by_name():
    assert reasons(BONNIE.format("ada") + BONNIE.format("ada") + BONNIE.format("grace")) == [
        "results of 2 machines in one file: 'ada' (line 1), 'grace' (line 3); give each its own file"
    ]
    assert reasons(BONNIE.format("") + BONNIE.format("grace"))[0].startswith(
        "results of 2 machines in one file: 'not named'"
    )
    assert len(read((BONNIE.format("ada") * 2).encode()).runs) == 14
    parts = read((BONNIE.format("ada") * 2 + BONNIE.format("grace")).encode()).parts
    assert [(part.name, part.line, len(part.reading.runs)) for part in parts] == [("ada", 1, 14), ("grace", 3, 7)]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (f"### ext4\n{SYSBENCH}### XFS\n{SYSBENCH}{SYSBENCH}", {"ext4": 1, "xfs": 2}),
        (f"### ext4\n{SYSBENCH}### XFS\n{SYSBENCH}### ext4\n{SYSBENCH}", {"ext4": 2, "xfs": 1}),
        (f"{SYSBENCH}== ext4 done ==\n{SYSBENCH}{SYSBENCH}== xfs done ==\n", {"ext4": 1, "xfs": 2}),
    ],
)
def test_sections_that_headings_or_closing_lines_tell_apart_are_parts(text, runs):
    reading = read(text.encode())
    assert reading.runs == ()
    assert reading.refused[0].reason.startswith("results of 2 file systems in one file: 'ext4' (line ")
    assert {part.name: len(part.reading.runs) for part in reading.parts} == runs
    assert all(part.name in text.splitlines()[part.line - 1].lower() for part in reading.parts)
    assert len({run.line for part in reading.parts for run in part.reading.runs}) == 3


@pytest.mark.parametrize(
    "text",
    [
        f"{SYSBENCH}== ext4 ==\n{SYSBENCH}== xfs ==\n{SYSBENCH}",  # above the second, or below the first?
        f"ext4\n{SYSBENCH}ext4 done, now xfs\n{SYSBENCH}xfs done\n",
    ],
)
def test_sections_that_nothing_tells_apart_are_no_parts(text):
    reading = read(text.encode())
    assert (reading.runs, reading.parts) == ((), ())
    assert "file systems in one file" in reading.refused[0].reason


def test_each_format_is_a_part_and_so_are_the_file_systems_in_it():
    assert [part.name for part in read((SYSBENCH + BONNIE.format("ada")).encode()).parts] == ["bonnie", "sysbench"]
    text = f"### ext4\n{SYSBENCH}### XFS\n{SYSBENCH}{BONNIE.format('ada')}"
    assert [part.name for part in read(text.encode()).parts] == ["bonnie", "sysbench, ext4", "sysbench, xfs"]


@pytest.mark.parametrize(
    "text",
    [
        f"### ext4\n{SYSBENCH}### ext4\n{SYSBENCH}",
        f"{SYSBENCH}== ext4, run 1 done ==\n{SYSBENCH}== ext4, run 2 done ==\n",
        f"/dev/sda1 ext4, /dev/sdb1 xfs, /boot vfat\n{SYSBENCH}{SYSBENCH}",
        f"### xfs after ext4\n{SYSBENCH}",
    ],
)
def test_repetitions_on_one_file_system_are_runs(text):
    reading = read(text.encode())
    assert (len(reading.runs), reading.refused) == (text.count("Doing "), ())


# Tables


def only_fault(text: str) -> table.Fault:
    parsed = table.read_table(text.encode())
    (fault,) = [*parsed.faults, *(item for item in parsed.rows() if isinstance(item, table.Fault))]
    return fault


def test_long_headers_cells_and_lines_are_faults_with_their_length():
    header = " " * 10 + "a" + " " * 65_000 + "b"
    assert only_fault(f"workload,value,{header}\nvarmail,1,2\n").expected == "at most 200 characters, not 65,002"
    assert len(header) > MAX_HEADER
    fault = only_fault(f"pair,workload,value\nxfs{' ' * 65_000}on ext4,varmail,1\n")
    assert (fault.line, fault.field, fault.found, fault.expected) == (2, "pair", "65,010 characters", "at most 10,000")
    fault = only_fault(f"pair,workload,value\nxfs{' ' * 500}on ext4,varmail,1\n")
    assert fault.expected == "like xfs-on-ext4, guest first, of at most 200 characters"
    fault = only_fault("workload,value\nvarmail," + "1" * (table.MAX_LINE + 1))
    assert (fault.field, fault.found) == ("line", "more than 1,048,576 characters")


def test_a_pair_may_be_spaced():
    parsed = table.read_table(b"pair,workload,value\nxfs   ON  ext4,varmail,1\n")
    assert [*parsed.rows()] == [(2, ("varmail", "1", "xfs", "ext4"))]


def workbook(change) -> bytes:
    """Return a small workbook whose sheet's XML was changed."""
    book, content, changed = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    for row in (("workload", "value", "unit"), ("varmail", 1, "MiB/s"), ("varmail", 2, "MiB/s")):
        book.active.append(row)
    book.save(content)
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name).decode()
            new.writestr(name, change(text) if name == "xl/worksheets/sheet1.xml" else text)
    return changed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda text: text.replace('<row r="3"', '<row r="1048576"'), "row 1,048,576"),
        (
            lambda text: text.replace("</sheetData>", '<row r="99999999999"><c/></row></sheetData>'),
            "a row numbered '99999999999'",
        ),
        (lambda text: text.replace("</sheetData>", '<row r="-5"><c/></row></sheetData>'), "a row numbered '-5'"),
        (
            lambda text: text.replace('<row r="3"', f'<row spans="{"1" * 2_000}" r="1048576"'),
            "a row that no spreadsheet writes so",
        ),
        (lambda text: text.replace('<row r="3"', '<row spans=">" r="1048576"'), "a row that no spreadsheet writes so"),
        (lambda text: text.replace("</sheetData>", "<row/>" * 200_000 + "</sheetData>"), "row 200,001"),
        (lambda text: text.replace('<row r="3"', '<row r="2"'), "row 2 below row 2"),
        (lambda text: text.replace("</row>", "<c/>" * 2_000_000 + "</row>"), "6,000,009 cells"),
    ],
)
def test_rows_of_a_workbook_that_are_too_many_too_far_down_or_out_of_order_are_refused(change, found):
    data = workbook(change)
    assert table.recognises(data)
    (fault,) = table.read_table(data).faults
    assert (fault.field, fault.found) == ("workbook", found)


def test_a_gap_in_a_workbook_is_passed_over():
    data = workbook(lambda text: text.replace('<row r="3"', '<row r="199999"'))
    assert [line for line, _ in table.read_table(data).rows()] == [2, 199_999]


def test_a_zip_that_lists_too_much_is_not_listed():
    data = b"PK\x03\x04" + b"PK\x01\x02" * (MAX_LISTED + 1)
    assert is_archive(data)
    with pytest.raises(ArchiveError, match="50,001 files"):
        next(members("a.zip", data))


# Apart


ROW = b"kvm,ext4,ext4,varmail,filebench,1,1,MiB/s\n"
HEADER = b"hypervisor,host_fs,guest_fs,workload,benchmark,vm_count,value,unit\n"


def test_what_is_read_apart_is_what_is_read_here():
    with ReadingProcess() as process:
        places = [
            process.read(chunks, lambda: None) for chunks in ([HEADER, ROW * 6_000], [SYSBENCH.encode()], [HEADER, ROW])
        ]
        one, two, three = map(process.content, places)
        assert [*one.rows()] == [*table.read_table(HEADER + ROW * 6_000).rows()]
        assert two == read(SYSBENCH.encode())
        assert (three.format, len([*three.rows()])) == ("csv", 1)


@pytest.mark.slow
def test_a_file_that_takes_too_long_is_stopped_and_the_next_is_read(monkeypatch):
    monkeypatch.setattr(reading_process, "CLOCK_FACTOR", 600)  # on a busy machine a second of work takes many
    with ReadingProcess(seconds=1) as process:
        with pytest.raises(NotRead) as stopped:
            process.read([HEADER, *[ROW * 25_000] * 60], lambda: None)
        assert stopped.value.args == ("more than 1 s of work", "a file that is read in that time: split it")
        assert len([*process.content(process.read([HEADER, ROW], lambda: None)).rows()]) == 1


@pytest.mark.slow
def test_a_file_that_needs_too_much_memory_is_refused_and_the_next_is_read():
    with ReadingProcess(memory_bytes=256 * 2**20) as process:
        with pytest.raises(NotRead, match="more than 256 MiB of memory"):
            process.read(["sysbench total file size\u1234\n".encode(), *[b"x\n" * 2**20] * 60], lambda: None)
        assert len([*process.content(process.read([HEADER, ROW], lambda: None)).rows()]) == 1


@pytest.mark.slow
def test_nobody_waits_for_what_is_not_wanted_any_more():
    class NotWantedError(Exception):
        pass

    def wait() -> None:
        raise NotWantedError

    with ReadingProcess() as process:
        with pytest.raises(NotWantedError):
            process.read([HEADER, *[ROW * 25_000] * 60], wait)
        assert process.read([HEADER, ROW], lambda: None) >= 0
