"""Keep what HiGHS prints by itself out of what a command prints. No Django."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def on_stderr() -> Iterator[None]:
    """Send to standard error what a library writes to standard output meanwhile; for commands, of one thread.

    HiGHS 1.12 says "transformNewIntegerFeasibleSolution tmpSolver.run();" now and then, whatever its options.
    """
    libc = ctypes.CDLL(None)
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        libc.fflush(None)  # of C's buffer, which would be written later
        os.dup2(kept, 1)
        os.close(kept)
