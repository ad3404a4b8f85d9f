"""manage.py read_results: one JSON line a file, and no database."""

import io
import json
import os
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.management import call_command

DATA = Path(__file__).parents[2] / "data"
KEYS = {"file", "ok", "format", "tool_version", "runs", "facts", "refused"}
RUN_KEYS = {
    *(
        "workload",
        "benchmark",
        "operation",
        "could_be",
        "block_size_bytes",
        "parameters",
        "metrics",
        "line",
        "warnings",
    ),
    *("throughput_mib_s", "ops_per_s", "latency_ms", "percentiles_ms", "duration_s"),
}


def lines(*files: Path | str) -> list[dict]:
    out = io.StringIO()
    with suppress(SystemExit):  # status 1 where not all are ok
        call_command("read_results", *map(str, files), json=True, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_a_file_has_exactly_the_promised_keys():
    (line,) = lines(DATA / "filebench/filebench-master-xfs-fileserver.txt")
    assert set(line) == KEYS
    assert set(line["runs"][0]) == RUN_KEYS
    assert (line["ok"], line["format"], line["tool_version"], line["refused"]) == (True, "filebench", "1.5-alpha3", [])


def test_a_file_with_good_and_refused_runs_is_not_ok_and_gives_both():
    (line,) = lines(DATA / "postmark/composed.txt")
    assert (line["ok"], len(line["runs"]), len(line["refused"])) == (False, 1, 1)
    assert set(line["refused"][0]) == {"line", "reason"}


def test_a_table_is_read_with_its_units(tmp_path):
    (tmp_path / "t.csv").write_text("workload,value,unit\nmail,1.048576,MB/s\nmail,3,ms\nmail,0,ms\n")
    (line,) = lines(tmp_path / "t.csv")
    assert [(run["throughput_mib_s"], run["latency_ms"], run["line"]) for run in line["runs"]] == [
        (1.0, None, 2),
        (None, 3.0, 3),
    ]
    assert line["refused"] == [{"line": 4, "reason": "value: found 0, expected is a number above zero, like 123.4"}]


def test_every_metric_that_a_table_may_have_has_its_place(tmp_path):
    """Transactions, times and percentiles ended the command with a KeyError, or stood as a mean latency."""
    (tmp_path / "t.csv").write_text(
        "workload,metric,value,unit\nmail,transaction_rate,120,TPS\nmail,,30,s\nmail,latency_p99,9,ms\nmail,,7,ms\n"
    )
    (line,) = lines(tmp_path / "t.csv")
    told = ("throughput_mib_s", "latency_ms", "duration_s", "percentiles_ms", "warnings")
    assert [tuple(run[name] for name in told) for run in line["runs"]] == [
        (None, None, None, {}, ["transaction_rate: 120 TPS"]),
        (None, None, 30, {}, []),
        (None, None, None, {"p99": 9}, []),
        (None, 7, None, {}, []),
    ]


def test_the_load_of_a_run_is_told_with_its_figures(tmp_path):
    (tmp_path / "t.csv").write_text(
        "workload,operation,block_size_bytes,parameter:threads,value,unit\nmail,random-read,4096,16,3,ms\n"
    )
    table, fio = lines(tmp_path / "t.csv", DATA / "fio/fio-3.33.json")
    told = ("operation", "block_size_bytes", "parameters", "metrics")
    assert [table["runs"][0][name] for name in told] == ["random-read", 4096, {"threads": "16"}, ["latency"]]
    first = fio["runs"][0]
    assert (first["operation"], first["block_size_bytes"], first["parameters"]["rw"]) == (
        "random-read",
        4096,
        "randread",
    )
    assert first["metrics"] == ["throughput", "operation_rate", "latency"]


def test_a_zip_gives_a_line_a_member(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(DATA / "postmark/composed.txt", "a/postmark.txt")
        archive.writestr("b.txt", "hello")
    member_lines = lines(tmp_path / "all.zip")
    assert [line["file"].removeprefix(str(tmp_path)) for line in member_lines] == [
        "/all.zip/a/postmark.txt",
        "/all.zip/b.txt",
    ]


@pytest.mark.parametrize("name", ["missing.txt", "."])
def test_a_file_that_cannot_be_opened_is_a_line_too(tmp_path, name):
    (line,) = lines(tmp_path / name)
    assert (line["ok"], line["runs"]) == (False, [])
    assert "cannot be opened" in line["refused"][0]["reason"]


def test_without_json_it_is_text_for_people(capsys):
    call_command("read_results", str(DATA / "filebench/filebench-master-xfs-fileserver.txt"))
    out = capsys.readouterr().out
    assert "filebench 1.5-alpha3" in out
    assert "MiB/s" in out


@pytest.mark.server
def test_it_needs_no_database(tmp_path):
    environment = {"PATH": os.environ["PATH"], "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
    command = [sys.executable, "manage.py", "read_results", "--json", str(DATA / "dbench/dbench-4.00.txt")]
    done = subprocess.run(
        command, env=environment | {"DATA_DIR": str(tmp_path)}, capture_output=True, text=True, cwd=DATA.parents[1]
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["ok"] is True


GARBAGE = {
    "random bytes": lambda size: os.urandom(size),
    "one endless line": lambda size: b"Filebench Version 1.5 IO Summary: " + b"9" * size,
    "a million short lines": lambda size: b"1;2;3,4\n" * (size // 8),
    "deep brackets": lambda size: b'{"fio version": ' + b"[" * size,
    "deep elements": lambda size: b"<PhoronixTestSuite>" + b"<a>" * (size // 3),
    "a table of nothing": lambda size: b"workload,value,unit\n" + b"mail,1,KB/s\n" * (size // 12),
}


@pytest.mark.nightly
@pytest.mark.server
@pytest.mark.parametrize("kind", GARBAGE)
def test_fifty_megabytes_of_garbage_are_refused_in_bounded_time_and_memory(tmp_path, kind):
    (tmp_path / "garbage").write_bytes(GARBAGE[kind](50 * 2**20))
    code = (
        "import resource, sys; from pathlib import Path; from experiments import readers\n"
        "from experiments.readers import table\n"
        "data = Path(sys.argv[1]).read_bytes()\n"
        "if table.recognises(data):\n"
        "    print(sum(isinstance(item, table.Fault) for item in table.read_table(data).rows()))\n"
        "else:\n"
        "    reading = readers.read(data); assert not reading.runs and reading.refused\n"
        "usage = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(usage.ru_maxrss / 1024, usage.ru_utime)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "garbage")],
        capture_output=True,
        text=True,
        cwd=DATA.parents[1],
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-500:]
    mebibytes, seconds = map(float, done.stdout.split()[-2:])
    assert mebibytes < 1500
    assert seconds < 120
