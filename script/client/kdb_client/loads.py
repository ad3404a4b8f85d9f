"""The loads of kdb measure where no server can be asked: those that a server gives; a test compares."""

from .fio_job import BOUNDS

# Of each: percent of reads; bytes of a read and of a write; threads, files of each, bytes of a file; writes a flush.
LOADS = {
    "fileserver": (33, 131072, 131072, 50, 200, 131072, 0),
    "varmail": (50, 16384, 16384, 16, 62, 16384, 1),
    "webserver": (91, 16384, 16384, 100, 10, 16384, 0),
    "randomfileaccess": (67, 8192, 16384, 5, 2000, 32768, 0),
}
_NAMES = ("read_percent", "read_bytes", "write_bytes", "threads", "files", "file_bytes", "fsync_every")


def load_of(workload: str, seconds: int) -> dict[str, int]:
    """Return the numbers of the load that a server's sitting has. workload : of LOADS"""
    told = dict(zip(_NAMES, LOADS[workload], strict=True))
    return dict.fromkeys(BOUNDS, 0) | told | {"seconds": seconds, "warm_up_seconds": warm_up_of(seconds)}


def warm_up_of(seconds: int) -> int:
    """Return how long a run of so many seconds goes on before what counts."""
    return max(1, seconds // 10)
