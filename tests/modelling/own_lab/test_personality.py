"""A load of kdb measure as a Filebench personality, read by KDB's own reader, is what its fio job is."""

import pytest
from kdb_client.fio_job import fio_job
from kdb_client.loads import LOADS, PROGRAMS, load_of

from modelling.own_lab.content import Load
from modelling.own_lab.personality import personality_text
from modelling.workloads import wml
from modelling.workloads.fio_job import fio_profile
from modelling.workloads.profiles import profile


@pytest.mark.parametrize("mib", [0, 1024])
@pytest.mark.parametrize("workload", sorted(LOADS.keys() - PROGRAMS))
def test_personality_and_job_have_one_profile(workload, mib):
    numbers = load_of(workload, 30, mib)
    by_filebench = profile(wml.parse(personality_text(Load(engine="fio", **numbers))))
    by_fio = fio_profile(fio_job(numbers, "/mnt"))
    for name in ("concurrency", "files", "working_set_bytes", "mean_file_bytes", "mean_io_bytes", "sync_share"):
        assert getattr(by_filebench, name) == pytest.approx(getattr(by_fio, name)), name
    assert vars_of(by_filebench.requests) == pytest.approx(vars_of(by_fio.requests))
    # Filebench turns from reading to writing; that jump counts as random.
    assert by_filebench.bytes.shares() == pytest.approx(by_fio.bytes.shares(), abs=0.01)
    assert by_filebench.metadata_share == (pytest.approx(0.4) if workload == "varmail" else 0)


def vars_of(requests):
    return requests.reads, requests.writes, requests.flushes
