"""A worker killed while it answers again what a publication superseded: in the end every answer is the new one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.kdb.jobs.test_worker import Place, kill, wait_until

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]

PREPARE = """
import django; django.setup()
from django.core.management import call_command
from experiments.models import CaseStudy
from experiments.case_studies import retraction
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.answer_store.selectors import current_snapshot
call_command("load_evidence", verbosity=0)
for workload in ("varmail", "fileserver", "webserver"):
    for axis in AXES:
        for hypervisor in (None, "proxmox"):
            current_snapshot(Question(axis, workload, hypervisor=hypervisor))
retraction.retract(CaseStudy.objects.get(slug="p1"), reason="wrong disk")
"""
LOSE_EVERYTHING = """
import django; django.setup()
from kdb.models import Job
Job.objects.all().delete()
"""
WAITING = """
SELECT count(*) FROM modelling_rankingsnapshot a
WHERE superseded_by IS NOT NULL AND asked_at > DATETIME('now', '-6 days') AND NOT EXISTS
(SELECT 1 FROM modelling_rankingsnapshot b WHERE a.question = b.question AND b.revision > a.revision)
"""


@pytest.fixture
def place(tmp_path, migrated_sqlite) -> Iterator[Place]:
    place = Place(tmp_path, migrated_sqlite)
    place.run_python("-c", PREPARE)
    yield place
    for worker in place.workers:
        kill(worker)


def waiting(place: Place) -> int:
    with closing(sqlite3.connect(place.data_dir / "kdb.sqlite3", timeout=20)) as database:
        return database.execute(WAITING).fetchone()[0]


def test_a_killed_worker_and_lost_jobs_leave_no_answer_behind(place):
    superseded = waiting(place)
    assert superseded > 5
    worker = place.start_worker()
    wait_until(lambda: waiting(place) < superseded)
    kill(worker)
    assert waiting(place)
    place.run_python("-c", LOSE_EVERYTHING)

    place.start_worker()
    wait_until(lambda: not waiting(place))  # the one at the kill is tried again after a minute
    out = place.run_python("-m", "django", "check_answers").stdout
    assert out.endswith("standing answers were computed again; 0 wait.\n")
