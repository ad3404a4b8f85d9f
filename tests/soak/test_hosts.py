"""Several hosts, shortly: see script/hosts."""

import os
import subprocess
import sys

import pytest

from . import cluster
from .memory import Bound
from .place import ROOT

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]
HANG_SECONDS = 3600


@pytest.fixture(autouse=True)
def _whole() -> None:
    if why := cluster.missing():
        pytest.skip(f"no hosts here: {why}")


def run(*arguments: str) -> str:
    command = [sys.executable, "script/hosts.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS)
    print(done.stdout[-5000:])  # what was done: pytest -rP shows it
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-5_000:]
    return done.stdout


def test_a_rolling_upgrade_loses_no_request():
    stdout = run("upgrade", "--readers", "10", "--writers", "2", "--seconds", "5")

    assert "case studies published" in stdout
    assert "pages read" in stdout


def test_a_bound_holds_what_it_says():
    try:
        bound = Bound(64)
    except OSError as error:
        pytest.skip(f"no cgroups here: {error}")
    program = "import sys; held = bytearray(int(sys.argv[1]) << 20); input()"
    small, large = (bound.around([sys.executable, "-c", program, mib], None) for mib in ("20", "200"))
    try:
        with subprocess.Popen(small, stdin=subprocess.PIPE) as process:
            while bound.held_mib() < 20:
                assert process.poll() is None
            assert subprocess.run(large, stdin=subprocess.DEVNULL).returncode == -9
            assert bound.killed() == 1
            assert 20 < bound.held_mib() < 64
    finally:
        bound.end()
    assert not os.path.exists(bound.folder)
