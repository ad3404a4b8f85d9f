"""fio's JSON, terse lines and text. Captured figures were read in the files; older forms are composed."""

import json
from pathlib import Path

import pytest

from experiments.imports.readers.base import Reading
from experiments.imports.readers.fio_json import FioJson
from experiments.imports.readers.fio_terse import FioTerse
from experiments.imports.readers.fio_text import FioText

DATA = Path(__file__).parents[3] / "data" / "fio"


def captured(name: str) -> str:
    return (DATA / name).read_text()


def section(mib: float, seconds: float, requests: int, *, unit: int = 1, lat: dict | None = None) -> dict:
    """What fio counts of one direction; `unit` 1024 where io_bytes is KiB."""
    kib = mib * 1024
    return {
        "io_bytes": int(kib * 1024 / unit),
        "bw": int(kib / seconds) if seconds else 0,
        "runtime": int(seconds * 1000),
        "total_ios": requests,
        **(lat or {}),
    }


def document(*jobs: dict, version: str = "fio-3.16", **others) -> str:
    return json.dumps({"fio version": version, **others, "jobs": list(jobs)}, indent=1)


def job(name: str = "mail", **parts) -> dict:
    return {"jobname": name, "groupid": 0, "error": 0, **parts}


def read(text: str) -> Reading:
    assert FioJson().recognises(text.encode())
    return FioJson().read(text.encode())


def only_run(text: str):
    reading = read(text)
    assert reading.refused == ()
    assert len(reading.runs) == 1
    return reading.runs[0]


def only_reason(text: str) -> str:
    reading = read(text)
    assert reading.runs == ()
    assert len(reading.refused) == 1
    return reading.refused[0].reason


def test_each_job_is_a_run_with_its_load():
    reading = read(captured("fio-3.33.json"))
    assert (reading.format, reading.benchmark, reading.tool_version, reading.refused) == ("fio-json", "fio", "3.33", ())
    reads, writes, mixed = reading.runs
    assert (reads.workload, reads.operation, reads.block_size_bytes) == ("mail-read", "random-read", 4096)
    assert (writes.workload, writes.operation, writes.block_size_bytes) == ("mail-write", "write", 65536)
    assert (mixed.operation, mixed.parameters["numjobs"]) == ("mixed", 2)
    assert [part.name for part in mixed.operations] == ["read", "write"]
    assert writes.parameters.items() >= {"rw": "write", "bs": "64k", "fsync": 8, "numjobs": 1}.items()


def test_figures_are_those_of_the_captured_counters():
    entry = json.loads(captured("fio-3.33.json"))["jobs"][0]["read"]
    run = read(captured("fio-3.33.json")).runs[0]
    assert run.throughput_mib_s == pytest.approx(entry["bw_bytes"] / 2**20, rel=1e-6)
    assert run.ops_per_s == pytest.approx(entry["iops"], rel=1e-6)
    assert run.latency_ms == pytest.approx(entry["lat_ns"]["mean"] / 1e6)
    assert run.duration_s == entry["runtime"] / 1000


def test_the_line_is_that_of_the_job():
    text = captured("fio-3.33.json")
    assert [text.splitlines()[run.line - 1].strip() for run in read(text).runs] == [
        '"jobname" : "mail-read",',
        '"jobname" : "mail-write",',
        '"jobname" : "mixed",',
    ]


def test_json_plus_is_read_as_json():
    assert only_run(captured("fio-3.33-plus.json")).operation == "random-write"


@pytest.mark.parametrize(("version", "unit"), [("fio-2.18", 1024), ("fio-2.21", 1), ("fio-3.16", 1)])
def test_io_bytes_is_kib_before_2_21_and_bytes_since(version, unit):
    run = only_run(document(job(read=section(100, 10, 25600, unit=unit)), version=version))
    assert run.throughput_mib_s == pytest.approx(10)
    assert run.ops_per_s == pytest.approx(2560)


def test_a_unit_that_is_neither_is_refused():
    broken = section(100, 10, 25600) | {"bw": 7}
    assert "do not fit together" in only_reason(document(job(read=broken)))


@pytest.mark.parametrize(
    ("latency", "ms"), [({"lat_ns": {"mean": 250_000.0}}, 0.25), ({"lat": {"mean": 250.0}}, 0.25), ({}, None)]
)
def test_latency_is_in_milliseconds_whatever_the_version_counts_in(latency, ms):
    assert only_run(document(job(write=section(10, 1, 100, lat=latency)))).latency_ms == ms


def test_reads_and_writes_of_a_job_are_added_up_over_the_longer_time():
    slow, fast = {"lat_ns": {"mean": 4e6}}, {"lat_ns": {"mean": 1e6}}
    run = only_run(document(job(read=section(30, 10, 300, lat=fast), write=section(10, 5, 100, lat=slow))))
    assert (run.operation, run.throughput_mib_s, run.ops_per_s) == ("mixed", pytest.approx(4), pytest.approx(40))
    assert run.latency_ms == pytest.approx((300 * 1 + 100 * 4) / 400)


def test_processes_of_one_job_ran_together_and_are_added_up():
    run = only_run(document(job(read=section(10, 10, 100)), job(read=section(30, 10, 300))))
    assert (run.throughput_mib_s, run.parameters["numjobs"]) == (pytest.approx(4), 2)


def test_of_several_clients_only_the_sum_counts():
    text = document(client_stats=[job("a", read=section(1, 1, 1)), job("All clients", read=section(2, 1, 2))])
    text = text.replace('"jobs": []', '"x": 0')
    assert only_run(text).throughput_mib_s == pytest.approx(2)


def test_jobs_of_one_group_are_said_to_have_run_beside_each_other():
    runs = read(document(job("a", read=section(1, 1, 1)), job("b", read=section(1, 1, 1)))).runs
    assert all("beside 1 other" in run.warnings[0] for run in runs)


def test_a_limited_rate_is_said():
    limited = job(read=section(1, 1, 1)) | {"job options": {"rate_iops": "100"}}
    assert "limit the rate" in only_run(document(limited)).warnings[0]


def test_what_names_files_is_no_parameter():
    named = job(read=section(1, 1, 1)) | {"job options": {"rw": "read", "filename": "/dev/sdx", "directory": "/srv/x"}}
    assert only_run(document(named)).parameters == {"rw": "read", "numjobs": 1}


@pytest.mark.parametrize(
    "before", ["", "note: both iodepth >= 1 and synchronous I/O engine\n", "```\n", "\ufeff", "host1\n>"]
)
def test_text_around_the_json_does_not_matter(before):
    assert only_run(f"{before}{document(job(read=section(1, 1, 1)))}\n```\nbye").line == before.count("\n") + 5


def test_two_documents_of_one_version_are_both_read():
    one = document(job(read=section(1, 1, 1)))
    assert len(read(f"{one}\n$ fio again\n{one}").runs) == 2


def test_a_second_version_in_the_file_is_refused():
    both = document(job(read=section(1, 1, 1))) + document(job(read=section(1, 1, 1)), version="fio-3.33")
    reading = read(both)
    assert len(reading.runs) == 1
    assert "fio 3.33 here and 3.16 above" in reading.refused[0].reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (captured("fio-3.33-interrupted.txt"), "interrupted"),
        (captured("fio-3.33-no-space.txt"), "error 28"),
        (document(job(read=section(1, 1, 1)) | {"error": 1}), "failed with error 1"),
        (document(job(read=section(1, 0, 1))), "did nothing"),
        (document(job(read=section(0, 0, 0))), "did nothing"),
        (document(), "no jobs"),
        (captured("fio-3.33.json")[:9000], "cut"),
    ],
)
def test_what_is_no_result_is_refused(text, reason):
    assert reason in only_reason(text)


def test_fios_json_deep_in_somebody_elses_is_not_taken_for_a_result():
    assert not FioJson().recognises(json.dumps({"host1": json.loads(document())}).encode())


# Terse


def test_terse_lines_are_the_same_runs_as_the_json():
    reading = FioTerse().read(captured("fio-3.33-terse.txt").encode())
    assert [(run.workload, run.operation, run.line) for run in reading.runs] == [
        ("mail-read", "read", 1),
        ("mail-write", "write", 2),
        ("mixed", "mixed", 3),
    ]
    fields = captured("fio-3.33-terse.txt").splitlines()[0].split(";")
    first = reading.runs[0]
    assert first.throughput_mib_s == pytest.approx(int(fields[5]) / 1024 / (int(fields[8]) / 1000))
    assert (first.ops_per_s, first.duration_s) == (int(fields[7]), int(fields[8]) / 1000)
    assert first.latency_ms == pytest.approx(float(fields[39]) / 1000)


LINE = captured("fio-3.33-terse.txt").splitlines()[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LINE.replace("3;fio-3.33;mail-read;0;0;", "3;fio-3.33;mail-read;0;28;"), "error 28"),
        (LINE.replace("3;fio", "5;fio", 1), "terse version 5"),
        (LINE[: len(LINE) // 2], "the line is cut"),
        (f"fio: terminating on signal 2\n{LINE}", "interrupted"),
        (";".join([*LINE.split(";")[:5], *["0"] * (len(LINE.split(";")) - 5)]), "did nothing"),
    ],
)
def test_a_terse_line_that_is_no_result_is_refused(text, reason):
    reading = FioTerse().read(text.encode())
    assert reading.runs == ()
    assert reason in reading.refused[0].reason


def test_host_and_guest_in_one_file_are_not_mixed_up():
    reading = FioTerse().read(f"Host:\n{LINE}\nGuest:\n{LINE}\n".encode())
    assert len(reading.runs) == 1
    assert "two machines in one file" in reading.refused[0].reason


# Text


def test_text_for_people_is_known_and_refused_with_what_to_do():
    reading = FioText().read(captured("fio-3.33-people.txt").encode())
    assert reading.runs == ()
    assert "--output-format=json" in reading.refused[0].reason


@pytest.mark.parametrize("name", ["fio-3.33.json", "fio-3.33-terse.txt"])
def test_what_can_be_read_is_not_taken_for_text(name):
    assert not FioText().recognises((DATA / name).read_bytes())
