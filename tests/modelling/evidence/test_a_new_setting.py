"""A new setting of the disk's path is one row: another process adds one and asks for it everywhere."""

import subprocess
import sys

import pytest

from tests.test_architecture import ROOT


@pytest.mark.nightly
@pytest.mark.slow
def test_a_row_is_all_that_a_new_setting_takes():
    told = "tests/modelling/evidence/made_up_setting_everywhere.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.made_up_setting", told]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout[-5000:]
    assert "12 passed" in run.stdout
