"""A short soak on each database. KDB_SOAK_SECONDS sets for how long things are killed, 20 unless told."""

import os
import subprocess
import sys

import pytest

from tests.experiments.laboratory import lab

from .place import ROOT

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.slow]
SECONDS = int(os.environ.get("KDB_SOAK_SECONDS", "20"))
HANG_SECONDS = 3600


@pytest.mark.timeout(HANG_SECONDS + 600)
@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgresql, pytest.mark.redis])]
)
def test_whatever_is_killed_nothing_is_lost_doubled_or_left_over(database):
    if why := lab.missing():
        pytest.skip(f"no laboratory: {why}")
    command = [sys.executable, "script/soak.py", "--database", database, "--minutes", str(SECONDS / 60)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS + HANG_SECONDS)
    print(done.stdout[-5000:])  # what was done and killed: pytest -rP shows it
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-5_000:]
    assert "Killed 0\n" not in done.stdout
