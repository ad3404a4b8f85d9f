"""The processor time that processes take, and that a fixed piece of work takes now, to divide by."""

import time
from contextlib import suppress

import psutil


def fixed_work() -> float:
    """Return the milliseconds of the processor that the same work takes now: numbers, and memory that is new.

    Neighbours who share its caches make the same instructions take up to twice as long.
    """
    begun = time.thread_time()
    sum(number * number for number in range(500_000))
    _ = b"x" * (32 << 20)
    return 1000 * (time.thread_time() - begun)


def cpu_seconds(pid: int) -> float:
    """Return what a process, its descendants, and those of them that have ended took of the processor since they began.

    A descendant that has ended is counted by the parent that waited for it, so the sum never falls.
    """
    while psutil.pid_exists(pid):
        with suppress(psutil.NoSuchProcess):  # one that ends before it is read has been counted by nobody: again
            root = psutil.Process(pid)
            processes = (root, *root.children(recursive=True))  # parents first, or what has just ended counts twice
            return sum(sum(process.cpu_times()[:4]) for process in processes)  # user, system, both of those waited for
    return 0.0
