"""Keep messages of HiGHS out of the output of commands. No Django."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def on_stderr() -> Iterator[None]:
    """Redirect standard output to standard error, also of C code; only for commands with a single thread.

    HiGHS 1.12 sometimes prints "transformNewIntegerFeasibleSolution tmpSolver.run();", whatever its options.
    """
    libc = ctypes.CDLL(None)
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        libc.fflush(None)  # or C would write its buffer later
        os.dup2(kept, 1)
        os.close(kept)
