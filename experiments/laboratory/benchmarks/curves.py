"""Throughput over the time of a run, and where its warm-up ends.

A machine writes down what the benchmark's processes have read and written by system calls, which is what the
benchmark counts itself, for Filebench and fio alike; what the disk does meanwhile comes later and in bursts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_INTERVALS = 60  # of a run; none is shorter than a second
FIRST_LOOKS = 4  # as in remote.sh
LEAST_INTERVALS = 10  # below it nothing is said of a warm-up
_MIB = 2**20


@dataclass(frozen=True)
class Interval:
    """The reads and writes of one interval; `until` in s since the measurement began."""

    until: float
    mib_s: float


def every(seconds: int) -> int:
    """Return how far apart the looks at a run are, s."""
    return max(1, -(-seconds // MOST_INTERVALS))


def read(samples: bytes, began: float, seconds: float) -> list[Interval]:
    """Return the intervals inside the measurement, which began at this time since the machine's start.

    samples : "at SECONDS" and then "/proc/PID/io:rchar: BYTES", "...wchar: BYTES" of each process, for each look
    Processes are looked for at each of the first looks, so those that came then had done nothing before. Later, an
    interval whose processes are not the same at both ends is left out: what came or ended took its count along.
    """
    looks: list[tuple[float, dict[str, int]]] = []
    for line in samples.decode(errors="replace").splitlines():
        key, _, value = line.partition(" ")
        if key == "at":
            looks.append((float(value), {}))
        elif looks and value.isdecimal():
            looks[-1][1][key] = int(value)
    return [
        Interval(round(later - began, 2), (sum(after.values()) - sum(before.values())) / _MIB / (later - earlier))
        for number, ((earlier, before), (later, after)) in enumerate(pairwise(looks), start=2)
        if before.keys() <= after.keys() and (number <= FIRST_LOOKS or before.keys() == after.keys())
        # The machine tells times to a hundredth of a second.
        if began - 0.02 <= earlier < later <= began + seconds + 0.02
    ]


def warm_up(values: Sequence[float]) -> int | None:
    """Return how many intervals to leave out so that the mean of the rest is known best; None where that is not seen.

    The marginal standard error rule (MSER): the d that makes sum((x - mean)^2) / (n - d)^2 over x[d:] least. A least
    one in the second half, or fewer than ten intervals, tell nothing.
    Source: K. P. White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69
    (1997); White, Cobb and Spratt, A comparison of five steady-state truncation heuristics, Winter Simulation
    Conference 2000.
    """
    count = len(values)
    if count < LEAST_INTERVALS:
        return None
    errors = []
    for left_out in range(count - 1):
        rest = values[left_out:]
        mean = sum(rest) / len(rest)
        errors.append(sum((value - mean) ** 2 for value in rest) / len(rest) ** 2)
    # The last few would always look best: so few values agree by chance.
    least = min(range(count - LEAST_INTERVALS // 2), key=errors.__getitem__)
    return least if least <= count // 2 else None
