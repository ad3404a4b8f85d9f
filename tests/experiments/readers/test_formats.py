"""What each format refuses, asks about and tells apart; what its captured outputs say is recorded (test_registry).

Layouts and figures are those of sources and public outputs that each reader's docstring names.
"""

from pathlib import Path

import pytest

from experiments.readers import read
from experiments.readers.base import Reading

DATA = Path(__file__).parents[2] / "data"


def text(name: str) -> str:
    return (DATA / name).read_bytes().decode()


def reading(of: str) -> Reading:
    return read(of.encode())


def figures(of: str) -> list[tuple]:
    """Return operation, MiB/s, rate and latency of each run."""
    return [(run.operation, run.throughput_mib_s, run.ops_per_s, run.latency_ms) for run in reading(of).runs]


def reasons(of: str) -> list[str]:
    return [refusal.reason for refusal in reading(of).refused]


def parts(of: str) -> list[tuple[str, int]]:
    return [(part.name, len(part.reading.runs)) for part in reading(of).parts]


BONNIE_LINE = text("bonnie/composed.csv").splitlines()[1]
BONNIE_TABLE = text("bonnie/bonnie-2.00-whole.txt").rsplit("\n", 2)[0]
IOZONE, THROUGHPUT = text("iozone/composed.txt"), text("iozone/composed-throughput.txt")
SYSBENCH_0_4, SYSBENCH = text("sysbench/composed-0.4.txt"), text("sysbench/composed-1.1.txt")
DBENCH = text("dbench/dbench-4.00.txt")
POSTMARK = text("postmark/composed.txt")
CRYSTALDISKMARK, KDISKMARK = text("crystaldiskmark/composed-8.txt"), text("kdiskmark/composed-3.0.0.txt")
DISKSPD, DISKSPD_XML = text("diskspd/composed-2.0.txt"), text("diskspd/composed-2.1.xml")
PGBENCH = text("pgbench/pgbench-15.txt")
DD, IOPING = text("dd/dd-9.1.txt"), text("ioping/composed.txt")
PVEPERF, ZFS = text("pveperf/composed.txt"), text("pveperf/composed-zfs.txt")
HDPARM = text("hdparm/hdparm-9.65.txt")
HAMMERDB, HAMMERDB_3 = text("hammerdb/composed-4.txt"), text("hammerdb/composed-3.txt")
RADOS = text("rados-bench/composed.txt")
OSD = text("osd-bench/composed.txt")
ELBENCHO, ELBENCHO_MANY = text("elbencho/elbencho-3.1-10-console.txt"), text("elbencho/elbencho-3.1-10.txt")
ELBENCHO_JSON, ELBENCHO_CSV = text("elbencho/elbencho-3.1-10.json"), text("elbencho/elbencho-3.1-10.csv")
PBENCH = text("pbench/composed-run.json")
AS_SSD, AS_SSD_IOPS = text("as-ssd/composed.txt"), text("as-ssd/composed-iops.txt")
HD_TUNE = text("hd-tune/composed.txt")
PHORONIX = text("phoronix/composed.xml")
PTS, PTS_5 = text("phoronix-csv/composed-10.8.csv"), text("phoronix-csv/composed-5.csv")
OLD_PGBENCH = """transaction type: TPC-B (sort of)
scaling factor: 10
number of transactions actually processed: 10000/10000
latency average: 11.7 ms
tps = 85.184871 (including connections establishing)
tps = 85.296346 (excluding connections establishing)
"""
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


@pytest.mark.parametrize(
    ("of", "words"),
    [
        # Bonnie++
        (BONNIE_TABLE, "send the CSV line"),
        (BONNIE_LINE[:120], "the line is cut"),
        # IOzone
        (IOZONE.replace("iozone test complete.", ""), "did not finish"),
        (IOZONE.replace("kBytes/sec", "ops/sec"), "the output is in ops/sec"),
        (THROUGHPUT.replace("initial writers", "odd ones"), "what 'odd ones' did is not known"),
        (THROUGHPUT.replace("\tThroughput test", "\tTest"), "how many ran is not known"),
        (THROUGHPUT[: THROUGHPUT.index("\tParent")], "what the parent saw is missing"),
        (THROUGHPUT[: THROUGHPUT.index("\tChildren")], "has no figures"),
        # sysbench
        (text("sysbench/sysbench-1.0-fatal.txt"), "sysbench failed"),
        (SYSBENCH_0_4.partition("Test execution")[0], "did not finish"),
        (SYSBENCH_0_4.replace("(5.2083Mb/sec)", "(0Mb/sec)"), "nothing was read or written"),
        (SYSBENCH_0_4.replace("Doing random r/w test", "Doing cpu test"), "no test of files"),
        (SYSBENCH.replace("sysbench 1.1.0-3ceba0b", "sysbench 2.0.1"), "sysbench 2.0.1 is not known here"),
        (SYSBENCH[SYSBENCH.index("$ sysbench oltp") : SYSBENCH.index("    time elapsed")], "did not finish"),
        (SYSBENCH[SYSBENCH.index("$ sysbench oltp") :].replace("(300.00", "(0.00"), "no transaction was done"),
        (SYSBENCH[: SYSBENCH.index("Throughput")], "did not finish"),
        # dbench
        (text("dbench/dbench-4.00-cut.txt"), "did not finish"),
        (DBENCH.replace("dbench version", "version"), "banner is missing"),
        (DBENCH.replace("dbench version", "tbench: dbench version"), "measures a network"),
        (DBENCH.replace("377.241", "0"), "no result"),
        # DiskSpd
        (DISKSPD[: DISKSPD.index("Total IO")], "the total of all I/O is missing"),
        (DISKSPD[: DISKSPD.index("Results")], "did not finish"),
        (DISKSPD.replace("10.00s", "20.00s"), "are not the 40 MiB/s beside them"),
        (DISKSPD_XML[:1500], "cut, or broken"),
        (DISKSPD_XML.replace("10.00</Test", "0</Test"), "nothing was read or written"),
        # pgbench
        (OLD_PGBENCH.replace("10000/10000", "900/10000"), "900 of 10,000 transactions"),
        (OLD_PGBENCH[: OLD_PGBENCH.index("tps")], "the report is cut"),
        (OLD_PGBENCH + "Run was aborted; the above results are incomplete.\n", "pgbench failed: Run was aborted"),
        (OLD_PGBENCH.replace("85.296346", "0.000000"), "0 transactions a second"),
        # dd, ioping
        ("^C9+0 records in\n9+0 records out\n9 bytes (9 B) copied, 1 s, 9 B/s\n", "interrupted"),
        ("dd: writing 'x': No space left\n9+0 records out\n9 bytes (9 B) copied, 1 s, 9 B/s\n", "No space left"),
        (
            "$ dd if=/dev/zero of=/dev/null bs=9\n9+0 records out\n81 bytes (81 B) copied, 1 s, 9 B/s\n",
            "no storage had a part",
        ),
        (IOPING[: IOPING.index("min/avg")], "the statistics are cut"),
        # elbencho, pbench
        (ELBENCHO, "interrupted in WRITE"),
        (ELBENCHO_MANY, "the phase MKDIRS does not only read or write blocks"),
        (ELBENCHO_JSON[:900] + "\n" + ELBENCHO_JSON, "the JSON of a phase is cut, or broken"),
        (ELBENCHO[: ELBENCHO.index("            IOPS")], "WRITE did nothing, or its figures are cut"),
        (PBENCH[:-9], "cut, or broken"),
        (PBENCH, "uperf in pbench: only its fio is read"),
        (PBENCH.replace('"aggregate"', '"client"'), "no rate of all clients together"),
        # pveperf, hdparm, HammerDB, Ceph, AS SSD, HD Tune, the suite's CSV
        (PVEPERF[: PVEPERF.index("FSYNCS")], "FSYNCS/SECOND is missing"),
        (PVEPERF[: PVEPERF.index("HD SIZE")], "FSYNCS/SECOND is missing"),
        (ZFS.replace("96.60", "0.00"), "FSYNCS/SECOND is 0"),
        (PVEPERF.replace("239.96 MB/sec", "239.96 GB/sec"), "MB/sec is expected"),
        (
            HDPARM.replace("64 MB in  0.14 seconds = 471.48 MB/sec", "read() failed: Input/output error"),
            "did not finish",
        ),
        (HDPARM[: HDPARM.index("0.14")], "did not finish"),
        (HDPARM[: HDPARM.index(" Timing buffered")], "cached reads are of memory"),
        (HAMMERDB[: HAMMERDB.index("Vuser 1:TEST")], "its result is missing"),
        (HAMMERDB.replace("Vuser 3:FINISHED SUCCESS", "Vuser 3:FINISHED FAILED"), "virtual users failed (3)"),
        (HAMMERDB.replace("18660 NOPM", "0 NOPM"), "0 new orders a minute"),
        (HAMMERDB + HAMMERDB.replace("v4.10", "v5.0"), "two installations"),
        (RADOS[: RADOS.index("Total time")], "did not finish"),
        (RADOS[: RADOS.index("Bandwidth")], "did not finish"),
        (RADOS.replace("Total time run:         10", "error during benchmark: (5)\nTotal time run: 10"), "(5)"),
        (RADOS.replace("made:      124", "made:      0", 1), "a total is zero"),
        (OSD[: OSD.index('"bytes_per_sec"')], "cut, or broken"),
        (OSD.replace('"elapsed_sec": 0.52926448199999998,', "").replace("2028743398.6548903", "0"), "are missing"),
        (AS_SSD[: AS_SSD.index("4K-64")], "did not finish, or its text is cut: 4K-64Threads, Access Times"),
        (AS_SSD.replace("Read: 60.63 MB/s", "Read: -"), "has no result: 'Read: -'"),
        (AS_SSD.replace("60.63 MB/s", "60.63"), "has no result: 'Read: 60.63'"),
        (AS_SSD.replace("60.63", "0.00"), "0 MB/s is no result"),
        (AS_SSD.replace("Read:", "Lesen:").replace("Write:", "Schreiben:"), "switch its language"),
        (HD_TUNE[: HD_TUNE.index("Access")], "Access Time is missing"),
        (HD_TUNE.replace(": 0.4 ms", ": 0.0 ms"), "Access Time is 0"),
        (HD_TUNE.replace(": EXAMPLE SSD Benchmark", ""), "names the disk is missing"),
        (PTS, "no storage test whose unit is known"),
        (PTS_5, "the table has no unit; send composite.xml"),
        (PTS_5.replace(",6250", ",0"), "the test failed"),
        (PTS.replace(',"xfs"', ',"xfs","zfs"'), "the line is cut, or has cells too many: 4, 5 are expected"),
    ],
)
def test_what_is_no_result_is_refused(of, words):
    assert any(words in reason for reason in reasons(of)), reasons(of)


@pytest.mark.parametrize(("hosts", "asked"), [(2, 2), (50, 50), (51, 0)])
def test_hosts_of_one_file_are_asked_about_unless_they_are_more_than_anybody_answers_for(hosts, asked):
    line = BONNIE_LINE.split(",")
    parsed = reading("".join(",".join([*line[:2], f"host{number}", *line[3:]]) + "\n" for number in range(hosts)))
    assert len(parsed.parts) == asked
    assert parsed.runs == ()
    assert f"results of {hosts} " in parsed.refused[0].reason


def test_elbencho_says_the_same_in_text_csv_and_json():
    in_text, in_csv, in_json = (reading(of).runs for of in (ELBENCHO_MANY, ELBENCHO_CSV, ELBENCHO_JSON))
    loads = [
        [(run.workload, run.operation, run.block_size_bytes) for run in runs] for runs in (in_text, in_csv, in_json)
    ]
    assert loads[0] == loads[1] == loads[2]
    for printed, row, document in zip(in_text, in_csv, in_json, strict=True):
        assert printed.parameters == row.parameters == document.parameters
        assert printed.throughput_mib_s == pytest.approx(document.throughput_mib_s, rel=0.01)
        assert row.throughput_mib_s == pytest.approx(document.throughput_mib_s, rel=0.01)
        assert row.duration_s == pytest.approx(document.duration_s)
        assert printed.latency_ms in (None, pytest.approx(document.latency_ms, rel=0.01))


def test_a_percentile_of_elbencho_is_the_end_of_its_bin_as_its_text_prints_it():
    in_text, in_json = ({run.line: run for run in reading(of).runs} for of in (ELBENCHO_MANY, ELBENCHO_JSON))
    assert in_text[6].percentiles_ms == {"p50": 0.091, "p99": 2.048}
    assert in_json[1].percentiles_ms == {"p50": 0.091, "p95": 0.152, "p99": 2.048}
    assert "by 19 % at most" in in_text[6].note
    mix_in_text, mix_in_json = (
        next(run for run in runs.values() if run.workload == "mix") for runs in (in_text, in_json)
    )
    assert (mix_in_text.operation, mix_in_text.percentiles_ms) == ("mixed", {})  # those of reads and writes apart
    assert mix_in_json.percentiles_ms == {"p50": 0.064, "p95": 0.304, "p99": 2.048}
    assert mix_in_text.ops_per_s == mix_in_json.ops_per_s == 4155 + 9990


@pytest.mark.parametrize(
    ("command", "operation", "threads"),
    [
        ("root@a:~# /opt/elbencho -w --rand=true -t16 f", "random-write", 16),
        ("$ sudo elbencho --write --threads=2 --rand=false f", "write", 2),
        ('COMMAND LINE: "elbencho" "-w" "-t" "8" "--rand" "f" ', "random-write", 8),
        ("$ elbencho -w --rand \\", "", None),  # the rest of it stands on the next line
        ("I ran elbencho on the disk of a guest:", "", None),
        ("", "", None),
    ],
)
def test_the_load_of_elbencho_s_text_is_what_its_command_says(command, operation, threads):
    phase = ELBENCHO[ELBENCHO.index("OPERATION") : ELBENCHO.index("READ ")]
    (run,) = reading(f"{command}\n{phase}").runs
    assert (run.operation, run.parameters.get("threads")) == (operation, threads)
    assert run.could_be == (() if operation else ("write", "random-write"))


def test_old_and_other_spellings_of_elbencho_are_read():
    old = """OPERATION RESULT TYPE        FIRST DONE  LAST DONE
READ      Elapsed ms       :        4100        4105
          IOPS             :        2500        2490
          Throughput MB/s  :        2621        2611
          IO lat us        : [ min=80 avg=400 max=9000 ]
          IO lat %ile      : [ 1%<=91 50%<=362 75%<=512 99%<=1448 ]
"""
    (run,) = reading(old).runs
    assert (run.duration_s, run.latency_ms, run.percentiles_ms) == (4.105, 0.4, {"p50": 0.362, "p99": 1.448})
    assert run.throughput_mib_s == pytest.approx(2611e6 / 2**20)


def test_each_sample_of_pbench_is_a_run_of_its_iteration():
    runs = reading(PBENCH).runs
    assert [(run.operation, run.block_size_bytes, run.ops_per_s) for run in runs] == [
        *(("write", 65536, rate) for rate in (2210.5, 2190.25, 2204.0)),
        ("mixed", 4096, 15321.5),
    ]
    assert (runs[0].parameters["iodepth"], runs[0].parameters["numjobs"]) == (8, 4)
    (of_two_jobs,) = reading(text("pbench/composed-sample.json")).runs
    assert "numjobs" not in of_two_jobs.parameters


def test_a_short_postmark_says_how_uncertain_it_is():
    (run,) = reading(POSTMARK.replace("60 seconds total", "10 seconds total")).runs
    assert "uncertain by 10 %" in run.warnings[0]


def test_a_percentile_below_what_diskspd_prints_is_missing_and_not_zero():
    (run, *_) = reading(DISKSPD.replace("|      9.125", "|      0.000")).runs
    assert run.percentiles_ms == {"p50": 5.25, "p99": 18.125}


def test_diskspd_without_its_settings_is_asked_about():
    cut = DISKSPD[DISKSPD.index("Results") : DISKSPD.index("Write IO")]
    assert reading(cut).runs[0].operation == ""


def test_diskspd_without_latency_has_none():
    table = "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  file"
    plain = DISKSPD.replace("10240.00 |    6.250 |     1.150", "10240.00")
    lines = [table if line.startswith("thread |") else line for line in plain.splitlines()]
    assert figures("\n".join(lines)) == [("mixed", 40.0, 10240.0, None)]


def test_pgbench_of_9_6_prints_two_rates():
    (run,) = reading(OLD_PGBENCH).runs
    assert (run.ops_per_s, run.latency_ms, run.line) == (85.296346, 11.7, 6)


def test_two_versions_of_pgbench_are_two_installations():
    both = PGBENCH + PGBENCH.replace("15.20", "16.1")
    assert "two installations" in reading(both).refused[-1].reason
    assert len(reading(both).runs) == 2


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
    assert "FATAL" in reasons(OLTP.replace("[ 10s ]", "FATAL: mysql_stmt_execute() returned error 1205\n[ 10s ]"))[0]


@pytest.mark.parametrize(("megabytes", "unit"), [("512.000", 1000 / 1024), ("500.000", 1.0), ("524.288", 1e6 / 2**20)])
def test_kdiskmarks_unit_shows_in_its_ratio_to_the_rate(megabytes, unit):
    run = reading(KDISKMARK.replace("512.000", megabytes)).runs[0]
    assert run.throughput_mib_s == pytest.approx(500.0)
    assert (run.ops_per_s, run.latency_ms, run.operation) == (500.0, pytest.approx(13.84005), "read")


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
    parsed = reading(KDISKMARK.replace(old, new, 1))
    assert words in parsed.refused[0].reason


@pytest.mark.parametrize("cut", ["  SEQ    1MiB (Q=  8, T= 1):   531.", "  Random Read 4KiB (Q= 32,T= 1) :   "])
def test_a_torn_line_of_crystaldiskmark_is_named(cut):
    parsed = reading(CRYSTALDISKMARK + "[Read]\n" + cut)
    assert "a line of results that is cut" in parsed.refused[-1].reason


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


def test_dd_before_a_benchmark_is_passed_over_with_a_word():
    parsed = reading(DD + text("sysbench/sysbench-1.0.txt"))
    assert {run.benchmark or parsed.benchmark for run in parsed.runs} == {"sysbench"}
    assert parsed.refused[-1].reason == "dd beside sysbench is not read: give it its own file"


def test_ioping_that_prints_no_request_has_the_size_that_all_of_them_fit():
    quiet = """--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---
5.03 k requests completed in 976.8 ms, {} read, 5.15 k iops, 20.1 MiB/s
generated 5.03 k requests in 1.00 s, 19.7 MiB, 5.03 k iops, 19.7 MiB/s
min/avg/max/mdev = 26.5 us / 194.1 us / 17.9 ms / 819.6 us
"""  # of ioping 1.3 -R
    assert reading(quiet.format("19.7 MiB")).runs[0].block_size_bytes == 4096
    assert reading(quiet.format("14.7 MiB")).runs[0].block_size_bytes is None


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaa">]><PhoronixTestSuite>&a;</PhoronixTestSuite>'


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        (BOMB, "defines or refers to something"),
        ('<!DOCTYPE x SYSTEM "http://127.0.0.1/x"><PhoronixTestSuite/>', "there is no result"),
        ("<PhoronixTestSuite>" + "<a>" * 5000, "nested deeper"),
        (PHORONIX[:600], "cut, or broken"),
    ],
)
def test_hostile_xml_is_refused(xml, reason):
    assert reason in reasons(xml + "\n")[0]


def test_parts_of_a_file_are_its_disks_machines_and_systems():
    assert parts(PVEPERF + ZFS) == [("/dev/mapper/pve-root", 3), ("tank", 1)]
    assert parts(HDPARM + HDPARM.replace("loop1", "sda")) == [("/dev/loop1", 1), ("/dev/sda", 1)]
    assert parts(AS_SSD + AS_SSD.replace("EXAMPLE", "OTHER")) == [("EXAMPLE SSD", 8), ("OTHER SSD", 8)]
    assert parts(HD_TUNE + HD_TUNE.replace("EXAMPLE", "OTHER")) == [("EXAMPLE SSD", 2), ("OTHER SSD", 2)]
    assert parts(PTS) == [("ext4", 3), ("xfs", 2)]
    assert len(reading(ZFS + ZFS).runs) == 2


def test_hdparm_says_rates_below_a_megabyte_and_offsets_in_other_words():
    (run,) = reading(HDPARM.replace("471.48 MB", "512.00 kB").replace("reads:  64", "reads (offset 100 GB):  64")).runs
    assert (run.throughput_mib_s, run.parameters["offset_gb"]) == (0.5, 100)


def test_two_runs_of_hammerdb_3_follow_each_other():
    twice = HAMMERDB_3 + HAMMERDB_3.replace("13200", "13260")
    assert [run.ops_per_s for run in reading(twice).runs] == [220, 221]


def test_reads_of_rados_bench_whose_command_is_not_shown_are_asked_about():
    unnamed = RADOS.replace("10 seq", "10").replace("10 rand", "10")
    assert [run.could_be for run in reading(unnamed).runs] == [(), *[("read", "random-read")] * 2]


def test_as_ssds_megabyte_is_what_its_rates_say_it_is():
    loads = {(run.operation, run.block_size_bytes, run.parameters["queue_depth"]): run for run in reading(AS_SSD).runs}
    for run in reading(AS_SSD_IOPS).runs:
        twin = loads[run.operation, run.block_size_bytes, run.parameters["queue_depth"]]
        if twin.latency_ms:
            assert run.latency_ms == pytest.approx(twin.latency_ms, rel=0.01)
        else:
            assert run.ops_per_s * run.block_size_bytes / 2**20 == pytest.approx(twin.throughput_mib_s, rel=1e-3)
    both = reading(AS_SSD + AS_SSD_IOPS)  # one test in both forms counts once
    assert (len(both.runs), [refusal.line for refusal in both.refused]) == (8, [36])
    assert reading(AS_SSD.replace("60.63", "60,63")).runs[2].throughput_mib_s == 60.63


def test_hd_tune_pro_may_have_written():
    pro = reading(HD_TUNE.replace("HD Tune:", "HD Tune Pro:"))
    assert [run.could_be for run in pro.runs] == [("read", "write"), ("random-read", "random-write")]


def test_the_suites_csv_may_name_a_test_by_its_identifier():
    assert figures(PTS_5.replace('"PostMark - Disk', '"pts/postmark-1.1.2 - Disk')) == figures(PTS_5)
