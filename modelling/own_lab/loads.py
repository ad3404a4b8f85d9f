"""The loads of sessions, as numbers of which fio's job is formed; `kdb_client.loads` has the same, as a test compares.

The four that Filebench ships are those of campaigns, as a test compares; of an observed machine, its own. The others
are what the programs do to a disk, roughly: docs/client.md says of each what.
"""

from dataclasses import replace

from modelling.models import Sitting

from .content import LOADS, NUMBERS, PROGRAMS, WORKLOADS, Load

__all__ = ["WORKLOADS", "engine_of", "load_of", "warm_up_seconds"]


def engine_of(workload: str) -> str:
    """Return the program that makes a load. workload : "" under the load of a machine"""
    return workload if workload in PROGRAMS else "fio"


def load_of(session: Sitting) -> Load:
    """Return what each run of the session does."""
    doubled = {"read_doubled_percent": 0, "write_doubled_percent": 0}
    numbers = session.like["load"] if session.like else dict(zip(NUMBERS, LOADS[session.workload], strict=True))
    times = {"seconds": session.seconds, "warm_up_seconds": warm_up_seconds(session.seconds)}
    load = Load(engine=session.engine, **times, **{**doubled, **numbers})
    more = "files" if load.files > 1 else "file_bytes"
    more_times = max(1, session.set_mib * 2**20 // (load.threads * load.files * load.file_bytes))
    return replace(load, **{more: getattr(load, more) * more_times})


def warm_up_seconds(seconds: int) -> int:
    """Return how long a run goes on before it counts."""
    return max(1, seconds // 10)
