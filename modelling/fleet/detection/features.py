"""Compute what is compared of two disks' statistics: shares and sizes, which a larger or faster machine has alike.

Rates and times are left out: they say more of the machine and what it lies on than of its load.
docs/models/detection.md, section 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from experiments.laboratory.reach.counters import Counts
from experiments.laboratory.reach.offsets import Offsets

IDLE_REQUESTS = 2.0  # reads and writes a second, below which a disk is idle
_ONE_SIDED = 50.0  # reads for each write, or writes for each read: what is more is all the same
_UNFLUSHED = 0.01  # flushes for each write: what is fewer is all the same
_FEW = 0.1  # of the requests: the size of so few of a kind counts half
_MIDDLE = log(16)  # KiB, the size where there is nothing that has one
_KIB = 1024
_LEAST_SAMPLED = 20  # requests, for a sample to say where they begin


@dataclass(frozen=True)
class Feature:
    name: str
    words: str


FEATURES = (
    Feature("read_share", "ln of reads for each write, from 1/50 to 50"),
    Feature("read_size", "ln of the mean size of a read in KiB, drawn to 16 KiB where few requests are reads"),
    Feature("write_size", "ln of the mean size of a write in KiB, drawn to 16 KiB where few requests are writes"),
    Feature("flush_share", "ln of flushes for each write, at least 1/100, drawn to that where few requests are writes"),
)


OFFSET_FEATURES = (
    Feature("read_run", "ln of the mean KiB read in a row, drawn to 16 KiB where few requests are reads"),
    Feature("near_reads", "share of the rows of reads that begin near earlier ones, drawn to a half likewise"),
    Feature("write_run", "ln of the mean KiB written in a row, drawn to 16 KiB where few requests are writes"),
    Feature("near_writes", "share of the rows of writes that begin near earlier ones, drawn to a half likewise"),
    Feature("again_writes", "share of the rows of writes that begin in what was just written, drawn to 0 likewise"),
)


def is_sampled(offsets: Offsets | None) -> bool:
    return offsets is not None and offsets.requests >= _LEAST_SAMPLED


def is_idle(counts: Counts, seconds: float) -> bool:
    return (counts.reads + counts.writes) / seconds < IDLE_REQUESTS


def is_cached(counts: Counts) -> bool:
    """Tell whether memory hides a side of the load: hardly any of its reads, or none of its writes, reach the disk."""
    return counts.reads * _ONE_SIDED < counts.writes or not counts.writes


def vector(counts: Counts) -> list[float]:
    """Return the FEATURES of what a disk did, in their order. Raises ValueError where it neither read nor wrote."""
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


def offsets_vector(counts: Counts, offsets: Offsets) -> list[float]:
    """Return the OFFSET_FEATURES of a disk, in their order."""
    requests = counts.reads + counts.writes
    reads, writes = (number / requests / (number / requests + _FEW) for number in (counts.reads, counts.writes))
    read_runs, write_runs = max(offsets.read_runs, 1), max(offsets.write_runs, 1)
    return [
        reads * (_log_size(offsets.read_run_bytes, read_runs) - _MIDDLE),
        reads * (offsets.near_read_runs / read_runs - 0.5),
        writes * (_log_size(offsets.write_run_bytes, write_runs) - _MIDDLE),
        writes * (offsets.near_write_runs / write_runs - 0.5),
        writes * offsets.again_write_runs / write_runs,
    ]


def matrix(all_counts: Sequence[Counts], samples: Sequence[Offsets] = ()) -> NDArray[np.float64]:
    """Return a row for each, with the OFFSET_FEATURES where there are samples. Raises as `vector`."""
    of_counts = np.array([vector(counts) for counts in all_counts], dtype=float).reshape(-1, len(FEATURES))
    if not samples:
        return of_counts
    pairs = zip(all_counts, samples, strict=True)
    return np.hstack([of_counts, [offsets_vector(counts, offsets) for counts, offsets in pairs]])


def _log_size(size_bytes: int, requests: int) -> float:
    return log(size_bytes / _KIB / requests) if requests and size_bytes else _MIDDLE
