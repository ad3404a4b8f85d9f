"""fio's JSON, terse lines and text. Captured figures were read in the files; older forms are composed."""

import json
import re
from pathlib import Path

import pytest

from experiments.readers import read as read_any
from experiments.readers.base import Reading
from experiments.readers.formats.fio.json import FioJson
from experiments.readers.formats.fio.terse import FioTerse
from experiments.readers.formats.fio.text import FioText

DATA = Path(__file__).parents[2] / "data" / "fio"


def captured(name: str) -> str:
    return (DATA / name).read_text()


def section(mib: float, seconds: float, requests: int, *, unit: int = 1, lat: dict | None = None) -> dict:
    """Return what fio counts of one direction; `unit` 1024 where io_bytes is KiB."""
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


def test_figures_are_those_of_the_captured_counters():
    entry = json.loads(captured("fio-3.33.json"))["jobs"][0]["read"]
    run = read(captured("fio-3.33.json")).runs[0]
    assert run.throughput_mib_s == pytest.approx(entry["bw_bytes"] / 2**20, rel=1e-6)
    assert run.ops_per_s == pytest.approx(entry["iops"], rel=1e-6)
    assert run.latency_ms == pytest.approx(entry["lat_ns"]["mean"] / 1e6)
    assert run.duration_s == entry["runtime"] / 1000


@pytest.mark.parametrize(("version", "unit"), [("fio-2.18", 1024), ("fio-2.21", 1), ("fio-3.16", 1)])
def test_io_bytes_is_kib_before_2_21_and_bytes_since(version, unit):
    run = only_run(document(job(read=section(100, 10, 25600, unit=unit)), version=version))
    assert run.throughput_mib_s == pytest.approx(10)
    assert run.ops_per_s == pytest.approx(2560)


def test_documents_of_one_version_are_read_and_a_second_version_is_refused():
    one = document(job(read=section(1, 1, 1)))
    assert len(read(f"{one}\n$ fio again\n{one}").runs) == 2
    reading = read(one + document(job(read=section(1, 1, 1)), version="fio-3.33"))
    assert len(reading.runs) == 1
    assert "fio 3.33 here and 3.16 above" in reading.refused[0].reason


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
    assert only_run(document(named)).parameters == {"rw": "read"}


@pytest.mark.parametrize(
    "before", ["", "note: both iodepth >= 1 and synchronous I/O engine\n", "```\n", "\ufeff", "host1\n>"]
)
def test_text_around_the_json_does_not_matter(before):
    assert only_run(f"{before}{document(job(read=section(1, 1, 1)))}\n```\nbye").line == before.count("\n") + 5


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


# What 2,300 unseen files found


@pytest.mark.parametrize(
    ("options", "directions", "operation"),
    [
        ({"rw": "randrw", "rwmixread": "100"}, ["read"], "random-read"),
        ({"rw": "randrw"}, ["write"], "random-write"),
        ({"rw": "rw"}, ["write"], "write"),
        ({"rw": "randread:8"}, ["read"], "random-read"),
        ({"rw": "randrw"}, ["read", "write"], "mixed"),
    ],
)
def test_a_load_of_two_directions_that_went_one_way_keeps_its_order(options, directions, operation):
    parts = dict.fromkeys(directions, section(1, 1, 256))
    assert only_run(document(job(**parts) | {"job options": options})).operation == operation


def test_a_job_without_rw_is_asked_about_and_never_taken_for_sequential():
    run = only_run(document(job(read=section(1, 1, 1))))
    assert (run.operation, run.could_be) == ("", ("read", "random-read"))
    assert "numjobs" not in run.parameters


def test_all_clients_have_the_load_that_each_of_them_has():
    clients = [job(name, read=section(1, 1, 1)) | {"job options": {"rw": "randread", "numjobs": "4"}} for name in "ab"]
    text = json.dumps({"fio version": "fio-3.1", "client_stats": [*clients, job("All clients", read=section(2, 1, 2))]})
    run = only_run(text)
    assert (run.operation, run.parameters) == ("random-read", {"rw": "randread"})
    other = text.replace("randread", "read", 1)
    assert only_run(other).could_be == ("read", "random-read")


@pytest.mark.parametrize(
    ("bs", "directions", "size"),
    [
        ("4Ki", ["read"], 4096),
        ("4k,64k", ["write"], 65536),
        ("4k,64k", ["read", "write"], None),
        ("8k,8k", ["read", "write"], 8192),
        ("4k-64k", ["read"], None),
    ],
)
def test_a_block_size_is_that_of_what_was_done(bs, directions, size):
    parts = dict.fromkeys(directions, section(1, 1, 2**20 // (size or 4096)))
    assert only_run(document(job(**parts) | {"job options": {"bs": bs}})).block_size_bytes == size


def test_2_1_has_a_rate_and_no_number_of_requests():
    old = {key: value for key, value in section(100, 10, 0, unit=1024).items() if key != "total_ios"} | {"iops": 2560}
    run = only_run(document(job(read=old), version="2.1.10"))
    assert (run.ops_per_s, run.throughput_mib_s) == (pytest.approx(2560), pytest.approx(10))


def test_a_percentile_that_people_read_as_zero_is_missing():
    text = captured("fio-3.33-people.txt")
    zero = re.sub(r"50\.00th=\[ *\d+\]", "50.00th=[    0]", text)
    assert zero != text
    before, after = (FioText().read(output.encode()).runs[0].percentiles_ms for output in (text, zero))
    assert before["p50"] > 0
    assert after == {name: value for name, value in before.items() if name != "p50"}


def test_bins_of_several_processes_are_added_up():
    bins = [{"100": 50, "200": 45, "400": 5}, {"100": 50, "300": 45, "800": 5}]
    jobs = [job(read=section(1, 1, 100, lat={"clat_ns": {"bins": counts}})) for counts in bins]
    assert only_run(document(*jobs)).percentiles_ms == pytest.approx({"p50": 1e-4, "p95": 3e-4, "p99": 8e-4})
    entry = json.loads(captured("fio-3.33-plus.json"))["jobs"][0]["write"]["clat_ns"]
    del (lone := {"clat_ns": dict(entry)})["clat_ns"]["percentile"]
    twice = document(*[job(write=section(1, 1, 100, lat=lone))] * 2)
    assert only_run(twice).percentiles_ms["p99"] == pytest.approx(entry["percentile"]["99.000000"] / 1e6, rel=0.02)


def test_of_percentiles_of_two_latencies_the_first_count():
    lat, clat = ({"percentile": {"50.000000": ns}} for ns in (3e6, 1e6))
    assert only_run(document(job(read=section(1, 1, 100, lat={"clat_ns": clat, "lat_ns": lat})))).percentiles_ms == {
        "p50": 3.0
    }


# Inside other documents


def inside(*names: str, rw: str = "read") -> dict:
    return {name: json.loads(document(job(read=section(1, 1, 1)) | {"job options": {"rw": rw}})) for name in names}


def test_fios_json_inside_somebody_elses_is_read_wherever_it_stands():
    for outer in (
        {"results": [inside("a")]},
        {"a": json.dumps(inside("b")["b"])},
        {"time": 1, **inside("b")["b"]},
        [inside("a", rw="write")["a"], inside("b", rw="read")["b"]],
    ):
        text = json.dumps(outer, indent=1)
        reading = read(text)
        assert reading.refused == ()
        assert [run.throughput_mib_s for run in reading.runs] == [1.0] * len(reading.runs) != []
        assert all("jobname" in text.splitlines()[run.line - 1] for run in reading.runs)


def test_one_load_under_two_names_is_refused_by_the_names():
    twice = json.dumps({"pve": inside("random"), "2gb": inside("random")})
    assert "'pve > random' (line 1), '2gb > random' (line 1)" in only_reason(twice)
    assert [(part.name, len(part.reading.runs)) for part in read(twice).parts] == [
        ("pve > random", 1),
        ("2gb > random", 1),
    ]
    assert len(read(json.dumps({**inside("a"), **inside("b", rw="write")})).runs) == 2


# Jobs of a group that fio adds up


FORMS = {
    "json": captured("fio-3.33-group.json"),
    "terse": captured("fio-3.33-group-terse.txt"),
    "text": captured("fio-3.33-group-people.txt"),
}


def test_one_run_in_three_forms_counts_once():
    every = FORMS["terse"] + FORMS["json"] + FORMS["text"]
    reading = read_any(every.encode())
    assert (reading.format, len(reading.runs), reading.parts) == ("fio-json", 1, ())
    assert [refusal.reason for refusal in reading.refused] == ["of fio-json again in another form: they count once"]
    other = every.replace("3;fio-3.33;index;", "3;fio-3.33;log;")
    assert [part.name for part in read_any(other.encode()).parts] == ["fio-json", "fio-terse"]


def test_jobs_of_a_group_that_read_in_two_orders_are_one_mixed_load():
    both = FORMS["text"].replace("log: (g=0): rw=write", "log: (g=0): rw=read").replace("  write: IOPS", "  trim: IOPS")
    assert read_any(both.encode()).runs[0].operation == "mixed"
    alike = FORMS["text"].replace("rw=write", "rw=randread").replace("(W) 64.0KiB-64.0KiB", "(W) 4096B-4096B")
    assert read_any(alike.encode()).runs[0].parameters["rw"] == "randread"


@pytest.mark.parametrize(("rw", "bs"), [("write", "4k"), ("randread", "64k")])
def test_the_options_of_one_job_are_not_those_of_its_group(rw, bs):
    options = {"job options": {"rw": rw, "bs": bs, "iodepth": "8"}}
    run = only_run(document(job(read=section(100, 10, 25_600)) | options, **{"global options": {"size": "1g"}}))
    assert run.parameters == {"size": "1g"}
    assert "fio added up several jobs" in run.warnings[0]
    verified = {"job options": {**options["job options"], "verify": "crc32c"}}
    assert only_run(document(job(read=section(100, 10, 25_600)) | verified)).parameters["iodepth"] == 8


def test_reads_and_writes_that_fio_counts_as_one_are_counted_once():
    options = {"job options": {"rw": "randread", "bs": "4k"}}
    one = section(100, 10, 25_600)
    assert only_run(document(job(mixed=one) | options)).operation == "random-read"
    assert only_run(document(job(mixed=one), job(mixed=one))).throughput_mib_s == pytest.approx(20)
    text = FORMS["text"].replace("  write: IOPS", "  mixed: IOPS")
    assert read_any(text.encode()).runs[0].throughput_mib_s == 344.0
    both = only_run(document(job(read=one, mixed=one) | options))  # unified_rw_reporting=both
    assert (both.operation, both.throughput_mib_s) == ("random-read", pytest.approx(10))


# Terse


LINE = captured("fio-3.33-terse.txt").splitlines()[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LINE.replace("3;fio-3.33;mail-read;0;0;", "3;fio-3.33;mail-read;0;28;"), "error 28"),
        (LINE.replace("3;fio", "2;fio", 1), "terse version 2"),
        (LINE.replace("3;fio", "5;fio", 1), "130 fields, 180 and 9 more a disk"),
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


OLD_TEXT = """mail: (g=0): rw=randrw, bs=4K-4K/8K-8K/4K-4K, ioengine=libaio, iodepth=8
fio-2.2.10
mail: (groupid=0, jobs=4): err= 0: pid=7: Fri Feb  9 12:56:50 2018
  read : io=1024.0MB, bw=20480KB/s, iops=5120, runt= 51200msec
     lat (usec): min=1, max=9, avg=200.00, stdev= 1.00
  write: io=1024.0MB, bw=40960KB/s, iops=5120, runt= 25600msec
     lat (msec): min=1, max=9, avg= 1.00, stdev= 1.00
"""


def test_text_of_2_x_is_in_powers_of_1024_and_its_directions_add_up():
    (run,) = FioText().read(OLD_TEXT.encode()).runs
    assert (run.operation, run.throughput_mib_s, run.ops_per_s) == ("mixed", 60.0, 10240.0)
    assert (run.latency_ms, run.duration_s, run.block_size_bytes) == (pytest.approx(0.6), 51.2, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (OLD_TEXT.replace("err= 0", "err= 28"), "failed with error 28"),
        (OLD_TEXT.replace("mail: (groupid", "fio: terminating on signal 2\nmail: (groupid"), "interrupted"),
        (OLD_TEXT.partition("  read")[0], "its figures are cut"),
        (OLD_TEXT.replace("mail: (groupid", "(groupid"), "the text is cut"),
        (OLD_TEXT + OLD_TEXT.replace("2.2.10", "3.1"), "two installations"),
    ],
)
def test_text_that_is_no_result_is_refused(text, reason):
    assert reason in FioText().read(text.encode()).refused[0].reason


def test_text_without_the_line_of_its_load_is_asked_about():
    (run,) = FioText().read(OLD_TEXT[OLD_TEXT.index("fio-2") : OLD_TEXT.index("  write")].encode()).runs
    assert (run.operation, run.could_be, run.parameters) == ("", ("read", "random-read"), {"numjobs": 4})
