"""Long runs of one sign, in every format: work grows with the size of a text, not with its square.

Each text is read in a process that the system stops after 20 s of processor time: a hundred times what a megabyte
takes, and a hundredth of what the square of its length would.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.imports.readers import READERS, read

ROOT = Path(__file__).resolve().parents[4]
MEGABYTE = 2**20
SEPARATORS = (
    *(" ", "\t", "\n", "\r\n", ",", ";", "|", ":", "-", "=", "/", '"', "(", "[", "{", "<", "0", "a"),
    *("\n ", "a ", "1,", "<Result>"),
)
# What a text of each format begins with, up to where a run of separators could hurt; the last is of no format.
BEGINNINGS = {
    "filebench": (
        "Filebench Version 1.5-alpha3\n0.386: Running...\n",
        "1.0: Per-Operation Breakdown\nreadfile1",
    ),
    "fio-json": ('{"fio version": "fio-3.16", "jobs": [', '{"fio version":'),
    "fio-terse": ("3;fio-3.16;job;0;0;1", "3;fio-3.16;job;0;0;1\nHost:"),
    "fio-text": ("job: (groupid=0, jobs=1): err= 0\nfio-3.16", "job: (groupid=0, jobs=1): err= 0\n"),
    "bonnie": ("1.97,1.97,host,1,1", "Version 1.97 ------Sequential Output------\nVersion 1"),
    "iozone": (
        "Iozone: Performance Test of File I/O\n",
        "Iozone: Performance Test of File I/O\n kB reclen write rewrite",
    ),
    "sysbench": (
        "sysbench 1.0.20 (using)\n5GiB total file size\n",
        "sysbench 1.0.20 (using)\n5GiB total file size\nDoing random read test\ntotal time:",
    ),
    "dbench": ("dbench version 4.00 - Copyright\n", "dbench version 4.00 - Copyright\nThroughput 1 MB/sec"),
    "postmark": ("PostMark v1.5 : 3/27/01\n", "PostMark v1.5\nTime:", "PostMark v1.5\nTime:\n 61 seconds total\n"),
    "crystaldiskmark": (
        "CrystalDiskMark 8.0.1 x64 (C) 2007-2021 hiyohiyo\n",
        "CrystalDiskMark 8.0.1 x64 (C) 2007-2021 hiyohiyo\n[Read]\nSEQ",
    ),
    "phoronix": ("<PhoronixTestSuite>", "<PhoronixTestSuite><Result><Description>"),
    "table": (
        "pair,value\nxfs",
        "Throughput",
        "value,pair,a",
        '{"value": 1, "workload": ',
    ),
    "nothing": ("", "some text\n"),
}
FEED = """
import resource, sys
from experiments.imports.readers import READERS, apart, read, table
from experiments.imports.readers.other_formats import what_it_is
from tests.experiments.imports.readers.test_hostile_texts import BEGINNINGS, MEGABYTE, SEPARATORS

reader = next((reader for reader in READERS if reader.name == sys.argv[1]), None)
for beginning in BEGINNINGS[sys.argv[1]]:
    for separator in SEPARATORS:
        print(repr((beginning, separator)), flush=True)
        data = (beginning + separator * (MEGABYTE // len(separator)) + "1\\n").encode()
        used = resource.getrusage(resource.RUSAGE_SELF)
        apart._limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 20)
        if reader:
            reader.recognises(data)
            found = reader.read(data)
            assert found.runs or found.refused
        else:
            what_it_is(data)
            assert read(data).refused
            if table.recognises(data) or sys.argv[1] == "table":
                for _ in table.read_table(data).rows():
                    pass
"""


def test_every_reader_is_fed():
    assert BEGINNINGS.keys() == {*(reader.name for reader in READERS), "table", "nothing"}


@pytest.mark.slow
@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_megabyte_of_any_sign_is_read_in_bounded_work(name):
    fed = subprocess.run([sys.executable, "-c", FEED, name], cwd=ROOT, capture_output=True, text=True)
    last = fed.stdout.splitlines()[-1] if fed.stdout else "nothing"
    assert not fed.returncode, f"stopped at {last} with status {fed.returncode}: {fed.stderr[-1000:]}"


def test_blank_lines_within_a_report_are_passed_over():
    report = (
        "PostMark v1.5 : 3/27/01\nTime:\n\n        61 seconds total\n\n"
        "        55 seconds of transactions (363 per second)\n\nData:\n"
        "        129.81 megabytes read (2.13 megabytes per second)\n"
        "        161.27 megabytes written (2.64 megabytes per second)\n"
    )
    (run,) = read(report.encode()).runs
    assert (run.line, run.ops_per_s, run.duration_s) == (2, 363.0, 61.0)
