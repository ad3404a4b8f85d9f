"""kdb measure that is cut off: killed, the server away, other programs busy."""

import os
import signal
import subprocess

import pytest
from kdb_client import kept, measure
from kdb_client.client import Client
from kdb_client.command import main
from kdb_client.errors import AwayError

from modelling.models import Laboratory, Sitting
from tests.test_one_file import FIO, machine, piped

__all__ = ["machine"]

KILLS = """#!/bin/sh
[ "$1" != --version ] || exec echo fio-3.33
for job; do :; done
grep -q create_only "$job" || { echo run >>"$HOME/runs"; [ "$(wc -l <"$HOME/runs")" != 4 ] || kill -9 $PPID; }
"""


@pytest.mark.server
def test_killed_during_a_run_it_goes_on_where_it_was(transactional_db, live_server, machine, tmp_path):
    (tmp_path / "fio").write_text(KILLS + FIO.split("\n", 2)[2])
    command = piped(live_server.url, tmp_path, "--yes")
    command[-1] = command[-1].replace("--laboratory ours ", "").replace("| python3", "| exec python3")
    ran = [
        subprocess.run(command, env=machine, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        for _ in range(2)
    ]
    assert ran[0].returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    sitting = Sitting.objects.get()  # one alone
    assert f"Going on with sitting {sitting.pk}, which was cut off." in ran[1].stdout
    assert ran[1].returncode == 0
    assert sitting.state == "decided"
    assert len((tmp_path / "home" / "runs").read_text().splitlines()) == sitting.runs.count() + 1


@pytest.fixture
def own(machine, tmp_path, live_server, monkeypatch):
    """Return the words that measure two folders as a visitor, with an fio that takes no time."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KDB_URL", live_server.url)
    monkeypatch.delenv("KDB_TOKEN", raising=False)
    return ["measure", "varmail", "--yes", f"--place=a={tmp_path}/a", f"--place=b={tmp_path}/b"]


@pytest.mark.server
def test_a_run_is_told_when_the_server_is_back(transactional_db, own, monkeypatch, capsys):
    real, away = Client.post, iter([True, True])

    def post(self, path, body):
        if "/runs/4/" in path and next(away, False):
            raise AwayError("it does not answer: connection refused")
        return real(self, path, body)

    monkeypatch.setattr(Client, "post", post)
    monkeypatch.setattr(kept, "_PAUSES", (0.01, 0.01))
    assert main([*own, "--despite-load"]) == 0
    assert capsys.readouterr().out.count("The server is away") == 2
    assert Sitting.objects.get().state == "decided"


@pytest.mark.server
def test_a_run_that_the_server_missed_is_told_by_the_next_start(transactional_db, own, monkeypatch, capsys):
    real = Client.post

    def gone(self, path, body):
        if "/runs/4/" in path:
            raise AwayError("it does not answer: connection refused")
        return real(self, path, body)

    monkeypatch.setattr(kept, "RECONNECTED_WITHIN", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(Client, "post", gone)
        assert main([*own, "--despite-load"]) == 2
    assert Sitting.objects.get().runs.exclude(reported_at=None).count() == 3
    assert main([*own, "--despite-load", "--resume"]) == 0
    assert Sitting.objects.get().state == "decided"
    assert main([*own, "--despite-load", "--resume"]) == 2
    assert "Nothing that was begun with these words is unfinished." in capsys.readouterr().err


@pytest.mark.server
def test_other_options_begin_another_sitting(transactional_db, own, monkeypatch):
    monkeypatch.setattr(measure, "make_load", lambda *_: pytest.fail("killed"))
    for more in ([], ["--seconds=7"]):
        with pytest.raises(pytest.fail.Exception):
            main([*own, "--despite-load", *more])
    assert Sitting.objects.count() == Laboratory.objects.count() == 2


@pytest.mark.server
def test_a_busy_machine_is_told_after_the_first_block_with_what_keeps_it_busy(
    transactional_db, own, monkeypatch, capsys
):
    monkeypatch.setattr(measure, "_busy", lambda seconds: 3.0)
    monkeypatch.setattr(measure, "_LOOK_SECONDS", 0.2)
    monkeypatch.setattr(measure, "_BUSIEST", 100)  # others test on this machine
    spinning = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        assert main(own) == 2
    finally:
        spinning.kill()
        spinning.wait()
    told = capsys.readouterr()
    assert told.out.count("disturbed: other programs kept the processors busy before it") == 2
    assert f"sh ({spinning.pid})" in told.err
    assert "--despite-load" in told.err
