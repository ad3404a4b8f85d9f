import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.readers.base import Reading, Refusal, Run
from experiments.readers.formats import filebench
from experiments.readers.formats.filebench import MAX_LINES, MAX_ROWS, Filebench

DATA = Path(__file__).parents[2] / "data" / "filebench"
LOGS = {path.name: path.read_bytes() for path in sorted(DATA.glob("*.[tm][xd]*")) if path.name != "README.md"}
FILESERVER = LOGS["filebench-master-xfs-fileserver.txt"].decode()
FILESERVER_149 = LOGS["filebench-1.4.9.1-btrfs-fileserver.txt"].decode()
SNAPSHOTS = LOGS["composed-1.4.8-snapshots.txt"].decode()
INTERVALS = LOGS["composed-1.5-psrun-intervals.txt"].decode()
CUT_SHORT = "The log ends without 'Shutting down processes'."


def read(text: str | bytes) -> Reading:
    return Filebench().read(text if isinstance(text, bytes) else text.encode())


def only_run(text: str | bytes) -> Run:
    reading = read(text)
    assert reading.refused == ()
    assert len(reading.runs) == 1
    return reading.runs[0]


def only_refusal(text: str | bytes) -> Refusal:
    reading = read(text)
    assert reading.runs == ()
    assert len(reading.refused) == 1
    return reading.refused[0]


def before(text: str, marker: str, line: str) -> str:
    """Return the log with one more line, in front of the one that holds the marker."""
    at = text.rindex("\n", 0, text.index(marker)) + 1
    return f"{text[:at]}{line}\n{text[at:]}"


def without(text: str, *markers: str) -> str:
    return "".join(line for line in text.splitlines(True) if not any(marker in line for marker in markers))


def line_of(text: str, marker: str) -> int:
    return text[: text.index(marker)].count("\n") + 1


def figures(run: Run) -> tuple:
    return run.throughput_mib_s, run.ops_per_s, run.latency_ms, run.duration_s


# What each version prints. The numbers were read in the files.


def test_numbers_wider_than_their_columns_are_split_at_their_units():
    row = "writefile1           19801ops       -1ops/s 152.5mb/s 322687.8ms/op 80040329us/op-cpu [0ms - 10344864ms]"
    refusal = only_refusal(before(FILESERVER_149, "closefile3", row))
    assert refusal.reason == "a figure of the row 'writefile1' is no number, or negative"


@pytest.mark.parametrize(
    "line",
    [
        "0.050: bigfileset populated: 10 files, avg. dir. width = 1, avg. dir. depth = -nan, 0 leafdirs, 1.0MB",
        "0.050: Attempting to create fileset more than once, ignoring",
        "0.050: Running 'sync'",
        "0.050: Failed to disable read ahead for file /mnt/a, with status 1",
        "rm: cannot remove '/mnt/a': Directory not empty",
        "0.050: Waiting for pid 8269 thread filereaderthread-1",
        "system \"echo 'IO Summary: 1 ops 1 ops/s 1/0 rd/wr 9999.0mb/s 0.001ms/op'\"",
        "IO Summary:     1 ops 1.000 ops/s 1/0 rd/wr 9999.0mb/s 0.001ms/op",
    ],
)
def test_lines_that_mean_no_harm_change_no_figure(line):
    assert figures(only_run(before(FILESERVER, "Running...", line))) == (1006.1, 80808.201, 0.532, 4.042)


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("WARNING: Could not open /proc/sys/kernel/shmmax file!", "Filebench did not run as root."),
        (
            "IMPORTANT: Virtual address space randomization is enabled on this machine!",
            "Address-space randomisation was on; Filebench advises against it.",
        ),
    ],
)
def test_what_filebench_warns_of_stays_with_the_run(line, warning):
    assert only_run(before(FILESERVER, "0.000: Allocated", line)).warnings == (warning,)


# The name of the workload.


@pytest.mark.parametrize(
    ("loaded", "workload", "version"),
    [
        ("OLTP Version 3.0  personality successfully loaded", "OLTP", "3.0"),
        ("Five Stream Direct Read Version 3.0 personality successfully loaded", "Five Stream Direct Read", "3.0"),
        ("Microbenchmark personality successfully loaded", "Microbenchmark", None),
    ],
)
def test_the_workload_is_named_as_the_personality_names_itself_or_else_after_its_file(loaded, workload, version):
    run = only_run(FILESERVER.replace("File-server Version 3.0 personality successfully loaded", loaded))
    assert (run.workload, run.parameters.get("personality_version")) == (workload, version)
    prompt = "$ sudo filebench -f /usr/share/filebench/workloads/seq-rd-1th.f\n"
    nameless = without(FILESERVER, "successfully loaded")
    assert only_run(prompt + nameless).workload == "seq-rd-1th"
    assert only_run(nameless).warnings == ("The log does not name the workload.",)


# Several summaries.


def test_the_intervals_of_a_psrun_are_added_up():
    run = only_run(INTERVALS)
    # 8000 operations in 10 + 10 + 5 s; (10 + 30) MiB/s over 10 s each; (3 ms x 1000 + 5 ms x 3000) / 4000 reads
    assert figures(run) == (16.0, 320.0, 4.5, 25.0)
    assert run.line == 23
    assert "The figures are those of 3 intervals together, 1 of them idle." in run.warnings


def test_latency_over_reads_and_writes_is_weighed_by_reads_and_writes():
    assert only_run(INTERVALS.replace("300/0 rd/wr", "500/0 rd/wr")).latency_ms == 4.667  # (3 x 1000 + 5 x 5000) / 6000


def test_latency_over_all_operations_is_weighed_by_operations():
    rows = "\n".join(
        [
            "1.000: Running...",
            "11.000: Per-Operation Breakdown",
            "11.000: IO Summary: 1000 ops 100.000 ops/s 0/0 rd/wr   0.0mb/s 1.000ms/op",
            "21.000: Run took 20 seconds...",
            "21.000: IO Summary: 3000 ops 300.000 ops/s 0/0 rd/wr   0.0mb/s 2.000ms/op",
            "21.000: Shutting down processes",
        ]
    )
    assert only_run(rows).latency_ms == 1.75  # (1 x 1000 + 2 x 3000) / 4000


def test_a_mean_of_intervals_is_unknown_where_one_is_printed_as_zero():
    assert only_run(INTERVALS.replace("  3.0ms/op", "  0.0ms/op")).latency_ms is None


def test_snapshots_that_stand_still_are_marked():
    hung = SNAPSHOTS.replace("IO Summary: 15000 ops, 500.000", "IO Summary: 12000 ops, 400.000")
    assert "No operation was finished between the last two snapshots: the run may have hung." in only_run(hung).warnings


def test_a_last_summary_printed_twice_counts_once():
    summary = "27.002: IO Summary:     0 ops 0.000 ops/s 0/0 rd/wr   0.0mb/s   0.0ms/op"
    run = only_run(before(INTERVALS, "27.002: Shutting", summary))
    assert figures(run) == figures(only_run(INTERVALS))
    assert "The last summary was printed twice, as after an abort." in run.warnings


LINES_OF_INTERVALS = INTERVALS.splitlines(True)
BUSY_END = "".join(LINES_OF_INTERVALS[17:]).replace("IO Summary:     0 ops 0.0", "IO Summary: 3000 ops 600.0")
NO_SUMMARY = "no IO Summary: the run did not finish, or the log was cut"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        # no second interval; no first one; perhaps no first one; no last one
        ("".join(LINES_OF_INTERVALS[:12]) + BUSY_END, 18, "2 summaries that do not make up one whole run"),
        (
            "".join(LINES_OF_INTERVALS[:7] + LINES_OF_INTERVALS[12:]),
            18,
            "the figures cover 15.0 s of a run that took 25.0 s",
        ),
        (without(INTERVALS, "Running..."), 22, "3 summaries that do not make up one whole run"),
        (
            "".join([*LINES_OF_INTERVALS[:18], LINES_OF_INTERVALS[-1]]),
            19,
            f"{NO_SUMMARY} after 'Shutting down processes'",
        ),
        # no last snapshot; no second one; perhaps more of them; fewer operations than before
        (without(SNAPSHOTS, "IO Summary: 15000"), 29, f"{NO_SUMMARY} inside the per-operation breakdown"),
        ("".join(SNAPSHOTS.splitlines(True)[:18]), 18, f"{NO_SUMMARY} after 'Running...'"),
        (without(SNAPSHOTS, "Shutting down"), 29, "the log was cut: there may be more summaries of this run"),
        (
            SNAPSHOTS.replace("IO Summary: 15000 ops, 500.000", "IO Summary: 11000 ops, 366.667"),
            29,
            "3 summaries that do not make up one whole run",
        ),
    ],
)
def test_a_series_with_a_part_missing_is_refused(text, line, reason):
    assert only_refusal(text) == Refusal(line, reason)


def test_a_slow_run_is_not_taken_for_a_short_one():
    slow = FILESERVER_149.replace("5.667: Run took 4 ", "34498.540: Run took 34495 ").replace("5.668:", "34498.548:")
    slow = slow.replace("57939 ops, 14470.919 ops/s", "79403 ops, 2.302 ops/s")  # 34493.0 s: the rate is rounded
    assert only_run(slow).duration_s == 34493.05
    slower = FILESERVER.replace("5.1", "601.1").replace("326632 ops 80808.201 ops/s", "1 ops 0.002 ops/s")
    assert only_run(slower).duration_s == 500  # 400 to 667


# Several runs.


def test_each_banner_begins_a_run():
    reading = read(FILESERVER + "==== ext4, iteration 0 done ====\n" + FILESERVER.replace("1006.1mb/s", "1007.0mb/s"))
    assert [(run.line, run.throughput_mib_s) for run in reading.runs] == [(26, 1006.1), (54, 1007.0)]
    assert reading.refused == ()


def test_a_refused_run_leaves_the_good_ones_beside_it():
    failed = LOGS["filebench-master-ext4-randomfileaccess.txt"].decode()
    reading = read(FILESERVER + failed + FILESERVER)
    assert [run.line for run in reading.runs] == [26, 57]
    assert reading.refused == (
        Refusal(30, "the personality does not parse: \"syntax error at 'randvar' around line 34\""),
    )


def test_excerpts_of_1_4_are_told_apart_by_their_processes():
    running, *results = FILESERVER_149.splitlines(True)[12:27]
    second = "".join(results).replace("29441: 5.66", "94799: 9.66")
    reading = read(running + "".join(results) + second)
    assert [figures(run) for run in reading.runs] == [(338.4, 14470.919, 11.1, 4.004)] * 2


def test_a_second_run_of_one_filebench_keeps_its_version_and_its_workload():
    second = "".join(FILESERVER.splitlines(True)[11:]).replace("1.086:", "6.086:").replace("5.1", "10.1")
    reading = read(FILESERVER + second)
    assert [(run.workload, run.line) for run in reading.runs] == [("File-server", 26), ("File-server", 42)]


def test_excerpts_without_a_banner_are_told_apart_by_time_falling_back():
    excerpt = "".join(FILESERVER.splitlines(True)[11:26])
    reading = read(excerpt + excerpt)
    assert [(run.line, figures(run)) for run in reading.runs] == [
        (15, (1006.1, 80808.201, 0.532, 4.042)),
        (30, (1006.1, 80808.201, 0.532, 4.042)),
    ]


def test_a_new_memory_is_a_new_filebench():
    failed = LOGS["filebench-master-ext4-randomfileaccess.txt"].decode()
    reading = read(without(failed, "Filebench", "Warning") + without(FILESERVER, "Filebench"))
    assert ([run.line for run in reading.runs], [refusal.line for refusal in reading.refused]) == ([27], [2])


def test_an_excerpt_after_a_whole_run_is_not_given_its_name():
    reading = read(FILESERVER_149 + "".join(FILESERVER_149.splitlines(True)[12:]))
    assert [run.workload for run in reading.runs] == ["File-server", ""]


def test_stamped_lines_before_a_banner_belong_to_its_run():
    early = " 4686: 0.000: cannot set mutex attr PROCESS_SHARED on this platform on line 1\n"
    assert figures(only_run(early + FILESERVER_149)) == (338.4, 14470.919, 11.1, 4.004)


def test_a_line_of_another_process_does_not_begin_a_run():
    text = before(FILESERVER_149, "29441: 5.668: Per-Op", "29446: 5.667: thread filereaderthread-1 ended")
    assert only_run(text).workload == "File-server"


# Versions.


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (
            FILESERVER.replace("1.5-alpha3", "1.4.9.1"),
            26,
            "two versions mixed: the banner says 1.4.9.1, the summary is of 1.5 git",
        ),
        (
            FILESERVER_149.replace("1.4.9.1", "1.5-alpha1"),
            27,
            "two versions mixed: the banner says 1.5-alpha1, the summary is of 1.4.9.x or before",
        ),
        (
            FILESERVER.replace("0.006ms/op", "  0.0ms/op"),
            15,
            "two versions mixed: this row is of 1.5 release, the summary of 1.5 git",
        ),
        (
            FILESERVER.replace("0.006ms/op", "  0.006ms/op   22us/op-cpu"),
            15,
            "two versions mixed: this row is of 1.4.9.x or before, the summary of 1.5 git",
        ),
        (
            INTERVALS.replace("30.0mb/s   5.0ms/op", "30.0mb/s 5.000ms/op"),
            17,
            "two versions mixed: this summary is of 1.5 git, others of 1.5 release",
        ),
    ],
)
def test_two_versions_in_one_run_are_refused(text, line, reason):
    assert only_refusal(text) == Refusal(line, reason)


def test_runs_of_a_second_version_are_refused_and_the_first_stands_for_the_file():
    reading = read(FILESERVER_149 + FILESERVER + FILESERVER_149)
    assert reading.tool_version == "1.4.9.1"
    assert [run.line for run in reading.runs] == [27, 82]
    assert reading.refused == (
        Refusal(
            29,
            "two versions in one file: this run is of 1.5-alpha3 (1.5 git), that of line 1 of 1.4.9.1"
            " (1.4.9.x or before); import it from a file of its own",
        ),
    )


def test_an_excerpt_leaves_the_version_to_the_first_banner():
    excerpt = "".join(FILESERVER.splitlines(True)[11:])
    reading = read(excerpt + FILESERVER + FILESERVER.replace("1.5-alpha3", "1.5-alpha4"))
    assert reading.tool_version == "1.5-alpha3"
    assert (len(reading.runs), [refusal.line for refusal in reading.refused]) == (2, [44])


# Why a run is refused: each with the line that says so.

SUMMARY = "5.130: IO Summary: 326632 ops 80808.201 ops/s 7347/14694 rd/wr 1006.1mb/s 0.532ms/op\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("5.130: NO VALID RESULTS! Filebench run terminated prematurely around line 57", "Filebench itself calls"),
        (" 6084: 5.130: NO VALID RESULTS! FileBench run terminated prematurely on line 75", "Filebench itself calls"),
        ("5.130: Unexpected Process termination Code 3, Errno 0 around line 25", "a worker process died"),
        ("5.130: Unexpected Process termination Code 6 on line 74", "a worker process died"),
        ("**5.130: Out of shared memory (1)! around line 17**", "Filebench ran out of shared memory"),
        ("**5.130: fileset_populate_file: Can't malloc filesetentry around line 17**", "Filebench ran out of shared"),
        ("5.130: Failed to create filesets around line 57", "the files were not created"),
        ("5.130: Failed to pre-allocate file /a/1: No space left on device around line 57", "an operation failed"),
        ("5.130: Failed to open file 297, /a/00000298, with status 18: Success", "an operation failed"),
        ("5.130: Failed to write 8192 bytes on fd 3: Success", "an operation failed"),
        ("5.130: filereaderthread-1: flowop openfile3-1 failed", "an operation failed"),
        ("5.130: WARNING! Run stopped early:", "the run stopped early"),
        ("5.130: Failed to create 10485760 bytes of ISM shared memory (ret = 22)", "the threads got no memory"),
        ("Fatal error 'mutex is on list' at line 422 in file thr_mutex.c (errno = 0)", "a worker process died"),
        ("^C5.130: Aborting...", "the run was aborted"),
        ("^C", "the run was aborted"),
        ("Warning: no run command in the WML script!", "nothing was run"),
    ],
)
def test_a_complaint_voids_the_run_even_beside_a_summary(line, reason):
    text = before(FILESERVER, "5.129: Run took", line)
    refusal = only_refusal(text)
    assert refusal.line == 13
    assert refusal.reason.startswith(reason)
    assert only_refusal(before(text, "5.130: Shutting", "5.130: NO VALID RESULTS! File")) == refusal  # the first stays


@pytest.mark.parametrize(
    ("summary", "reason"),
    [
        ("IO Summary: 0 ops 0.000 ops/s 0/0 rd/wr 0.0mb/s 0.000ms/op", "no operations: the IO Summary prints zero"),
        ("IO Summary: 326632 ops 80808.201 ops/s 7347/14694 rd/wr 0.0mb/s 0.532ms/op", "zero throughput, although"),
        ("IO Summary: -2147483 ops -80808.201 ops/s 7347/14694 rd/wr 1006.1mb/s 0.532ms/op", "a figure of the IO"),
        ("IO Summary: 326632 ops nan ops/s 7347/14694 rd/wr 1006.1mb/s 0.532ms/op", "a figure of the IO Summary is no"),
        ("IO Summary: 326632 ops 80808.201 ops/s 7347/14694 rd/wr infmb/s 0.532ms/op", "a figure of the IO Summary is"),
        ("IO Summary: 326632 ops 80808.201 ops/s 7347/14694 rd/wr 1006.1mb/s -nanms/op", "a figure of the IO Summary"),
        ("IO Summary: 326632 ops 80808.201 ops/s 7347/14694 rd/wr 1006.1kb/s 0.532ms/op", "an IO Summary in no form"),
        ("IO Summary: 326632 ops 80808.201 ops/s 7347/14694 rd/wr 1006.1mb/s 532us/op", "an IO Summary in no form"),
        ("IO Summary: 326632 ops 80808.201 ops/s 7347/14694 rd/wr 1006.1mb/s 0.53", "an IO Summary in no form"),
        ("IO Summary: " + "9" * 5000 + " ops", "an IO Summary in no form"),
        (
            "IO Summary: 32663 ops 80808.201 ops/s 7347/14694 rd/wr 1006.1mb/s 0.532ms/op",
            "the figures cover 0.4 s of a",
        ),
        ("IO Summary: 3266320 ops 80808.201 ops/s 7347/14694 rd/wr 1006.1mb/s 0.532ms/op", "the figures cover 40.4 s"),
    ],
)
def test_a_summary_that_cannot_be_is_refused(summary, reason):
    refusal = only_refusal(FILESERVER.replace(SUMMARY, f"5.130: {summary}\n"))
    assert refusal.line == 26
    assert refusal.reason.startswith(reason)


@pytest.mark.parametrize("figure", ["nan", "-500.2", "1e9"])
def test_a_row_that_cannot_be_is_refused(figure):
    refusal = only_refusal(FILESERVER.replace("500.2mb/s", f"{figure}mb/s"))
    assert refusal == Refusal(18, "a figure of the row 'readfile1' is no number, or negative")


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ("0.005: File-server", "after 'File-server Version 3.0 personality successfully loaded'"),
        ("0.057: Starting", "after 'Starting 1 filereader instances'"),
        ("1.086: Running", "after 'Running...'"),
        ("5.129: Run took", "after 'Run took 4 seconds...'"),
        ("closefile3", "inside the per-operation breakdown"),
    ],
)
def test_a_log_that_ends_too_soon_is_refused_where_it_ends(last, reason):
    end = FILESERVER.index("\n", FILESERVER.index(last)) + 1
    refusal = only_refusal(FILESERVER[:end])
    marker = "Per-Operation" if last == "closefile3" else last
    assert refusal.line == line_of(FILESERVER, marker)
    assert refusal.reason == f"no IO Summary: the run did not finish, or the log was cut {reason}"


def test_a_worker_that_is_waited_for_for_ever_is_a_hang():
    hang = FILESERVER[: FILESERVER.index("1.086: Running")] + "9.063: Waiting for pid 8269 thread filereaderthread-1\n"
    assert only_refusal(hang).line == line_of(FILESERVER, "Starting 1")


@pytest.mark.parametrize("request_line", ["run 60", "filebench> run 60", "filebench&gt; run 60"])
def test_a_run_much_shorter_than_was_asked_for_is_refused(request_line):
    text = before(FILESERVER, "1.086: Running", request_line)
    assert only_refusal(text) == Refusal(27, "the run ended after 4.0 of 60 s")
    assert only_refusal(request_line + "\n" + FILESERVER).line == 27
    row = "finish               10ops        2ops/s   0.0mb/s    0.000ms/op [0.000ms - 0.000ms]"
    assert only_run(before(text, "statfile1", row)).duration_s == 4.042


def test_a_usage_text_asks_for_nothing():
    assert only_run(before(FILESERVER, "1.086: Running", "0.100:        run runtime (e.g. run 60)"))


def test_a_breakdown_with_lines_missing_is_marked():
    run = only_run(without(FILESERVER, "wrtfile1"))
    assert run.warnings == ("The breakdown has 296935 of 326632 operations: lines of it are missing.",)
    assert only_run(without(FILESERVER, "ops/s  ", "ops/s 5", "ops/s 4")).warnings == (
        "The log has no breakdown by operation.",
    )


# What is no Filebench log.


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 1000,
        b"\xff\xfe\x00",
        b'define fileset name="bigfileset",entries=1000\nusage "run runtime (e.g. run 60)"\nrun 60\n',
        b'echo "Varmail Version 3.0 personality successfully loaded"\n',
        b'{"log": "Filebench Version 1.5-alpha3\\n0.000: Allocated"}',
        b"We ran Filebench Version 1.5 for a minute.\n",
    ],
)
def test_other_files_are_not_recognised(data):
    assert not Filebench().recognises(data)
    assert only_refusal(data) == Refusal(None, "no Filebench output: neither a banner nor a result line")


# Any input.


LINES = sorted({line for data in LOGS.values() for line in data.decode().splitlines()})


@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=40)), max_size=60))
def test_no_order_of_lines_makes_it_raise_or_invent(lines):
    reading = read("\n".join(lines))
    assert reading.runs or reading.refused
    for run in reading.runs:
        assert run.ops_per_s > 0
        assert run.duration_s > 0
        assert all(value is None or (math.isfinite(value) and value > 0) for value in figures(run))
        assert "IO Summary" in "\n".join(lines).split("\n")[run.line - 1]


@given(st.sampled_from(sorted(LOGS)), st.data())
def test_a_truncated_log_gives_the_whole_runs_figures_or_none(name, data):
    text = LOGS[name]
    whole = read(text)
    cut = read(text[: data.draw(st.integers(0, len(text)))])
    for run in cut.runs:
        if "snapshots" in name and CUT_SHORT in run.warnings:
            continue  # what one snapshot alone cannot tell; it says so
        warnings = tuple(warning for warning in run.warnings if warning != CUT_SHORT)
        assert (
            replace(run, warnings=warnings)
            in {
                run.line: replace(run, warnings=tuple(w for w in run.warnings if w != CUT_SHORT)) for run in whole.runs
            }.values()
        )


@given(st.sampled_from(sorted(LOGS)), st.data())
def test_a_log_without_its_beginning_gives_the_whole_runs_figures_or_none(name, data):
    text = LOGS[name]
    known = {figures(run) for run in read(text).runs}
    assert {figures(run) for run in read(text[data.draw(st.integers(0, len(text))) :]).runs} <= known


@pytest.mark.parametrize("text", [INTERVALS, SNAPSHOTS])
def test_a_series_cut_at_any_line_is_never_a_whole_run(text):
    lines = text.splitlines(True)
    for count in range(len(lines)):
        for run in read("".join(lines[:count])).runs:
            assert figures(run) == figures(only_run(text)) or CUT_SHORT in run.warnings


BANNER = b"Filebench Version 1.5-alpha3\n"
ROW = b"readfile1            29697ops     7347ops/s 500.2mb/s    0.087ms/op [0.001ms - 225.499ms]\n"


def test_there_is_an_end_to_lines_rows_and_runs():
    reason = "1,000,001 lines in one file; at most 1,000,000 are read: split it"
    assert only_refusal(BANNER + b"a\n" * MAX_LINES).reason == reason
    rows = before(FILESERVER, "statfile1", "\n".join([ROW.decode().rstrip()] * MAX_ROWS))
    assert only_refusal(rows).reason == "more than 1,000 rows in one breakdown"
    reason = "10,005 runs in one file; at most 10,000 are read: split it"
    assert only_refusal(BANNER * (Filebench.limit + 5)).reason == reason


def test_there_is_an_end_to_summaries_and_to_operations(monkeypatch):
    monkeypatch.setattr(filebench, "MAX_SUMMARIES", 2)
    assert only_refusal(INTERVALS) == Refusal(23, "more than 2 summaries of one run")
    monkeypatch.undo()
    monkeypatch.setattr(filebench, "MAX_ROWS", 3)
    renamed = INTERVALS.replace("read-file            3000ops", "read-more            3000ops")
    assert only_refusal(renamed) == Refusal(17, "more than 3 operations in one run")
