"""The loads of kdb measure where no server can be asked: those that a server gives; a test compares."""

from typing import Any

# Of each: percent of reads; bytes of a read and of a write; threads, files of a thread; bytes of a file and of all.
LOADS = {
    "fileserver": (33, 131072, 131072, 50, 200, 131072, 1310720000),
    "varmail": (50, 16384, 16384, 16, 62, 16384, 16384000),
    "webserver": (91, 16384, 16384, 100, 10, 16384, 16384000),
    "randomfileaccess": (67, 8192, 16384, 5, 2000, 32768, 276480000),
}
_JOB = """[{workload}]
directory=@FOLDER@
ioengine=psync
rw=randrw
rwmixread={reads}
bs={read_bytes},{write_bytes}
numjobs={threads}
nrfiles={files}
filesize={file_bytes}
openfiles=100
file_service_type=random
fallocate=none
time_based=1
runtime={seconds}
group_reporting=1
{flush}direct=1
ramp_time={warm_up}
"""


def load_of(workload: str, seconds: int) -> dict[str, Any]:
    """Return the load as a server's sitting has it. workload : of LOADS"""
    reads, read_bytes, write_bytes, threads, files, file_bytes, working_set_bytes = LOADS[workload]
    job = _JOB.format(
        workload=workload,
        reads=reads,
        read_bytes=read_bytes,
        write_bytes=write_bytes,
        threads=threads,
        files=files,
        file_bytes=file_bytes,
        seconds=seconds,
        flush="fsync=1\n" if workload == "varmail" else "",
        warm_up=max(1, seconds // 10),
    )
    return {"engine": "fio", "job": job, "working_set_bytes": working_set_bytes, "seconds": seconds}
