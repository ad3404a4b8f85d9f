"""pveperf, hdparm, HammerDB, rados bench, an OSD's bench, AS SSD, HD Tune and the suite's CSV, each by what it prints.

Layouts and figures are those of sources and public outputs that each reader's docstring names.
"""

from pathlib import Path

import pytest

from experiments.readers import read
from experiments.readers.base import Reading, Run

DATA = Path(__file__).parents[2] / "data"


def text(name: str) -> str:
    return (DATA / name).read_text()


def figures(parsed_or_text: Reading | str) -> list[tuple]:
    """Return operation, MiB/s, rate and latency of each run."""
    runs = (read(parsed_or_text.encode()) if isinstance(parsed_or_text, str) else parsed_or_text).runs
    return [(run.operation, run.throughput_mib_s, run.ops_per_s, run.latency_ms) for run in runs]


def only_run(of: str) -> Run:
    reading = read(of.encode())
    assert reading.refused == ()
    (run,) = reading.runs
    return run


def parts(of: str) -> list[tuple[str, int]]:
    return [(part.name, len(part.reading.runs)) for part in read(of.encode()).parts]


def reasons(of: str) -> list[str]:
    return [refusal.reason for refusal in read(of.encode()).refused]


PVEPERF, ZFS = text("pveperf/composed.txt"), text("pveperf/composed-zfs.txt")
HDPARM = text("hdparm/hdparm-9.65.txt")
HAMMERDB, HAMMERDB_3 = text("hammerdb/composed-4.txt"), text("hammerdb/composed-3.txt")
RADOS = text("rados-bench/composed.txt")
OSD = text("osd-bench/composed.txt")
AS_SSD, AS_SSD_IOPS = text("as-ssd/composed.txt"), text("as-ssd/composed-iops.txt")
HD_TUNE = text("hd-tune/composed.txt")
PTS, PTS_5 = text("phoronix-csv/composed-10.8.csv"), text("phoronix-csv/composed-5.csv")


# What is read


def test_pveperf_reads_seeks_and_flushes_for_three_seconds_each():
    assert figures(PVEPERF) == [
        ("read", 239.96, None, None),
        ("random-read", None, None, 0.24),
        ("fsync", None, 691.5, None),
    ]
    runs = read(PVEPERF.encode()).runs
    assert [(run.line, run.block_size_bytes, run.duration_s) for run in runs] == [
        (5, 2 * 2**20, 3.0),
        (6, 512, 3.0),
        (7, None, 3.0),
    ]
    assert "example.org" not in str(runs)


def test_pveperf_on_zfs_has_fsyncs_only():
    assert figures(ZFS) == [("fsync", None, 96.6, None)]
    assert parts(PVEPERF + ZFS) == [("/dev/mapper/pve-root", 3), ("tank", 1)]
    assert len(read((ZFS + ZFS).encode()).runs) == 2


def test_hdparm_counts_reads_of_the_disk_and_not_of_memory():
    assert figures(HDPARM) == [("read", 471.48, None, None)]
    run = only_run(HDPARM)
    assert (run.line, run.duration_s, run.parameters) == (4, 0.14, {"direct": "no"})
    assert run.warnings == ("Its cached reads are of memory, and not counted.",)
    assert only_run(text("hdparm/hdparm-9.65-direct.txt")).parameters == {"direct": "yes"}
    slow = HDPARM.replace("471.48 MB", "512.00 kB").replace("reads:  64", "reads (offset 100 GB):  64")
    assert (only_run(slow).throughput_mib_s, only_run(slow).parameters["offset_gb"]) == (0.5, 100)
    assert parts(HDPARM + HDPARM.replace("loop1", "sda")) == [("/dev/loop1", 1), ("/dev/sda", 1)]


def test_hammerdb_counts_new_orders_and_keeps_what_the_database_counts():
    run = only_run(HAMMERDB)
    assert (run.workload, run.line, run.ops_per_s, run.duration_s) == ("tproc-c", 21, 18660 / 60, 300.0)
    assert {part.name: part.ops_per_s for part in run.operations} == {"new orders": 311.0, "transactions": 43386 / 60}
    assert run.parameters == {
        **{"rate_of": "new orders", "database": "PostgreSQL"},
        **{"rampup_minutes": 2, "virtual_users": 2},
    }
    # Of all users together, and not of the first one.
    assert (run.latency_ms, run.percentiles_ms) == (36.332, {"p50": 19.126, "p95": 104.921, "p99": 210.118})
    assert read(HAMMERDB.encode()).tool_version == "4.10"


def test_hammerdb_3_prints_its_figures_the_other_way_round():
    run = only_run(HAMMERDB_3)
    assert (run.ops_per_s, run.parameters["database"], run.latency_ms) == (220.0, "SQL Server", None)
    assert [run.ops_per_s for run in read((HAMMERDB_3 + HAMMERDB_3.replace("13200", "13260")).encode()).runs] == [
        220,
        221,
    ]


def test_rados_bench_is_computed_and_its_order_is_in_the_command():
    assert figures(RADOS) == [
        ("write", pytest.approx(46.5625, rel=1e-4), pytest.approx(124 / 10.6523), 1370.7),
        ("read", pytest.approx(111.441, rel=1e-4), pytest.approx(124 / 4.45077), 567.093),
        ("random-read", pytest.approx(1441.146, rel=1e-4), pytest.approx(7430 / 20.622478), pytest.approx(44.3867)),
    ]
    runs = read(RADOS.encode()).runs
    assert [(run.line, run.parameters.get("queue_depth"), run.block_size_bytes) for run in runs] == [
        (10, 16, 4 * 2**20),
        (30, None, 4 * 2**20),
        (43, 32, 4 * 2**20),
    ]
    unnamed = RADOS.replace("10 seq", "10").replace("10 rand", "10")
    assert [run.could_be for run in read(unnamed.encode()).runs] == [(), *[("read", "random-read")] * 2]


def test_an_osds_bench_is_of_one_osd():
    assert figures(OSD) == [
        ("write", pytest.approx(2028743398.65 / 2**20), pytest.approx(483.690118), None),
        ("write", 128.0, 32.0, None),
    ]
    assert [run.parameters for run in read(OSD.encode()).runs] == [{"osd": "osd.62"}, {"osd": "osd.0"}]
    logged = read(text("osd-bench/composed-log.txt").encode()).runs
    assert [(run.parameters["osd"], run.throughput_mib_s) for run in logged] == [
        ("osd.0", pytest.approx(1024 / 4.575725)),
        ("osd.1", pytest.approx(1024 / 22.559266)),
    ]


def test_as_ssds_megabyte_is_what_its_rates_say_it_is():
    by_load = {
        (run.operation, run.block_size_bytes, run.parameters["queue_depth"]): run for run in read(AS_SSD.encode()).runs
    }
    assert by_load["read", 16 * 2**20, 1].throughput_mib_s == 2468.65
    assert by_load["random-write", 4096, 64].throughput_mib_s == 259.35
    assert by_load["random-read", 512, 1].latency_ms == 0.098
    for run in read(AS_SSD_IOPS.encode()).runs:
        twin = by_load[run.operation, run.block_size_bytes, run.parameters["queue_depth"]]
        if twin.latency_ms:
            assert run.latency_ms == pytest.approx(twin.latency_ms, rel=0.01)
        else:
            assert run.ops_per_s * run.block_size_bytes / 2**20 == pytest.approx(twin.throughput_mib_s, rel=1e-3)


def test_one_test_of_as_ssd_in_both_forms_counts_once():
    both = read((AS_SSD + AS_SSD_IOPS).encode())
    assert (len(both.runs), [refusal.line for refusal in both.refused]) == (8, [36])
    assert parts(AS_SSD + AS_SSD.replace("EXAMPLE", "OTHER")) == [("EXAMPLE SSD", 8), ("OTHER SSD", 8)]
    assert only_comma(AS_SSD.replace("60.63", "60,63")) == 60.63


def only_comma(of: str) -> float | None:
    return read(of.encode()).runs[2].throughput_mib_s


def test_hd_tunes_megabyte_is_said_to_be_an_assumption():
    assert figures(HD_TUNE) == [
        ("read", pytest.approx(308.1e6 / 2**20), None, None),
        ("random-read", None, None, 0.4),
    ]
    first, second = read(HD_TUNE.encode()).runs
    assert ("taken for 10**6 bytes" in first.note, first.warnings, second.note) == (True, (first.note,), "")
    pro = read(HD_TUNE.replace("HD Tune:", "HD Tune Pro:").encode())
    assert [run.could_be for run in pro.runs] == [("read", "write"), ("random-read", "random-write")]
    assert parts(HD_TUNE + HD_TUNE.replace("EXAMPLE", "OTHER")) == [("EXAMPLE SSD", 2), ("OTHER SSD", 2)]


def test_the_suites_csv_has_a_system_a_column():
    assert parts(PTS) == [("ext4", 3), ("xfs", 2)]
    ext4 = read(PTS.encode()).parts[0].reading
    assert figures(ext4) == [
        ("random-read", None, 81233.0, None),
        ("random-read", 317 * 1000 / 1024, None, None),
        ("write", 102.4, None, None),
    ]
    assert {run.benchmark for run in ext4.runs} == {"fio", "tiobench"}
    assert ext4.runs[0].parameters == {"engine": "Linux AIO", "direct": "Yes", "block_size": "4KB"}
    assert figures(PTS_5) == [("mixed", None, 6250.0, None)]
    identified = PTS_5.replace('"PostMark - Disk', '"pts/postmark-1.1.2 - Disk')
    assert figures(identified) == figures(PTS_5)


# What is no result


@pytest.mark.parametrize(
    ("of", "words"),
    [
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


@pytest.mark.parametrize(
    ("of", "name"),
    [
        (PVEPERF, "pveperf"),
        (HDPARM, "hdparm"),
        (HAMMERDB_3, "hammerdb"),
        (RADOS, "rados-bench"),
        (OSD, "osd-bench"),
        (AS_SSD_IOPS, "as-ssd"),
        (HD_TUNE, "hd-tune"),
        (PTS_5, "phoronix-csv"),
    ],
)
def test_each_is_known_by_its_content(of, name):
    assert read(of.encode()).format == name
