"""Compute what is compared of two disks' statistics: shares and sizes, which a larger or faster machine has alike.

Rates and times are left out: they say more of the machine and what it lies on than of its load.
docs/models/detection.md, section 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.laboratory.reach.counters import Counts

IDLE_REQUESTS = 2.0  # reads and writes a second, below which a disk is idle
_KIB = 1024
_HALF = 0.5  # of a request, so that none among many and none among few are told apart


@dataclass(frozen=True)
class Feature:
    name: str
    words: str


FEATURES = (
    Feature("read_share", "reads among requests, as log odds"),
    Feature("read_byte_share", "bytes read among bytes, as log odds"),
    Feature("read_size", "ln of the mean size of a read in KiB; of 16 KiB where nothing is read"),
    Feature("write_size", "ln of the mean size of a write in KiB; of 16 KiB where nothing is written"),
    Feature("flush_share", "flushes for each write, as ln"),
    Feature("write_byte_flushes", "flushes for each MiB written, as ln"),
)


def is_idle(counts: Counts, seconds: float) -> bool:
    return (counts.reads + counts.writes) / seconds < IDLE_REQUESTS


def vector(counts: Counts) -> list[float]:
    """Return the FEATURES of what a disk did, in their order. Raises ValueError where it neither read nor wrote."""
    if not counts.reads + counts.writes:
        raise ValueError("nothing was read or written: there is nothing to compare")
    read_kib, write_kib = counts.read_bytes / _KIB, counts.write_bytes / _KIB
    return [
        _log_ratio(counts.reads, counts.writes),
        float(np.log((read_kib + 4) / (write_kib + 4))),
        _log_size(read_kib, counts.reads),
        _log_size(write_kib, counts.writes),
        _log_ratio(counts.flushes, counts.writes),
        float(np.log((counts.flushes + _HALF) / (write_kib / _KIB + _HALF))),
    ]


def matrix(all_counts: Sequence[Counts]) -> NDArray[np.float64]:
    """Return a row for each. Raises as `vector`."""
    return np.array([vector(counts) for counts in all_counts], dtype=float).reshape(len(all_counts), len(FEATURES))


def _log_ratio(some: float, others: float) -> float:
    return float(np.log((some + _HALF) / (others + _HALF)))


def _log_size(kib: float, requests: int) -> float:
    return float(np.log(kib / requests)) if requests and kib else float(np.log(16.0))
