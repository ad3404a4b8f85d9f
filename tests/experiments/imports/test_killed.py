"""A worker killed in the middle of an import: the draft holds all of it or nothing, and in the end all of it."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.kdb.jobs.test_worker import Place, kill, wait_until

pytestmark = [pytest.mark.server, pytest.mark.slow]

ROWS = 40_000
PREPARE = f"""
import django; django.setup()
from experiments.models import ImportBatch
from experiments.records.files import raw_files
from experiments.imports import pipeline
from tests.factories import entry, make_case_study
from experiments.models import Benchmark, FileSystem, Hypervisor, Workload
for model, slug in ((Hypervisor, "kvm"), (FileSystem, "ext4"), (Workload, "varmail"), (Benchmark, "filebench")):
    entry(model, slug)
rows = (f"kvm,ext4,ext4,varmail,filebench,1,{{n + 1}},MiB/s\\n" for n in range({ROWS}))
text = "hypervisor,host_fs,guest_fs,workload,benchmark,vm_count,value,unit\\n" + "".join(rows)
pipeline.receive(make_case_study("lab"), [raw_files.take("a.csv", [text.encode()])], user=None, door="command",
                 is_confirmed=True)
"""


@pytest.fixture
def place(tmp_path, migrated_sqlite) -> Iterator[Place]:
    place = Place(tmp_path, migrated_sqlite)
    place.run_python("-c", PREPARE)
    yield place
    for worker in place.workers:
        kill(worker)


def ask(place: Place, question: str) -> list[tuple]:
    with closing(sqlite3.connect(place.data_dir / "kdb.sqlite3", timeout=20)) as database:
        return database.execute(question).fetchall()


def state(place: Place) -> tuple[int, str]:
    """Measurements in the draft, and the state of the import, at one moment."""
    ((count, import_state),) = ask(
        place, "SELECT (SELECT count(*) FROM experiments_measurement), state FROM experiments_importbatch"
    )
    return count, import_state


@pytest.mark.parametrize("seconds_into_it", [0.1, pytest.param(0.6, marks=pytest.mark.nightly)])
def test_a_killed_import_leaves_the_old_state_or_the_new_one(place, seconds_into_it):
    worker = place.start_worker()
    wait_until(lambda: place.jobs()[0].state == "running")
    time.sleep(seconds_into_it)
    kill(worker)
    assert state(place) in ((0, "reading"), (ROWS, "filed"))

    place.start_worker()
    wait_until(lambda: state(place)[1] == "filed")
    assert state(place) == (ROWS, "filed")
    assert ask(place, "SELECT count(*), max(repetition) FROM experiments_measurement") == [(ROWS, ROWS)]
    assert ask(place, "SELECT count(*) FROM experiments_auditentry WHERE action = 'imported'") == [(1,)]
