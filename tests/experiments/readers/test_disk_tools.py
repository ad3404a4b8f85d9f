"""Bonnie++, IOzone, sysbench, dbench, PostMark, CrystalDiskMark and Phoronix, each by what it prints."""

from pathlib import Path

import pytest

from experiments.readers import read
from experiments.readers.base import Reading

DATA = Path(__file__).parents[2] / "data"


def text(name: str) -> str:
    return (DATA / name).read_text()


def reading(name_or_text: str) -> Reading:
    return read((text(name_or_text) if "\n" not in name_or_text else name_or_text).encode())


def figures(parsed: Reading) -> list[tuple]:
    return [(run.line, run.operation, run.throughput_mib_s, run.ops_per_s) for run in parsed.runs]


def reasons(parsed: Reading) -> list[str]:
    return [refusal.reason for refusal in parsed.refused]


# Bonnie++


def test_bonnie_prints_kib_and_seeks_and_files_a_second():
    parsed = reading("bonnie/composed.csv")
    assert parsed.refused == ()
    first = [run for run in parsed.runs if run.line == 2]
    assert figures(Reading("", runs=tuple(first))) == [
        (2, "char-write", 668 / 1024, None),
        (2, "write", 118.0, None),
        (2, "rewrite", 60.0, None),
        (2, "char-read", 1411 / 1024, None),
        (2, "read", 130.0, None),
        (2, "random-seek", None, 410.5),
        (2, "create", None, 3000.0),
        (2, "delete", None, 5440.0),
        (2, "random-create", None, 2898.0),
        (2, "random-delete", None, 5908.0),
    ]
    assert first[0].parameters == {"threads": 2, "file_size_bytes": 8 * 2**30, "files": "16"}
    assert (first[0].tool_version, first[0].warnings) == ("1.97", ("Too fast to be measured: stat, random-stat.",))


def test_bonnie_1_03_has_no_version_in_its_line():
    old = [run for run in reading("bonnie/composed.csv").runs if run.line == 3]
    assert [(run.operation, run.throughput_mib_s) for run in old][1:3] == [("write", 42.0), ("rewrite", 15.0)]
    assert {run.tool_version for run in old} == {"1.03"}


def test_bonnie_2_00_has_two_columns_more():
    parsed = reading("bonnie/bonnie-2.00-whole.txt")
    line = text("bonnie/bonnie-2.00-whole.txt").splitlines()[-1].split(",")
    assert [(run.operation, run.throughput_mib_s) for run in parsed.runs] == [
        ("char-write", int(line[9]) / 1024),
        ("char-read", int(line[15]) / 1024),
    ]
    assert parsed.runs[0].parameters["seek_processes"] == 5


@pytest.mark.parametrize(("hosts", "asked"), [(2, 2), (50, 50), (51, 0)])
def test_hosts_of_one_file_are_asked_about_unless_they_are_more_than_anybody_answers_for(hosts, asked):
    line = text("bonnie/composed.csv").splitlines()[1].split(",")
    parsed = reading("".join(",".join([*line[:2], f"host{number}", *line[3:]]) + "\n" for number in range(hosts)))
    assert len(parsed.parts) == asked
    assert parsed.runs == ()
    assert f"results of {hosts} " in parsed.refused[0].reason


def test_bonnies_table_alone_is_refused():
    table = text("bonnie/bonnie-2.00-whole.txt").rsplit("\n", 2)[0]
    assert "send the CSV line" in reasons(reading(table))[0]


def test_a_bonnie_line_that_is_cut_is_refused():
    line = text("bonnie/composed.csv").splitlines()[1]
    assert "the line is cut" in reasons(reading(f"{line[:120]}\n"))[0]


# IOzone


def test_iozone_figures_belong_to_the_header_they_end_below():
    parsed = reading("iozone/composed.txt")
    assert [(run.operation, run.throughput_mib_s) for run in parsed.runs if run.block_size_bytes == 4096] == [
        ("write", 20.0),
        ("rewrite", 24.0),
        ("read", 30.0),
        ("reread", 31.0),
        ("random-read", 9.0),
        ("random-write", 4.0),
        ("backward-read", 8.0),
        ("record-rewrite", 19.0),
        ("stride-read", 7.0),
        ("fwrite", 100.0),
        ("frewrite", 200.0),
        ("fread", 300.0),
        ("freread", 400.0),
    ]
    assert [(run.operation, run.throughput_mib_s) for run in parsed.runs if run.block_size_bytes == 2**20] == [
        ("write", 200.0),
        ("rewrite", 210.0),
        ("read", 400.0),
        ("reread", 410.0),
        ("random-read", 300.0),
        ("random-write", 50.0),
    ]
    assert parsed.runs[0].parameters == {"file_size_bytes": 64 * 2**20, "direct_io": True, "flush_included": True}
    assert (parsed.tool_version, parsed.runs[0].line) == ("3.489", 14)


def test_iozone_through_stdio_is_said_to_use_the_cache_in_spite_of_direct_io():
    warned = {run.operation for run in reading("iozone/composed.txt").runs if run.warnings}
    assert warned == {"fwrite", "frewrite", "fread", "freread"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("iozone test complete.", "", "did not finish"),
        ("kBytes/sec", "ops/sec", "the output is in ops/sec"),
    ],
)
def test_an_iozone_that_is_no_result_is_refused(old, new, reason):
    parsed = reading(text("iozone/composed.txt").replace(old, new))
    assert parsed.runs == ()
    assert reason in reasons(parsed)[0]


# sysbench


def test_sysbench_1_0_prints_mib_and_reads_and_writes_apart():
    parsed = reading("sysbench/sysbench-1.0.txt")
    assert [(run.workload, run.operation, run.block_size_bytes) for run in parsed.runs] == [
        ("rndrw", "mixed", 16384),
        ("seqrd", "read", 16384),
    ]
    mixed = parsed.runs[0]
    assert mixed.throughput_mib_s == pytest.approx(1065.08 + 710.05)
    assert mixed.ops_per_s == pytest.approx(68164.87 + 45443.25)
    assert (mixed.latency_ms, mixed.duration_s, mixed.parameters["threads"]) == (0.02, 2.0007, 2)
    assert "below 0.01 ms" in parsed.runs[1].warnings[0]


def test_sysbench_0_4_writes_mb_for_mib():
    (run,) = reading("sysbench/composed-0.4.txt").runs
    assert (run.throughput_mib_s, run.ops_per_s, run.latency_ms) == (5.2083, 333.33, 0.29)
    assert run.throughput_mib_s == pytest.approx(run.ops_per_s * run.block_size_bytes / 2**20, rel=1e-4)
    assert run.working_set_bytes == 8 * 2**30


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (text("sysbench/sysbench-1.0-fatal.txt"), "sysbench failed"),
        (text("sysbench/composed-0.4.txt").partition("Test execution")[0], "did not finish"),
        (text("sysbench/composed-0.4.txt").replace("(5.2083Mb/sec)", "(0Mb/sec)"), "nothing was read or written"),
        (text("sysbench/composed-0.4.txt").replace("Doing random r/w test", "Doing cpu test"), "no test of files"),
    ],
)
def test_a_sysbench_that_is_no_result_is_refused(broken, reason):
    parsed = reading(broken)
    assert parsed.runs == ()
    assert reason in reasons(parsed)[0]


# dbench


def test_dbench_counts_millions_of_bytes():
    (run,) = reading("dbench/dbench-4.00.txt").runs
    assert run.throughput_mib_s == pytest.approx(377.241 * 1e6 / 2**20)
    assert run.parameters == {"clients": 2, "load": "client.txt", "run_seconds": 3}
    assert "Flush" in [operation.name for operation in run.operations]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (text("dbench/dbench-4.00-cut.txt"), "did not finish"),
        (text("dbench/dbench-4.00.txt").replace("dbench version", "version"), "banner is missing"),
        (text("dbench/dbench-4.00.txt").replace("dbench version", "tbench: dbench version"), "measures a network"),
        (text("dbench/dbench-4.00.txt").replace("377.241", "0"), "no result"),
    ],
)
def test_a_dbench_that_is_no_result_is_refused(broken, reason):
    parsed = reading(broken)
    assert parsed.runs == ()
    assert reason in reasons(parsed)[0]


# PostMark


def test_postmark_adds_reads_and_writes_in_its_own_units():
    parsed = reading("postmark/composed.txt")
    (run,) = parsed.runs
    assert run.throughput_mib_s == pytest.approx(927.74 / 1024 + 1)
    assert (run.ops_per_s, run.duration_s, run.line) == (400, 60, 13)
    assert run.parameters == {
        "files": 500,
        "transactions": 20000,
        "read_block_bytes": 512,
        "write_block_bytes": 512,
    }
    assert [(refusal.line, "too short" in refusal.reason) for refusal in parsed.refused] == [(24, True)]


def test_a_short_postmark_says_how_uncertain_it_is():
    (run,) = reading(text("postmark/composed.txt").replace("60 seconds total", "10 seconds total")).runs
    assert "uncertain by 10 %" in run.warnings[0]


# CrystalDiskMark


def test_crystaldiskmark_counts_millions_of_bytes():
    parsed = reading("crystaldiskmark/composed-8.txt")
    assert [(r.operation, r.block_size_bytes, r.throughput_mib_s, r.ops_per_s, r.latency_ms) for r in parsed.runs] == [
        ("read", 2**20, pytest.approx(500, rel=1e-6), 500.0, 15.96),
        ("random-read", 4096, pytest.approx(250, rel=1e-6), 64000.0, 0.47058),
        ("random-mixed", 4096, pytest.approx(40, rel=1e-4), 10240.0, 0.097),
    ]
    assert parsed.runs[1].parameters == {"queue_depth": 32, "threads": 4, "file_size_bytes": 2**30, "repeats": 5}
    assert reasons(parsed) == ["a throughput of 0.000 MB/s is no result"]


def test_crystaldiskmark_5_writes_queue_and_threads_in_its_lines():
    parsed = reading("crystaldiskmark/composed-5.txt")
    assert [(r.operation, r.block_size_bytes, r.parameters.get("queue_depth")) for r in parsed.runs] == [
        ("read", None, 32),
        ("random-write", 4096, 32),
        ("read", None, None),
    ]
    assert parsed.runs[0].throughput_mib_s == pytest.approx(100, rel=1e-5)


# Phoronix


def test_phoronix_repetitions_are_runs_in_the_unit_of_the_wrapped_tool():
    parsed = reading("phoronix/composed.xml")
    assert [(r.benchmark, r.tool_version, r.operation, r.throughput_mib_s) for r in parsed.runs] == [
        ("tiobench", "0.3.3", "random-write", 101.0),
        ("tiobench", "0.3.3", "random-write", 103.0),
        ("fio", "3.16", "read", 1000.0),  # its MB/s are KiB/s divided by 1000
    ]
    assert parsed.runs[0].parameters == {"size_per_thread": "64MB", "thread_count": "4", "profile": "1.3.1"}


def test_what_phoronix_says_of_other_things_is_refused():
    refusals = reasons(reading("phoronix/composed.xml"))
    assert [reason.partition(":")[0][:40] for reason in refusals] == [
        "system 'xfs' here and 'ext4' above; expo",
        "fio",
        "compress-7zip in MIPS is no storage test",
    ]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaa">]><PhoronixTestSuite>&a;</PhoronixTestSuite>'


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        (BOMB, "defines or refers to something"),
        ('<!DOCTYPE x SYSTEM "http://127.0.0.1/x"><PhoronixTestSuite/>', "there is no result"),
        ("<PhoronixTestSuite>" + "<a>" * 5000, "nested deeper"),
        (text("phoronix/composed.xml")[:600], "cut, or broken"),
    ],
)
def test_hostile_xml_is_refused(xml, reason):
    assert reason in reasons(reading(xml + "\n"))[0]


def test_every_file_here_is_known_to_one_reader():
    for name in ("bonnie", "iozone", "sysbench", "dbench", "postmark", "crystaldiskmark", "phoronix"):
        for path in (DATA / name).glob("*"):
            if path.name != "README.md":
                assert read(path.read_bytes()).format == name, path
