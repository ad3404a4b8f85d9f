"""Outputs as people copy them: quoted, out of web pages, under commands, with words between runs that are alike."""

import pytest

from experiments.readers import read

DD = "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, {}, 458 MB/s\n"
COMMAND = "root@a:~# dd if=/dev/zero of=/mnt/{}/t bs=1M count=1024 oflag=direct\n"
FIO = """\
# fio --name=mail --rw=randrw --rwmixread=70 --direct=1 --bs=4k --size=1G
mail: (groupid=0, jobs=1): err= 0: pid=1384: Mon Apr 26 11:02:03 2021
  read: IOPS=7000, BW=27.3MiB/s (28.7MB/s)(1024MiB/37450msec)
  write: IOPS=3000, BW=11.7MiB/s (12.3MB/s)(439MiB/37450msec)
"""
PVEPERF = (
    "<p>root@a:~# pveperf<br>CPU BOGOMIPS: 6400.00<br>HD SIZE: 93.93 GB (/dev/sda)<br><b>BUFFERED READS: 780.00 MB/sec"
    "</b><br>AVERAGE SEEK TIME: 0.10 ms<br>FSYNCS/SECOND: 1400.00<br></p>"
)
SYSBENCH = """\
Running the test with following options:
Number of threads: 1

Extra file open flags: (none)
128 files, 8MiB each
1GiB total file size
Block size 16KiB
Doing random r/w test

File operations:
    reads/s:                      1000.00
    writes/s:                     500.00

Throughput:
    read, MiB/s:                  15.63
    written, MiB/s:               7.81

General statistics:
    total time:                          300.0401s
"""


@pytest.mark.parametrize(
    "between",
    [
        "Now with the virtio drivers of the guest.\n",
        "now with cache=none:\n",
        "cache=none:\n",
        "## On the second disk, an SSD\n",
        COMMAND.format("ssd"),
    ],
)
def test_words_between_runs_that_are_alike_are_asked_about(between):
    text = COMMAND.format("hdd") + DD.format("2.3 s") + between + COMMAND.format("hdd") + DD.format("1.1 s")
    reading = read(text.encode())
    assert not reading.runs
    assert [len(part.reading.runs) for part in reading.parts] == [1, 1]
    assert between.strip()[:40] in reading.parts[1].name


@pytest.mark.parametrize(
    "between", ["", "\n", "# Run 2\n", "Run 2:\n", "second time:\n", COMMAND.format("hdd"), "=== second run ===\n"]
)
def test_runs_that_only_a_number_tells_apart_are_repetitions(between):
    head = between.replace("2", "1").replace("second", "first")
    text = head + COMMAND.format("hdd") + DD.format("2.3 s") + between + COMMAND.format("hdd") + DD.format("2.4 s")
    assert len(read(text.encode()).runs) == 2


def test_what_is_quoted_is_read_without_its_marks():
    quoted = "".join(f"> {line}\n" for line in SYSBENCH.splitlines())
    (run,) = read(quoted.encode()).runs
    assert run == read(SYSBENCH.encode()).runs[0]
    assert (run.operation, run.throughput_mib_s, run.block_size_bytes) == ("mixed", 23.44, 16384)


def test_a_web_page_is_read_as_it_is_shown():
    assert [run.operation for run in read(PVEPERF.encode()).runs] == ["read", "random-read", "fsync"]


def test_the_command_says_what_the_output_does_not():
    (run,) = read(FIO.encode()).runs
    assert {"rwmixread": 70, "direct": 1, "bs": "4k", "rw": "randrw"}.items() <= run.parameters.items()


def test_more_jobs_than_fio_runs_is_no_table():
    text = (
        "a: (g=0): rw=randread, bs=4096B-4096B, ioengine=psync, iodepth=1\nerror: maximum number of jobs (8) reached.\n"
    )
    assert "more jobs than it can run" in read(text.encode()).refused[0].reason


def test_no_line_makes_a_reader_hang():
    line = "a..' " * 150 + "|"
    assert read(((DD.format("2.3 s") + line + "\n") * 50 + "<style>" * 2_000).encode()).runs


def test_two_outputs_of_fio_alike_are_repetitions_though_their_latencies_have_words():
    load = "mail: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.33\n"
    output = (
        load + FIO + "    clat (nsec): min={}, max=12831k, avg=246844.95, stdev=884819.80\n    lat (usec): 250=9.9%\n"
    )
    assert len(read((output.format(1532) + output.format("15k")).encode()).runs) == 2
    asked = read(f"with writeback:\n{output.format(1532)}now with cache=none:\n{output.format('15k')}".encode())
    assert [part.name.partition(": ")[2] for part in asked.parts] == ["with writeback:", "now with cache=none:"]
