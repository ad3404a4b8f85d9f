"""What parameters of a load say of its concurrency: its queue depth, and the jobs that each keep that many requests."""

from collections.abc import Mapping
from typing import Any, NamedTuple

DEPTHS = ("iodepth", "queue_depth")
JOBS = ("clients", "numjobs", "jobs", "processes", "threads")  # of pgbench, threads serve the clients


class Concurrency(NamedTuple):
    """Queue depth and number of jobs; None where it is not stated."""

    depth: int | None
    jobs: int | None


def concurrency_of(parameters: Mapping[str, Any]) -> tuple[Concurrency, dict[str, Any]]:
    """Return the concurrency of a load, and its other parameters."""
    rest = dict(parameters)
    names = [next((name for name in group if type(rest.get(name)) is int), "") for group in (DEPTHS, JOBS)]
    return Concurrency(*(rest.pop(name, None) for name in names)), rest
