"""The loads of kdb measure where no server can be asked: those that a server gives; a test compares."""

from .fio_job import BOUNDS, file_bytes

# Of each: percent of reads; bytes of a read and of a write; threads, files of each, bytes of a file; writes a flush of
# files and of their data alone; whether files are written over, and whether from end to end.
LOADS = {
    "fileserver": (33, 131072, 131072, 50, 200, 131072, 0, 0, 0, 0),
    "varmail": (50, 16384, 16384, 16, 62, 16384, 1, 0, 0, 0),
    "webserver": (91, 16384, 16384, 100, 10, 16384, 0, 0, 0, 0),
    "randomfileaccess": (67, 8192, 16384, 5, 2000, 32768, 0, 0, 0, 0),
    "database": (70, 8192, 16384, 8, 1, 2**27, 0, 1, 1, 0),
    "sync-write": (0, 4096, 4096, 4, 1, 2**26, 0, 1, 1, 0),
    "vm-boot": (90, 16384, 8192, 4, 1, 2**28, 0, 0, 1, 0),
    "small-files": (75, 16384, 16384, 8, 2000, 16384, 0, 0, 0, 0),
    "sequential-write": (0, 2**20, 2**20, 2, 1, 2**29, 0, 0, 0, 1),
    "sequential-mixed": (70, 2**20, 2**20, 16, 8, 2**22, 0, 0, 0, 1),
    "sqlite": (50, 4096, 4096, 1, 1, 2**28, 0, 1, 1, 0),
    "pgbench": (50, 8192, 8192, 8, 1, 2**26, 0, 1, 1, 0),
}
PROGRAMS = ("sqlite", "pgbench")  # that make their own load, of which the numbers above say about the size
# What people call them.
WORDS = {
    **{"mail": "varmail", "web": "webserver", "files": "fileserver", "sync": "sync-write"},
    **{"desktop": "vm-boot", "build": "small-files", "backup": "sequential-write", "object-store": "sequential-mixed"},
}
_NAMES = (
    *("read_percent", "read_bytes", "write_bytes", "threads", "files", "file_bytes", "fsync_every", "fdatasync_every"),
    *("overwrite", "sequential"),
)


def engine_of(workload: str | None) -> str:
    """Return the program that makes a load. workload : None: the load of a machine"""
    return workload if workload in PROGRAMS else "fio"


def load_of(workload: str, seconds: int, set_mib: int = 0) -> dict[str, int]:
    """Return the numbers of the load that a server's sitting has. workload : of LOADS; set_mib : of all files, or 0"""
    told = dict(zip(_NAMES, LOADS[workload], strict=True))
    load = dict.fromkeys(BOUNDS, 0) | told | {"seconds": seconds, "warm_up_seconds": warm_up_of(seconds)}
    more = "files" if load["files"] > 1 else "file_bytes"
    load[more] *= max(1, set_mib * 2**20 // file_bytes(load))
    return load


def warm_up_of(seconds: int) -> int:
    """Return how long a run of so many seconds goes on before what counts."""
    return max(1, seconds // 10)
