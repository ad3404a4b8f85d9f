"""All readers together: what each captured output says, one reader for each, and none that fails on any input.

tests/data/readings.json has each captured output's reading, as people compared it with the file when it was added.
`python -m tests.experiments.readers.test_registry` writes it anew: look at each difference.
"""

import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments import readers
from experiments.readers import READERS, table
from experiments.readers.base import MAX_BYTES, Reading

DATA = Path(__file__).parents[2] / "data"
FOLDERS = (
    *("bonnie", "crystaldiskmark", "dbench", "dd", "diskspd", "filebench", "fio", "ioping", "iozone", "kdiskmark"),
    *("pgbench", "phoronix", "postmark", "sysbench", "facts"),
    *("as-ssd", "hammerdb", "hd-tune", "hdparm", "osd-bench", "phoronix-csv", "pveperf", "rados-bench"),
    *("elbencho", "pbench"),
)
CAPTURED = {
    f"{path.parent.name}/{path.name}": path.read_bytes()
    for folder in FOLDERS
    for path in sorted((DATA / folder).iterdir())
    if path.name != "README.md"
}


def check(reading: Reading, data: bytes) -> None:
    """Check what holds of every reading, whatever was read."""
    lines = (
        data.count(b"\n") + data.count(b"\r") + data.count(b"\x0b") + data.count(b"\x0c") + data.count(b"\x1c") + 200
    )
    assert reading.runs or reading.refused or reading.facts
    for fact in reading.facts:
        assert fact.about
        assert fact.line is None or 1 <= fact.line <= lines
        assert not isinstance(fact.value, float) or 0 <= fact.value < float("inf")
    for run in reading.runs:
        for value in (run.throughput_mib_s, run.ops_per_s, run.latency_ms, run.duration_s):
            assert value is None or 0 < value < float("inf")
        assert any((run.throughput_mib_s, run.ops_per_s, run.latency_ms))
        assert run.line is None or 1 <= run.line <= lines
        assert len(run.operation) <= 40
        assert all(isinstance(value, str | int | float) for value in run.parameters.values())
        assert all(0 < value < float("inf") for value in run.percentiles_ms.values())
        assert bool(run.operation) != bool(run.could_be)
    for refusal in reading.refused:
        assert refusal.reason
        assert refusal.line is None or 1 <= refusal.line <= lines


RECORDED = DATA / "readings.json"


def as_recorded(value: Any) -> Any:
    """Return a reading as JSON has it, without what is empty."""
    if isinstance(value, dict):
        return {name: as_recorded(inner) for name, inner in value.items() if inner not in ("", None, (), {}, [])}
    return [as_recorded(inner) for inner in value] if isinstance(value, list | tuple) else value


def record() -> None:
    lines = (
        f"{json.dumps(name)}: {json.dumps(as_recorded(asdict(readers.read(data))))}" for name, data in CAPTURED.items()
    )
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


@pytest.mark.parametrize("name", CAPTURED)
def test_a_captured_output_has_one_reader_which_reads_what_was_recorded(name):
    data = CAPTURED[name].replace(b"\r\n", b"\n")
    reading = readers.read(data)
    assert [reader.name for reader in READERS if reader.recognises(data)] == [reading.format]
    assert not table.recognises(data)
    recorded = json.loads(RECORDED.read_text())
    assert name in recorded, f"{name} is not recorded: run python -m {__name__}"
    assert as_recorded(asdict(reading)) == recorded[name]
    check(reading, data)
    assert readers.read(data.replace(b"\n", b"\r\n")) == reading == readers.read(data.decode().encode("utf-16"))


def test_every_reader_has_a_captured_output_and_a_row_of_the_documentation():
    unread = [reader.name for reader in READERS if not any(map(reader.recognises, CAPTURED.values()))]
    assert unread == []  # a folder of tests/data is read where FOLDERS names it
    text = (DATA.parents[1] / "docs" / "imports.md").read_text().lower()
    assert [reader.name for reader in READERS if any(word not in text for word in reader.name.split("-"))] == []


def test_two_formats_in_one_file_are_refused_with_both_named():
    both = CAPTURED["dbench/dbench-4.00.txt"] + b"\n" + CAPTURED["sysbench/sysbench-1.0.txt"]
    reading = readers.read(both)
    assert reading.runs == ()
    assert "results of 2 formats in one file: 'sysbench' (line " in reading.refused[0].reason
    assert "'dbench' (line " in reading.refused[0].reason


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@given(data=st.binary(max_size=2000))
def test_arbitrary_bytes_fail_no_reader(reader, data):
    reader.recognises(data)
    check(reader.read(data), data)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(name=st.sampled_from(sorted(CAPTURED)), other=st.sampled_from(sorted(CAPTURED)), seed=st.integers(0, 2**32))
def test_a_garbled_output_fails_no_reader(name, other, seed):
    chance = random.Random(seed)
    lines = CAPTURED[name][:60_000].split(b"\n")
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        match chance.randrange(5):
            case 0:
                del lines[at:]
                lines.append(b"")
            case 1:
                lines.insert(at, lines[at])
            case 2:
                lines[at] = bytes(chance.choice([byte, 48, 45, 255]) for byte in lines[at])
            case 3:
                lines[at] = lines[at].replace(b"0", b"-").replace(b"1", b"nan")
            case _:
                lines[at:at] = CAPTURED[other][:5_000].split(b"\n")
    data = b"\n".join(lines)
    for reader in READERS:
        check(reader.read(data), data)
    check(readers.read(data), data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"%PDF-1.7", "a PDF document"),
        (b"<!doctype html><p>", "an HTML page"),
        (b"ATTO Disk Benchmark 4.01\n64 KB 1 2", "ATTO Disk Benchmark; enter"),
        (b"IO500 version io500-isc22\n[RESULT] ior-easy-write 1 GiB/s", "IO500"),
        (b"set $dir=/srv\ndefine fileset name=a,path=$dir", "a Filebench personality"),
        (b"[global]\nrw=randread\niodepth=4", "a fio job file"),
        (b'{"results": []}', "JSON that is neither"),
        (b"time,value\n1,2\n", "a table without the headers"),
        (b"<?xml version='1.0'?><x/>", "XML that is no composite.xml"),
        (b"\x00\x05\x16\x07\x00", "a macOS resource file"),
        (b"\x01\x00\x02\x00", "binary data"),
        (b"hello", "text of no benchmark"),
    ],
)
def test_what_has_no_reader_is_named(data, words):
    (refusal,) = readers.read(data).refused
    assert words in refusal.reason


def test_more_than_a_result_ever_has_is_refused_unread():
    (refusal,) = readers.read(b"x" * (MAX_BYTES + 1)).refused
    assert "at most" in refusal.reason


if __name__ == "__main__":
    record()
