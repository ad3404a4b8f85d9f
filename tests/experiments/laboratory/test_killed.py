"""Processes killed in the middle of a campaign: it goes on after a restart, nothing counts twice, nothing is left."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

from tests.experiments.laboratory.conftest import wait_until
from tests.kdb.jobs.test_worker import Place, kill

pytestmark = [pytest.mark.server, pytest.mark.slow]

PREPARE = """
import django; django.setup()
from django.conf import settings
from experiments.models import FileSystem
from experiments.campaigns import control
from tests import factories
factories.entry(FileSystem, "ext4")
host = factories.make_host("lab", pools=({pool!r},), address="127.0.0.1", port={port}, login="root", key_name="lab",
                           host_key={host_key!r}, drivers=["native"])
campaign = factories.make_campaign(host, slug="killed", repetitions=2, run_seconds=4, disk_mib=192, scale_percent=1)
control.create(campaign, user=None)
control.start(campaign)
"""
STATES = """
import django; django.setup()
import json
from experiments.models import Campaign, CampaignRun
runs = CampaignRun.objects.filter(repeats=None).order_by("position")  # others may disturb them here
print(json.dumps([Campaign.objects.get().state,
                  [[run.state, run.step, len(run.figures), run.attempt, run.artifacts.count()] for run in runs]]))
"""


class LabPlace(Place):
    """A data directory, and what became of the campaign in it."""

    def states(self):
        return json.loads(self.run_python("-c", STATES).stdout)


@pytest.fixture
def place(tmp_path, migrated_sqlite, plain_lab):
    place = LabPlace(tmp_path, migrated_sqlite)
    place.environment["KEYS_DIR"] = str(plain_lab.folder / "keys")
    code = PREPARE.format(pool=str(plain_lab.pool), port=plain_lab.port, host_key=plain_lab.host_key)
    place.run_python("-c", code)
    yield place
    for worker in place.workers:
        kill(worker)


def benchmark_runs(lab) -> bool:
    return "fio" in lab.inside("ps", "-eo", "comm").split()


def is_measured(lab) -> bool:
    """Tell whether the files are made and the barrier is passed: from then on nothing needs the connection."""
    return (lab.pool / ".kdb/benchmark.began").exists() and benchmark_runs(lab)


def finished(place) -> bool:
    """Asked of the file: a process of Django's takes longer to start than a run takes."""
    with closing(sqlite3.connect(place.data_dir / "kdb.sqlite3", timeout=20)) as database:
        return database.execute("SELECT state FROM experiments_campaign").fetchall() == [("finished",)]


def test_a_killed_worker_costs_one_attempt(place, plain_lab):
    worker = place.start_worker()
    wait_until(lambda: benchmark_runs(plain_lab), 300)
    kill(worker)
    state, runs = place.states()
    assert (state, [run[2] for run in runs]) == ("running", [0, 0])
    place.start_worker()
    wait_until(lambda: finished(place), 300)
    state, runs = place.states()
    assert [run[:3] for run in runs] == [["done", "", 1], ["done", "", 1]], (place.data_dir / "worker.log").read_text()
    assert runs[0][3] == 2
    assert plain_lab.left_overs() == []
    assert not benchmark_runs(plain_lab)


@pytest.mark.nightly
def test_a_killed_ssh_connection_costs_nothing(place, plain_lab):
    place.start_worker()
    wait_until(lambda: is_measured(plain_lab), 300)
    time.sleep(0.5)
    killed = 0
    for line in subprocess.run(["pgrep", "-af", "kdb-ssh-"], capture_output=True, text=True).stdout.splitlines():
        pid, command = line.split(" ", 1)
        if f"-p {plain_lab.port} " in command or "[mux]" in command:
            os.kill(int(pid), signal.SIGKILL)
            killed += 1
    assert killed
    wait_until(lambda: finished(place), 300)
    _, runs = place.states()
    assert [run[:4] for run in runs] == [["done", "", 1, 1], ["done", "", 1, 1]]
    assert plain_lab.left_overs() == []
