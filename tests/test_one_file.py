"""The client as one file, piped from a running server into the Python of a machine that has nothing else."""

import os
import pty
import re
import subprocess
import urllib.request
from pathlib import Path

import pytest

from modelling.models import Laboratory, Sitting
from modelling.own_lab import laboratories
from tests.factories import make_token, make_user

FIO = """#!/bin/sh
[ "$1" != --version ] || exec echo fio-3.33
for argument; do case "$argument" in --output=*) output=${argument#--output=};; esac; done
echo '{"jobs": [{"error": 0, "read": {"iops": 500}, "write": {"iops": 500}}]}' >"$output"
"""


@pytest.fixture
def machine(tmp_path) -> dict[str, str]:
    """Return an environment with an empty home, two places and an fio that says always the same."""
    (tmp_path / "fio").write_text(FIO)
    (tmp_path / "fio").chmod(0o755)
    for name in ("home", "a", "b"):
        (tmp_path / name).mkdir()
    state = os.environ["XDG_STATE_HOME"]
    return {
        **{"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)},
        "XDG_STATE_HOME": state,
    }


@pytest.fixture
def ada(transactional_db):
    ada = make_user(username="ada")
    laboratories.create_laboratory(ada, "ours", "Our laboratory")
    return ada


def piped(server: str, places: Path, *options: str) -> list[str]:
    measure = f"measure varmail --laboratory ours --place a={places}/a --place b={places}/b --despite-load"
    return ["sh", "-c", f"curl -sf {server}/kdb.py | python3 - {measure} {' '.join(options)}"]


@pytest.mark.server
def test_piped_into_python_it_measures_and_leaves_nothing(ada, live_server, machine, tmp_path):
    environment = {**machine, "KDB_TOKEN": make_token(ada, ("measure",), laboratory="ours")}
    command = piped(live_server.url, tmp_path, "--yes")
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    sitting = Sitting.objects.get()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert sitting.state == "decided"
    assert f"{live_server.url}/laboratories/sittings/{sitting.pk}/" in ran.stdout
    assert f"\nShare it: kdb share {sitting.pk} " in ran.stdout
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "fio", "home"]


@pytest.mark.server
def test_without_an_account_it_measures_and_names_a_page_that_everybody_can_see(
    transactional_db, live_server, machine, tmp_path
):
    command = piped(live_server.url, tmp_path, "--yes")
    command[-1] = command[-1].replace("--laboratory ours ", "")
    ran = subprocess.run(command, env=machine, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert Laboratory.objects.get().sittings.get().state == "decided"
    (page,) = re.findall(rf"{live_server.url}/measured/[^ \n]*", ran.stdout)
    with urllib.request.urlopen(page) as answer:
        text = answer.read().decode()
    assert "Measured without an account" in text
    assert "Add it to the knowledge base" in text


@pytest.mark.server
def test_again_it_says_of_each_choice_how_fast_it_is_against_before(ada, live_server, machine, tmp_path):
    environment = {**machine, "KDB_TOKEN": make_token(ada)}
    for more in ([], ["--again"]):
        command = piped(live_server.url, tmp_path, "--yes", *more)
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert ran.stdout.count("it is 1.00 times as fast as before") == 2
    assert Sitting.objects.first().before == Sitting.objects.last()


@pytest.mark.server
@pytest.mark.parametrize(("answer", "begun"), [(b"y\n", 1), (b"n\n", 0)])
def test_piped_it_asks_at_the_terminal(ada, live_server, machine, tmp_path, answer, begun):
    """Its standard input is the program, which has ended."""
    environment = {**machine, "KDB_TOKEN": make_token(ada)}
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("sh", piped(live_server.url, tmp_path), environment)
    output = b""
    while b"Begin?" not in output:
        output += os.read(terminal, 4096)
    os.write(terminal, answer)
    while True:
        try:
            output += os.read(terminal, 4096)
        except OSError:  # it has ended
            break
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (0 if begun else 1), output
    assert Sitting.objects.count() == begun


@pytest.mark.server
def test_it_asks_the_server_that_it_came_from_unless_told_otherwise(live_server, db, machine, tmp_path):
    file = tmp_path / "kdb.py"
    subprocess.run(["curl", "-sf", "-o", str(file), f"{live_server.url}/kdb.py"], check=True)

    def asked(**more: str) -> subprocess.CompletedProcess[str]:
        command = ["python3", str(file), "rank", "chess"]
        return subprocess.run(command, env={**machine, **more}, capture_output=True, text=True, timeout=300)

    assert asked().stderr.startswith("kdb: 400: workload:")
    assert "http://127.0.0.1:1 does not answer" in asked(KDB_URL="http://127.0.0.1:1").stderr
