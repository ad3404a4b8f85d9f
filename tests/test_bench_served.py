"""script/bench --served counts the right processes."""

import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import psutil
import psycopg
import pytest

from script import _costs, _services

ROOT = Path(__file__).resolve().parent.parent
WORK = "import time\nwhile time.process_time() < {seconds}: pass\n"
WORKS_IN_A_CHILD = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', sys.argv[1]])\ninput()\n"
HANG_SECONDS = 900


@pytest.fixture
def bench(run_tests: ModuleType) -> ModuleType:
    return importlib.import_module("bench_served")  # which finds its neighbours as run_tests does


@pytest.fixture
def parent() -> Iterator[subprocess.Popen]:
    """Give a process that waited for a child of 0.5 CPU seconds, and itself did next to nothing."""
    command = [sys.executable, "-c", WORKS_IN_A_CHILD, WORK.format(seconds=0.5) + "print(2, flush=True)"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.communicate("\n")


@pytest.mark.server
def test_what_a_child_took_counts_also_when_it_has_ended_and_what_a_stranger_took_does_not(parent):
    assert parent.stdout.readline() == "2\n"
    subprocess.run([sys.executable, "-c", WORK.format(seconds=1)], check=True)  # a child of ours

    while _costs.cpu_seconds(parent.pid) < 0.5:  # until it has been waited for
        pass

    assert _costs.cpu_seconds(parent.pid) < 1


@pytest.mark.server
def test_a_figure_beside_its_record_is_a_ratio_of_loops(bench):
    now, then = bench.Cost(web=8, workers=1, database=3, loop=60), bench.Cost(web=4, workers=0, database=2, loop=40)

    (heading, line, new) = bench.told({"claims": now, bench.NIGHT: now}, {"claims": then}).splitlines()

    assert heading.split()[-2:] == ["/", "recorded"]
    assert line.split() == ["claims", "8.0", "1.0", "3.0", "60.0", "0.200", "1.33"]  # 12 / 60 beside 6 / 40 = 0.150
    assert (new.startswith("a night of a series"), new.endswith("0.200  new: --record")) == (True, True)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.server
def test_requests_cost_the_web_server_and_a_new_question_more_than_a_kept_answer():
    command = [sys.executable, "script/bench.py", "--served", "sqlite", "--turns", "1", "--requests", "20"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS)

    assert done.returncode == 0, done.stdout + done.stderr
    figures = {
        what: [float(figure) for figure in rest.split()[:5]]
        for what, rest in re.findall(r"^(\S.{19}) ((?: *[\d.]+){5,6})$", done.stdout, re.M)
    }
    costs = {what.strip(): numbers for what, numbers in figures.items()}
    assert set(costs) >= {"first page", "kept answer, JSON", "new question", "a night of a series", "a second at rest"}
    for what, (web, workers, database, loop, loops) in costs.items():
        assert database == 0  # SQLite is in the processes that ask it
        assert loop > 0
        assert loops == pytest.approx((web + workers) / loop, rel=0.005, abs=0.01)  # each is printed rounded
        if what != "a second at rest":
            assert web > 0, what
    assert costs["new question"][0] > costs["kept answer, page"][0]
    assert costs["a second at rest"][1] < 100


@pytest.fixture
def postgresql() -> Iterator[tuple[_services.Service, str]]:
    """Give a server of PostgreSQL, and its address."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL's user passes through
        made = _services.new_postgresql(folder)
        if made is None:
            pytest.skip("PostgreSQL is missing (script/test brings it)")
        _services.started(stack, made)
        yield made


@pytest.mark.server
def test_what_postgresql_did_for_a_connection_counts_also_when_that_has_ended(postgresql):
    service, url = postgresql
    before = _costs.cpu_seconds(service.pid)

    with psycopg.connect(url) as connection:
        connection.execute("SELECT sum(n) FROM generate_series(1, 5000000) n")

    assert _costs.cpu_seconds(service.pid) - before > 0.2


def test_where_a_process_has_ended_before_it_is_read_all_are_read_again(monkeypatch):
    with subprocess.Popen(["true"]) as child:
        ended = psutil.Process(child.pid)
    listings = [[ended], []]
    monkeypatch.setattr(psutil.Process, "children", lambda self, recursive: listings.pop(0))

    assert _costs.cpu_seconds(os.getpid()) > 0
    assert listings == []
