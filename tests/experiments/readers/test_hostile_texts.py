"""Long runs of one sign, in every format: work grows with the size of a text, not with its square.

One process reads them all, and the system stops it where one takes a second of processor time: twenty times what
a text of this size takes in the slowest format, and a fraction of what the square of its length would.
"""

import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest

from experiments.readers import READERS, read, table

ROOT = Path(__file__).resolve().parents[3]
LENGTH = 96 * 2**10  # more than the readers take at once anywhere
SECONDS = 1.0
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
    "diskspd": (
        "Command Line: diskspd.exe\nResults for timespan 1:\nTotal IO\ntotal:",
        "<Results><TimeSpan><TestTimeSeconds>1</TestTimeSeconds>",
    ),
    "pgbench": ("transaction type: ", "transaction type: a\nnumber of transactions actually processed: 1\ntps = "),
    "kdiskmark": ("KDiskMark (3.0.0): https://github.com\n[Read]\nSequential", "KDiskMark: https:"),
    "dd": ("1+0 records out\n1 bytes copied, 1 s\ndd ", "1+0 records out\n9 bytes (", "dd if=/dev/zero of="),
    "ioping": ("--- . ioping statistics ---\n1 requests completed in 1 ms, ", "--- . ioping statistics ---\nioping"),
    "pveperf": ("CPU BOGOMIPS:      1\nFSYNCS/SECOND:", "CPU BOGOMIPS: 1\nFSYNCS/SECOND:     1", "CPU BOGOMIPS:"),
    "hdparm": (" Timing buffered disk reads: 1 MB in  1.00 seconds =", " Timing cached reads", "/dev/sda:\n Timing"),
    "hammerdb": (
        "Vuser 1:TEST RESULT : System achieved 1 NOPM from 1 ",
        "Vuser 1:RUNNING\nVuser 1:Beginning rampup time of 1 minutes\n>>>>> PROC: NEWORD\n",
    ),
    "rados-bench": ("Total time run: 1\nTotal reads made: 1\n", "Total time run: 1\n rados made: bench "),
    "elbencho": (
        "RESULT TYPE FIRST DONE LAST DONE\nWRITE  Elapsed time : 1s 1s\nIO lat % us : [ ",
        "elbencho -w f\nOPERATION RESULT TYPE FIRST DONE LAST DONE\nWRITE Elapsed time",
        "time ms [first],MiB/s [last],operation\n",
        '{"phase_type":"WRITE","last_done":{"iops":"1"',
    ),
    "pbench": ('{"parameters": {"benchmark": [{"benchmark_name": "fio", "primary_metric": "iops_sec", "bs": ',),
    "osd-bench": ('{"bytes_written": 1, "blocksize": 1', "bench: wrote 1 MB in blocks of 1 KB in 1"),
    "as-ssd": ("AS SSD Benchmark 2.0\n4K:\nRead: ", "AS SSD Benchmark 2.0"),
    "hd-tune": ("HD Tune: a Benchmark\nTransfer Rate Average", "HD Tune: "),
    "phoronix-csv": (' ,,"a"\n\n ,,"a"\n"PostMark - ', ' ,,"a"\n ,,"a'),
    "zpool-iostat": (
        "              capacity     operations     bandwidth\npool alloc free read write read write\ntank",
        "tank   total_wait\nlatency read write\n",
        "a          total_wait ",
    ),
    "kdb-settings": ("kdb settings 1, host\na\tb\t", "kdb settings 1, host"),
    "lsblk": ('{"blockdevices": [', '{"blockdevices": [{"name":'),
    "findmnt": ('{"filesystems": [{"fstype": ', '{"filesystems": [{"fstype": "xfs", "target":'),
    "zpool": ("pool: a\nstate: ONLINE\nREAD WRITE CKSUM\n NAME STATE\n", "pool: a\nstate: ONLINE\nREAD WRITE CKSUM"),
    "qm-config": ("cores: 1\nmemory: 1\nscsi0: a", "cores: 1\nmemory: 1\nscsi0: a\n"),
    "virsh-dumpxml": ("<domain type='kvm'>", "<domain type='kvm'><devices><disk"),
    "iostat": ('{"sysstat": {"hosts": [{"statistics": [{"disk":', '{"sysstat": {"hosts": "disk"'),
    "pidstat": ("PID Command %CPU CPU)\nAverage: PID", "PID Command %CPU CPU)\nAverage: PID Command\nAverage: "),
    "table": (
        "pair,value\nxfs",
        "Throughput",
        "value,pair,a",
        '{"value": 1, "workload": ',
    ),
    "nothing": ("", "some text\n"),
}


def feed() -> None:
    """Read every text, each under its own limit; says before each which it is."""
    by_name = {reader.name: reader for reader in READERS}
    for name, beginnings in BEGINNINGS.items():
        for beginning, separator in product(beginnings, SEPARATORS):
            print(repr((name, beginning, separator)), flush=True)
            data = (beginning + separator * (LENGTH // len(separator)) + "1\n").encode()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # then SIGPROF, which ends the process
            if reader := by_name.get(name):
                reader.recognises(data)
                reading = reader.read(data)
                assert reading.runs or reading.refused or reading.facts
            else:
                if name == "nothing":
                    assert read(data).refused  # every reader looked at it, and whoever says what it is
                if table.recognises(data) or name == "table":
                    for _ in table.read_table(data).rows():
                        pass
    signal.setitimer(signal.ITIMER_PROF, 0)


def test_every_reader_is_fed():
    assert BEGINNINGS.keys() == {*(reader.name for reader in READERS), "table", "nothing"}


@pytest.mark.nightly
@pytest.mark.slow
def test_a_long_run_of_any_sign_is_read_in_bounded_work():
    fed = subprocess.run(
        [sys.executable, "-c", f"import {__name__} as texts; texts.feed()"], cwd=ROOT, capture_output=True, text=True
    )
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


@pytest.mark.parametrize(
    ("begin", "lines"),
    [
        ("sysbench\nExtra file open flags\n", "5 files, \n"),
        ("PostMark v1\n", "Transactions: 5\n"),
        ("dbench version 4.00 - Copyright\n", "Flush 1 1.0 1.0\nThroughput 5 MB/sec 2 procs\n"),
    ],
)
def test_a_report_of_many_lines_that_count_is_read_in_bounded_work(begin, lines):
    started = time.process_time()
    assert read((begin + lines * 20_000).encode()).refused
    assert time.process_time() - started < 10  # half a second on a quiet machine; the square of it takes minutes
