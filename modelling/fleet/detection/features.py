"""Compute the features of a disk's statistics: shares and sizes, which do not depend on the speed of the machine.

Rates and times are left out: they tell more about the machine and its storage than about its load.
docs/models/detection.md, section 1.
"""

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from experiments.laboratory.transport.counters import Counts

IDLE_REQUESTS = 2.0  # reads and writes a second, below which a disk is idle
_ONE_SIDED = 50.0  # reads per write, or writes per read, at which the ratio is capped
_UNFLUSHED = 0.01  # flushes per write, the least that is distinguished
_FEW = 0.1  # share of the requests at which the size of a kind has half its weight
_MIDDLE = log(16)  # ln KiB, the size where there are no requests
_KIB = 1024


FEATURES = (
    "read_share",  # ln of reads for each write, from 1/50 to 50
    "read_size",  # ln of the mean size of a read in KiB, drawn to 16 KiB where few requests are reads
    "write_size",  # ln of the mean size of a write in KiB, drawn to 16 KiB where few requests are writes
    "flush_share",  # ln of flushes for each write, at least 1/100, drawn to that where few requests are writes
)


def is_idle(counts: Counts, seconds: float) -> bool:
    return (counts.reads + counts.writes) / seconds < IDLE_REQUESTS


def is_cached(counts: Counts) -> bool:
    """Tell whether caches hide a part of the load: hardly any reads, or no writes, reach the disk."""
    return counts.reads * _ONE_SIDED < counts.writes or not counts.writes


def vector(counts: Counts) -> list[float]:
    """Return the FEATURES of a disk, in their order. Raises ValueError where it neither read nor wrote."""
    requests = counts.reads + counts.writes
    if not requests:
        raise ValueError("nothing was read or written: there is nothing to compare")
    reads, writes = (number / requests / (number / requests + _FEW) for number in (counts.reads, counts.writes))
    least, most = 1 / _ONE_SIDED, _ONE_SIDED
    unflushed = log(_UNFLUSHED)
    return [
        log(min(max(counts.reads / counts.writes, least), most) if counts.writes else most),
        _MIDDLE + reads * (_log_size(counts.read_bytes, counts.reads) - _MIDDLE),
        _MIDDLE + writes * (_log_size(counts.write_bytes, counts.writes) - _MIDDLE),
        unflushed + writes * (log(max(counts.flushes / max(counts.writes, 1), _UNFLUSHED)) - unflushed),
    ]


def matrix(all_counts: Sequence[Counts]) -> NDArray[np.float64]:
    """Return the features, (N, len(FEATURES)). Raises as `vector`."""
    return np.array([vector(counts) for counts in all_counts], dtype=float).reshape(len(all_counts), len(FEATURES))


def _log_size(size_bytes: int, requests: int) -> float:
    return log(size_bytes / _KIB / requests) if requests and size_bytes else _MIDDLE
