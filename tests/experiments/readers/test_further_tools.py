"""DiskSpd, pgbench, sysbench 1.1 and OLTP, IOzone's throughput mode, KDiskMark, dd and ioping, by what they print."""

from pathlib import Path

import pytest

from experiments.readers import read
from experiments.readers.base import Reading, Run

DATA = Path(__file__).parents[2] / "data"


def text(name: str) -> str:
    return (DATA / name).read_bytes().decode()


def reading(of: str) -> Reading:
    return read((text(of) if "\n" not in of else of).encode())


def figures(run: Run) -> tuple:
    return run.throughput_mib_s, run.ops_per_s, run.latency_ms, run.duration_s


def reason(of: str) -> str:
    parsed = reading(of)
    assert parsed.runs == ()
    return parsed.refused[0].reason


# DiskSpd


def test_diskspds_text_gives_the_whole_and_its_directions():
    parsed = reading("diskspd/composed-2.0.txt")
    (run,) = parsed.runs
    assert (parsed.format, parsed.refused) == ("diskspd", ())
    assert figures(run) == (40.0, 10240.0, 6.25, 10.0)
    assert (run.operation, run.block_size_bytes, run.line) == ("mixed", 4096, 46)
    assert run.percentiles_ms == {"p50": 5.25, "p95": 9.125, "p99": 18.125}
    assert [(part.name, part.throughput_mib_s, part.latency_ms) for part in run.operations] == [
        ("read", 28.0, 6.0),
        ("write", 12.0, 6.833),
    ]
    assert run.parameters.items() >= {"queue_depth": 32, "threads": 4, "read_percent": 70}.items()


def test_a_percentile_below_what_diskspd_prints_is_missing_and_not_zero():
    (run, *_) = reading(DISKSPD.replace("|      9.125", "|      0.000")).runs
    assert run.percentiles_ms == {"p50": 5.25, "p99": 18.125}


def test_diskspds_xml_adds_up_its_threads():
    parsed = reading("diskspd/composed-2.1.xml")
    (run,) = parsed.runs
    assert (parsed.tool_version, parsed.refused) == ("2.1.0-dev", ())
    assert figures(run) == (50.0, 6400.0, 2.5, 10.0)
    assert (run.operation, run.block_size_bytes) == ("random-read", 8192)
    assert run.percentiles_ms == {"p50": 2.25, "p99": 6.5}
    assert run.parameters == {"queue_depth": 16, "threads": 2, "read_percent": 100}


DISKSPD = text("diskspd/composed-2.0.txt")


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (DISKSPD[: DISKSPD.index("Total IO")], "the total of all I/O is missing"),
        (DISKSPD[: DISKSPD.index("Results")], "did not finish"),
        (DISKSPD.replace("10.00s", "20.00s"), "are not the 40 MiB/s beside them"),
        (text("diskspd/composed-2.1.xml")[:1500], "cut, or broken"),
        (text("diskspd/composed-2.1.xml").replace("10.00</Test", "0</Test"), "nothing was read or written"),
    ],
)
def test_diskspd_that_is_no_result_is_refused(of, words):
    assert words in reason(of)


def test_diskspd_without_its_settings_is_asked_about():
    cut = DISKSPD[DISKSPD.index("Results") : DISKSPD.index("Write IO")]
    assert reading(cut).runs[0].operation == ""


def test_diskspd_without_latency_has_none():
    table = "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  file"
    plain = DISKSPD.replace("10240.00 |    6.250 |     1.150", "10240.00")
    lines = [table if line.startswith("thread |") else line for line in plain.splitlines()]
    assert figures(reading("\n".join(lines)).runs[0]) == (40.0, 10240.0, None, 10.0)


# pgbench


def test_pgbenchs_rate_is_of_transactions_without_the_connections():
    first, second = reading("pgbench/pgbench-15.txt").runs
    lines = text("pgbench/pgbench-15.txt").splitlines()
    assert (first.workload, second.workload) == ("TPC-B (sort of)", "select only")
    assert lines[first.line - 1].startswith(f"tps = {first.ops_per_s:.6f}")
    assert figures(first)[2:] == (8.226, 3.0)
    assert first.parameters == {
        **{"rate_of": "transactions", "scale": 1, "query_mode": "simple", "clients": 4, "threads": 2, "run_seconds": 3}
    }
    assert reading("pgbench/pgbench-15.txt").tool_version == "15.20"


PGBENCH = text("pgbench/pgbench-15.txt")
OLD_PGBENCH = """transaction type: TPC-B (sort of)
scaling factor: 10
number of transactions actually processed: 10000/10000
latency average: 11.7 ms
tps = 85.184871 (including connections establishing)
tps = 85.296346 (excluding connections establishing)
"""


def test_pgbench_of_9_6_prints_two_rates():
    (run,) = reading(OLD_PGBENCH).runs
    assert (run.ops_per_s, run.latency_ms, run.line) == (85.296346, 11.7, 6)


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (OLD_PGBENCH.replace("10000/10000", "900/10000"), "900 of 10,000 transactions"),
        (OLD_PGBENCH[: OLD_PGBENCH.index("tps")], "the report is cut"),
        (OLD_PGBENCH + "Run was aborted; the above results are incomplete.\n", "pgbench failed: Run was aborted"),
        (OLD_PGBENCH.replace("85.296346", "0.000000"), "0 transactions a second"),
    ],
)
def test_pgbench_that_is_no_result_is_refused(of, words):
    assert words in reason(of)


def test_two_versions_of_pgbench_are_two_installations():
    both = PGBENCH + PGBENCH.replace("15.20", "16.1")
    assert "two installations" in reading(both).refused[-1].reason
    assert len(reading(both).runs) == 2


# sysbench


def test_sysbench_1_1_sums_up_in_other_words():
    files, oltp = reading("sysbench/composed-1.1.txt").runs
    assert (figures(files), files.operation, files.block_size_bytes) == ((100.0, 6400.0, 0.25, None), "mixed", 16384)
    assert (files.tool_version, files.working_set_bytes) == ("1.1.0-3ceba0b", 5 * 2**30)
    assert (figures(oltp), oltp.workload, oltp.operation) == ((None, 300.0, 26.5, 10.0), "oltp", "mixed")
    assert (oltp.percentiles_ms, oltp.parameters) == ({"p95": 94.1}, {"rate_of": "transactions", "threads": 8})


SYSBENCH = text("sysbench/composed-1.1.txt")


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (SYSBENCH.replace("sysbench 1.1.0-3ceba0b", "sysbench 2.0.1"), "sysbench 2.0.1 is not known here"),
        (SYSBENCH[SYSBENCH.index("$ sysbench oltp") : SYSBENCH.index("    time elapsed")], "did not finish"),
        (SYSBENCH[SYSBENCH.index("$ sysbench oltp") :].replace("(300.00", "(0.00"), "no transaction was done"),
        (SYSBENCH[: SYSBENCH.index("Throughput")], "did not finish"),
    ],
)
def test_sysbench_that_is_no_result_is_refused(of, words):
    assert words in reason(of)


OLTP = """Running the test with following options:
Number of threads: 16

[ 10s ] thds: 16 tps: 75.95 qps: 1540.26 (r/w/o: 1081.44/305.31/153.51) lat (ms,95%): 397.39 err/s: 0.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        read:                            364532
        write:                           104152
        other:                           52076
        total:                           520760
    transactions:                        26038  (86.68 per sec.)
    queries:                             520760 (1733.52 per sec.)

General statistics:
    total time:                          300.4042s
    total number of events:              26038

Latency (ms):
         min:                                   26.00
         avg:                                  184.57
         max:                                 2113.00
         99th percentile:                      404.61
"""  # of sysbench 1.0, as a public page quotes it


def test_sysbenchs_oltp_is_read_without_the_banner_that_people_leave_out():
    twice = reading(OLTP * 2)
    assert [(run.line, run.ops_per_s, run.duration_s) for run in twice.runs] == [
        (11, 86.68, 300.4042),
        (33, 86.68, 300.4042),
    ]
    run = twice.runs[0]
    assert (run.latency_ms, run.percentiles_ms, run.tool_version) == (184.57, {"p99": 404.61}, "")
    assert run.parameters == {"rate_of": "transactions", "threads": 16}
    assert len(reading(OLTP[OLTP.index("SQL") :]).runs) == 1
    (cut,) = reading(OLTP + OLTP[: OLTP.index("SQL")]).refused
    assert (cut.line, cut.reason) == (23, "the run did not finish: its statistics are missing")
    assert "FATAL" in reason(OLTP.replace("[ 10s ]", "FATAL: mysql_stmt_execute() returned error 1205\n[ 10s ]"))


# IOzone's throughput mode


def test_iozones_children_are_added_up_and_the_parent_is_shown_beside_them():
    parsed = reading("iozone/composed-throughput.txt")
    assert [(run.operation, run.throughput_mib_s, run.line) for run in parsed.runs] == [
        ("write", 100.0, 13),
        ("read", 200.0, 20),
        ("random-write", 20.0, 23),
    ]
    first, second, _ = parsed.runs
    assert first.parameters == {"processes": 4, "file_size_bytes": 2**30}
    assert (first.block_size_bytes, first.working_set_bytes, first.tool_version) == (131072, 4 * 2**30, "3.489")
    assert first.operations[0].throughput_mib_s == 90.0
    assert (first.warnings, len(second.warnings)) == ((), 1)


THROUGHPUT = text("iozone/composed-throughput.txt")


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (THROUGHPUT.replace("initial writers", "odd ones"), "what 'odd ones' did is not known"),
        (THROUGHPUT.replace("\tThroughput test", "\tTest"), "how many ran is not known"),
        (THROUGHPUT[: THROUGHPUT.index("\tParent")], "what the parent saw is missing"),
        (THROUGHPUT[: THROUGHPUT.index("\tChildren")], "has no figures"),
    ],
)
def test_throughput_mode_that_is_no_result_is_refused(of, words):
    assert words in reading(of).refused[0].reason


# KDiskMark


@pytest.mark.parametrize(("megabytes", "unit"), [("512.000", 1000 / 1024), ("500.000", 1.0), ("524.288", 1e6 / 2**20)])
def test_kdiskmarks_unit_shows_in_its_ratio_to_the_rate(megabytes, unit):
    run = reading(text("kdiskmark/composed-3.0.0.txt").replace("512.000", megabytes)).runs[0]
    assert run.throughput_mib_s == pytest.approx(500.0)
    assert (run.ops_per_s, run.latency_ms, run.operation) == (500.0, pytest.approx(13.84005), "read")


def test_kdiskmarks_lines_have_their_queue_and_threads():
    parsed = reading("kdiskmark/composed-3.0.0.txt")
    assert [(run.operation, run.block_size_bytes) for run in parsed.runs] == [
        ("read", 2**20),
        ("random-read", 4096),
        ("write", 2**20),
        ("random-write", 4096),
    ]
    assert parsed.runs[1].parameters == {"queue_depth": 32, "threads": 1, "file_size_bytes": 2**30, "repeats": 5}
    assert parsed.tool_version == "3.0.0"


def test_kdiskmark_3_2_sets_its_lines_wider():
    wide = """KDiskMark (3.2.0): https://github.com/JonMagon/KDiskMark
[Read]
Sequential   1 MiB (Q=  8, T= 1):    50.851 MB/s [     49.7 IOPS] < 158255.28 us>
Random       4 KiB (Q= 32, T= 1):     0.326 MB/s [     81.7 IOPS] < 391023.88 us>
"""  # of a public report
    assert [(run.operation, run.throughput_mib_s) for run in reading(wide).runs] == [
        ("read", pytest.approx(50.851 * 1000 / 1024)),
        ("random-read", pytest.approx(0.326 * 1000 / 1024)),
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("512.000", "300.000", "300.000 MB/s are not 500.0 IOPS of 1 MiB in any unit"),
        ("512.000 MB/s [    500.0 IOPS] < 13840.05 us>", "512.0", "a line of results that is cut"),
        ("500.0 IOPS", "0.0 IOPS", "is no result"),
        ("[Read]", "", "neither [Read], [Write] nor [Mix]"),
    ],
)
def test_a_line_of_kdiskmark_that_is_no_result_is_refused(old, new, words):
    parsed = reading(text("kdiskmark/composed-3.0.0.txt").replace(old, new, 1))
    assert words in parsed.refused[0].reason


@pytest.mark.parametrize("cut", ["  SEQ    1MiB (Q=  8, T= 1):   531.", "  Random Read 4KiB (Q= 32,T= 1) :   "])
def test_a_torn_line_of_crystaldiskmark_is_named(cut):
    parsed = reading(text("crystaldiskmark/composed-8.txt") + "[Read]\n" + cut)
    assert "a line of results that is cut" in parsed.refused[-1].reason


# dd


def test_dd_is_computed_from_its_bytes_and_seconds():
    synced, flushed, reads, plain = reading("dd/dd-9.1.txt").runs
    assert figures(synced) == (
        *(pytest.approx(4 / 0.333757), pytest.approx(64 / 0.333757), pytest.approx(1000 * 0.333757 / 64)),
        0.333757,
    )
    assert [(run.operation, run.block_size_bytes) for run in (synced, flushed, reads, plain)] == [
        ("write", 65536),
        ("write", 2**20),
        ("read", 2**20),
        ("write", 2**20),
    ]
    assert [run.parameters.get("flush") for run in (synced, flushed, plain)] == ["dsync", "fdatasync", "none"]
    assert flushed.ops_per_s is None
    assert ["may be in memory" in " ".join(run.warnings) for run in (synced, flushed, reads, plain)] == [
        *(False, False, False),
        True,
    ]


@pytest.mark.parametrize(
    "report",
    [
        "1024+0 records out\n1073741824 bytes (1.0GB) copied, 2.000000 seconds, 512.0MB/s\n",
        "1024+0 records out\n1073741824 bytes transferred in 2.000000 secs (536870912 bytes/sec)\n",
        "1024+0 records out\n1073741824 bytes (1,1 GB, 1,0 GiB) copied, 2,00000 s, 537 MB/s\n",
    ],
)
def test_dd_of_other_systems_is_asked_what_it_did(report):
    (run,) = reading(report).runs
    assert (run.throughput_mib_s, run.operation, run.could_be) == (512.0, "", ("write", "read"))


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ("^C9+0 records in\n9+0 records out\n9 bytes (9 B) copied, 1 s, 9 B/s\n", "interrupted"),
        ("dd: writing 'x': No space left\n9+0 records out\n9 bytes (9 B) copied, 1 s, 9 B/s\n", "No space left"),
        (
            "$ dd if=/dev/zero of=/dev/null bs=9\n9+0 records out\n81 bytes (81 B) copied, 1 s, 9 B/s\n",
            "no storage had a part",
        ),
    ],
)
def test_dd_that_is_no_result_is_refused(of, words):
    assert words in reason(of)


def test_dd_before_a_benchmark_is_passed_over_with_a_word():
    parsed = reading(text("dd/dd-9.1.txt") + text("sysbench/sysbench-1.0.txt"))
    assert {run.benchmark or parsed.benchmark for run in parsed.runs} == {"sysbench"}
    assert parsed.refused[-1].reason == "dd beside sysbench is not read: give it its own file"


# ioping


def test_ioping_is_rounded_and_its_order_is_in_the_command():
    first, second = reading("ioping/composed.txt").runs
    assert figures(first) == (14.6, 3750.0, pytest.approx(0.2667), pytest.approx(0.0024))
    assert (first.operation, first.block_size_bytes, first.parameters) == (
        *("random-read", 4096),
        {"threads": 1, "direct": True},
    )
    assert "Rounded" in first.note
    assert figures(second) == (1.0, 250.0, 4.0, pytest.approx(9.046))
    assert (second.operation, second.could_be[:2]) == ("", ("random-read", "read"))


def test_ioping_that_prints_no_request_has_the_size_that_all_of_them_fit():
    quiet = """--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---
5.03 k requests completed in 976.8 ms, {} read, 5.15 k iops, 20.1 MiB/s
generated 5.03 k requests in 1.00 s, 19.7 MiB, 5.03 k iops, 19.7 MiB/s
min/avg/max/mdev = 26.5 us / 194.1 us / 17.9 ms / 819.6 us
"""  # of ioping 1.3 -R
    assert reading(quiet.format("19.7 MiB")).runs[0].block_size_bytes == 4096
    assert reading(quiet.format("14.7 MiB")).runs[0].block_size_bytes is None


def test_ioping_that_is_cut_is_refused():
    whole = text("ioping/composed.txt")
    assert "the statistics are cut" in reason(whole[: whole.index("min/avg")])


def test_each_is_known_by_its_content():
    names = ("diskspd/composed-2.0.txt", "pgbench/pgbench-15.txt", "dd/dd-9.1.txt", "ioping/composed.txt")
    assert [read(text(name).encode()).format for name in names] == ["diskspd", "pgbench", "dd", "ioping"]
