"""Processes of KDB hold no memory that they have freed. Each test looks at a process of its own."""

import platform
import subprocess
import sys

import pytest

from tests.test_architecture import ROOT

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep memory otherwise")

PREAMBLE = """
import os
from pathlib import Path
from threading import Barrier, Thread
from kdb.jobs import memory

def mib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
"""


def printed(program: str) -> list[float]:
    command = [sys.executable, "-c", PREAMBLE + program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    return [float(word) for word in done.stdout.split()]


def test_what_was_freed_is_given_back():
    freed, given_back = printed(
        """
before, taken = mib(), [bytearray(10_000) for _ in range(10_000)]
last = bytearray(10_000)
del taken
print(mib() - before)
memory.give_back()
print(mib() - before)
"""
    )

    assert given_back < 20 < freed
