"""The guards of conftest.py and of script/_run_tests.py bite."""

import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from django.core.cache import cache, caches
from django.core.management import call_command
from django.template import engines
from django.test import RequestFactory

from experiments.models import CaseStudy, KnowledgeRevision
from modelling.models import Arm
from tests import evidence
from tests.conftest import NONE_IS_QUICK, is_quick, takes
from tests.factories import make_case_study


def test_a_connection_that_leaves_this_machine_is_refused_and_noted(connections_outside):
    with socket.socket() as outside, pytest.raises(ConnectionRefusedError, match="may not connect"):
        outside.connect(("192.0.2.1", 80))
    assert connections_outside == ["('192.0.2.1', 80)"]
    connections_outside.clear()


def test_a_connection_on_this_machine_is_let_through():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=5):
        pass


def test_a_missing_template_variable_fails():
    template = engines["django"].from_string("{{ not_there }}")
    with pytest.raises(pytest.fail.Exception, match="not_there"):
        template.render({}, RequestFactory().get("/"))


@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_test_finds_the_caches_empty(turn):
    assert cache.get("left-behind") is None
    cache.set("left-behind", turn)


@pytest.mark.django_db
def test_a_test_begins_with_an_empty_database():
    assert not [model for model, _ in evidence.read()]


@pytest.mark.django_db
@pytest.mark.parametrize("turn", ["first", "second"])
def test_the_published_evidence_is_what_loading_it_leaves(turn, published_evidence):
    call_command("load_evidence", verbosity=0)  # finds everything there
    assert KnowledgeRevision.objects.count() == 1
    assert CaseStudy.objects.published().exists()
    make_case_study()  # keys go on after those of the evidence


def test_what_is_worked_out_is_shared_until_the_evidence_changes(published_evidence):
    memory = caches["worked-out"]
    memory.set("tests.worked_out", "of the evidence")
    memory.clear()  # as between two tests
    assert memory.get("tests.worked_out") == "of the evidence"
    assert memory.get("modelling.answer:none") is None
    Arm.objects.update(mean_log=0.0)
    assert memory.get("tests.worked_out") is None


def test_who_patches_shares_nothing(published_evidence, monkeypatch):
    memory = caches["worked-out"]
    memory.set("tests.worked_out", "by something patched")
    memory.clear()
    assert memory.get("tests.worked_out") is None


@pytest.mark.django_db(transaction=True)
def test_the_published_evidence_is_there_in_a_test_with_transactions_of_its_own(published_evidence):
    assert CaseStudy.objects.published().exists()


def test_the_browser_opens_a_page_of_the_live_server(live_server, page):
    page.goto(f"{live_server.url}/admin/login/")
    assert page.get_by_role("button", name="Sign in").is_visible()


TIERS = """
import pytest

def test_always(): ...

@pytest.mark.slow
def test_seconds(): ...

@pytest.mark.server
def test_processes(): ...

@pytest.mark.nightly
def test_at_night(): ...
"""
HOOKS = "pytest_addoption, pytest_configure, pytest_ignore_collect, pytest_collection_modifyitems, pytest_runtestloop"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "ending"),
    [
        ([], "3 passed, 1 deselected"),
        (["--all"], "4 passed"),
        (["--quick"], "1 passed, 3 deselected"),
    ],
    ids=["default", "all", "quick"],
)
def test_each_tier_runs_what_is_its_own(pytestconfig, tmp_path, arguments, ending):
    (tmp_path / "conftest.py").write_text(f"from tests.conftest import {HOOKS}\n")
    (tmp_path / "test_tiers.py").write_text(TIERS)
    if "--quick" in arguments:
        (tmp_path / "test_rows.py").write_text("pytestmark = pytest.mark.django_db\nraise AssertionError('collected')")
        (tmp_path / "test_of_another_run.py").write_text("def test_begun_there(): raise AssertionError('run twice')")
        (tmp_path / "taken").mkdir()
        assert takes(tmp_path / "taken", tmp_path / "test_of_another_run.py")
        arguments = ["--quick", f"--taken={tmp_path / 'taken'}"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        pytestconfig.inipath,
        f"--rootdir={tmp_path}",
        *arguments,
        tmp_path,
    ]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=pytestconfig.rootpath, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{ending} in" in ran.stdout.splitlines()[-1]


HEADS = {
    "pytestmark = pytest.mark.django_db": True,
    "pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]": True,
    "pytestmark = pytest.mark.slow  # a minute": True,
    "pytestmark = pytest.mark.sqlite": False,
    "pytestmark = [pytest.mark.sqlite]  # not pytest.mark.django_db": False,
    "@pytest.mark.slow": False,
    "def test_x():\n    pytestmark = pytest.mark.slow": False,
}


@pytest.mark.parametrize("head", HEADS)
def test_a_file_whose_head_marks_every_test_as_not_quick_is_left_out_by_its_text(head):
    assert bool(NONE_IS_QUICK.search(f"import pytest\n\n{head}\n")) == HEADS[head]


def test_no_file_that_is_left_out_by_its_text_has_a_quick_test(request):
    """The files are those that this run collected: in the default tier, all."""
    files = {item.path for item in request.session.items}
    left_out = {path for path in files if NONE_IS_QUICK.search(path.read_text())}
    assert not [item.nodeid for item in request.session.items if item.path in left_out and is_quick(item)]


def test_of_two_runs_that_share_their_files_one_takes_each(tmp_path):
    assert [takes(tmp_path, Path(file)) for file in ("/a/b.py", "/a/b.py", "/a/c.py")] == [True, False, True]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to whom it is told to")
def test_what_a_run_that_was_broken_off_left_ends_with_it(pytestconfig):
    """A laboratory, say: its parent, a process of pytest, was killed."""
    program = (
        "import sys, subprocess; sys.path.insert(0, 'script'); import _run_tests\n"
        "_run_tests.adopt_orphans()\n"
        "words = ['sh', '-c', 'setsid sleep 300 >/dev/null 2>&1 & echo $!']\n"
        "print(subprocess.run(words, capture_output=True, text=True).stdout)\n"
        "_run_tests.end_orphans()\n"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=pytestconfig.rootpath, check=True, timeout=60)
    left = int(ran.stdout)
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE


def test_the_default_tier_has_a_budget_of_processor_time(run_tests):
    budget, quiet = run_tests.DEFAULT_TIER_CPU_SECONDS, run_tests.WORK_MILLISECONDS
    assert run_tests.over_budget([], budget, quiet) is None
    for faster in (1, 2):
        complaint = run_tests.over_budget([], budget + 1, quiet / faster)
        assert f"{budget + 1:,} CPU s of {budget:,}" in complaint
        assert "20 dearest" in complaint
    for arguments in (["--all"], ["--quick"], ["tests/modelling"]):
        assert run_tests.over_budget(arguments, budget * 2, quiet) is None


def test_a_machine_on_which_the_same_work_takes_longer_may_take_longer(run_tests):
    budget, slow = run_tests.DEFAULT_TIER_CPU_SECONDS, run_tests.WORK_MILLISECONDS * 1.5
    assert run_tests.over_budget([], budget * 1.5, slow) is None
    assert run_tests.over_budget([], budget * 1.5 + 1, slow)


def test_the_budget_counts_children_and_decides_the_exit_status(run_tests, monkeypatch, capsys):
    monkeypatch.setattr(run_tests, "run_all", lambda arguments, stack, counts: counts.update(passed=1))
    monkeypatch.setattr(run_tests.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(run_tests.sys, "argv", ["_run_tests.py"])
    monkeypatch.setattr(run_tests, "fixed_work", lambda: run_tests.WORK_MILLISECONDS)
    before = run_tests.cpu_seconds()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.2: pass"], check=True)
    assert run_tests.cpu_seconds() >= before + 0.2

    monkeypatch.setattr(run_tests, "cpu_seconds", lambda: run_tests.DEFAULT_TIER_CPU_SECONDS + 1)
    assert run_tests.main() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"
    monkeypatch.setattr(run_tests, "cpu_seconds", lambda: 0.0)
    assert run_tests.main() == 0

    for thread in threading.enumerate():  # what goes on would meet what later tests patch
        if "keep_working" in thread.name:
            thread.join(60)
            assert not thread.is_alive()
