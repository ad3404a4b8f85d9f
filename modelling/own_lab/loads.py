"""The loads of sessions, as numbers of which fio's job is formed; `kdb_client.loads` has the same, as a test compares.

The four that Filebench ships are those of campaigns (experiments.laboratory.benchmarks.engines); of an observed
machine, its own. The others are what the programs do to a disk, roughly: docs/client.md says of each what.
"""

from experiments.laboratory.benchmarks import engines
from modelling.models import Sitting

from .content import OTHER_LOADS, WORKLOADS, Load

__all__ = ["WORKLOADS", "direct_io_lines", "load_numbers", "load_of", "warm_up_seconds"]


def load_of(session: Sitting) -> Load:
    """Return what each run of the session does."""
    if session.like:
        return load_numbers(session.engine, session.like["job"])
    if session.workload in engines.SHAPES:
        job = engines.fio_job(session.workload, engines.SHAPES[session.workload], "", session.seconds)
        return load_numbers(session.engine, job + direct_io_lines(session.seconds))
    reads, read_bytes, write_bytes, threads, files, file_bytes, every, overwrite, sequential = OTHER_LOADS[
        session.workload
    ]
    return Load(
        engine=session.engine,
        seconds=session.seconds,
        warm_up_seconds=warm_up_seconds(session.seconds),
        threads=threads,
        files=files,
        file_bytes=file_bytes,
        read_percent=reads,
        read_bytes=read_bytes,
        read_doubled_percent=0,
        write_bytes=write_bytes,
        write_doubled_percent=0,
        fsync_every=0,
        fdatasync_every=every,
        overwrite=overwrite,
        sequential=sequential,
    )


def load_numbers(engine: str, job: str) -> Load:
    """Return the numbers of a job of our own; the client makes the same job of them, as a test compares."""
    options = dict(line.split("=", 1) for line in job.splitlines()[1:])
    numbers = {key: int(value) for key, value in options.items() if value.isdecimal()}
    # "16384,8192", or "4096/60:8192/40,12288/100": sizes, each perhaps with shares of it and of its double.
    (read_bytes, read_doubled), (write_bytes, write_doubled) = (
        (int(size.partition("/")[0]), int(size.rpartition("/")[2]) if ":" in size else 0)
        for size in (options.get("bs") or options["bssplit"]).split(",")
    )
    return Load(
        engine=engine,
        seconds=numbers["runtime"],
        warm_up_seconds=numbers["ramp_time"],
        threads=numbers["numjobs"],
        files=numbers["nrfiles"],
        file_bytes=numbers["filesize"],
        read_percent={"randread": 100, "randwrite": 0}.get(options["rw"], numbers.get("rwmixread", 50)),
        read_bytes=read_bytes,
        read_doubled_percent=read_doubled,
        write_bytes=write_bytes,
        write_doubled_percent=write_doubled,
        fsync_every=numbers.get("fsync", 0),
        fdatasync_every=numbers.get("fdatasync", 0),
        overwrite=numbers.get("overwrite", 0),
        sequential=0,
    )


def direct_io_lines(seconds: int) -> str:
    """Return the lines that end every job: direct I/O, past the memory."""
    return f"direct=1\nramp_time={warm_up_seconds(seconds)}\n"


def warm_up_seconds(seconds: int) -> int:
    """Return how long a run goes on before it counts."""
    return max(1, seconds // 10)
