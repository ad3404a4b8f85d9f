"""A machine's output is read with limits: whatever it is, the run ends with a sentence and the worker goes on."""

from pathlib import Path

import pytest

from experiments.campaigns.runs.figures import read_output
from experiments.laboratory.benchmarks.bench import RunFailed
from experiments.readers import read

FIO = Path(__file__).parents[2] / "data" / "fio"


def nothing() -> None:
    pass


def test_an_output_is_read_as_an_import_reads_it():
    printed = sorted(FIO.glob("*.json"))[0].read_bytes()
    assert read_output("host", printed, nothing) == read(printed)
    assert not read_output("host", b"", nothing).runs


@pytest.mark.slow
def test_an_output_that_needs_too_much_memory_fails_its_run():
    printed = "sysbench total file size\u1234\n".encode() + b"x\n" * 60 * 2**20
    with pytest.raises(RunFailed, match=r"^host: reading its output took more than 256 MiB of memory\.$"):
        read_output("host", printed, nothing, memory_bytes=256 * 2**20)


def test_an_output_that_is_a_table_fails_its_run():
    with pytest.raises(RunFailed, match="machine-1: its output is a table"):
        read_output("machine-1", b"workload,value,unit\nvarmail,1,MiB/s\n", nothing)


@pytest.mark.slow
def test_a_run_that_was_given_up_is_not_read_to_its_end():
    class GivenUpError(Exception):
        pass

    def give_up() -> None:
        raise GivenUpError

    printed = b"workload,value,unit\n" + b"varmail,1,MiB/s\n" * 2_000_000
    with pytest.raises(GivenUpError):
        read_output("host", printed, give_up)
