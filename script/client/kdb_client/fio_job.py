"""The job for fio, formed on this machine from numbers that a server may give, each within bounds."""

from collections.abc import Mapping
from typing import Any

from .errors import KdbError

# Of each number the least and the most. Their meanings are those of Load in the API.
BOUNDS = {
    "seconds": (1, 3600),
    "warm_up_seconds": (0, 600),
    "threads": (1, 1000),
    "files": (1, 100_000),
    "file_bytes": (4096, 2**33),
    "read_percent": (0, 100),
    "read_bytes": (512, 2**26),
    "read_doubled_percent": (0, 100),
    "write_bytes": (512, 2**26),
    "write_doubled_percent": (0, 100),
    "fsync_every": (0, 10**9),
    "fdatasync_every": (0, 10**9),
    "overwrite": (0, 1),
    "sequential": (0, 1),
}
MOST_FILES, MOST_BYTES = 10**6, 2**33  # that a run makes
MOST_MEMORY = 2**31  # bytes that all threads have under way


def checked_load(given: Any, engine: str = "fio") -> dict[str, int]:
    """Return the numbers of a load that a server gives. Raises KdbError where it is anything else, or out of bounds."""
    load = dict(given) if isinstance(given, dict) else {}
    if load.pop("engine", None) != engine or load.keys() != BOUNDS.keys():
        others = ", ".join(sorted(load.keys() ^ BOUNDS.keys()))[:200] or "engine"
        raise KdbError(
            f"The server's load is none that this kdb knows ({others}): "
            "fio's job is formed here of numbers, and no text is taken for one. Get the kdb of the server's version."
        )
    for name, (least, most) in BOUNDS.items():
        if type(load[name]) is not int or not least <= load[name] <= most:
            found = repr(load[name])[:40]
            raise KdbError(f"The load's {name} is {found}; allowed are whole numbers from {least} to {most}.")
    for what, value, most in (
        ("files", load["threads"] * load["files"], MOST_FILES),
        ("bytes of files", file_bytes(load), MOST_BYTES),
        ("bytes under way", 2 * load["threads"] * max(load["read_bytes"], load["write_bytes"]), MOST_MEMORY),
    ):
        if value > most:
            raise KdbError(f"The load has {value:,} {what}; allowed are {most:,}.")
    return load


def file_bytes(load: Mapping[str, int]) -> int:
    """Return the bytes of all files that a load makes."""
    return load["threads"] * load["files"] * load["file_bytes"]


def fio_job(load: Mapping[str, int], folder: str) -> str:
    """Return the text of the job of a checked load in an empty folder. Raises KdbError."""
    if not folder.isprintable() or any(sign in folder for sign in ":$\\"):
        raise KdbError(f"{folder}: fio takes no folder whose name has a colon, a dollar, a backslash or a line's end.")
    kind = {0: "write", 100: "read"}.get(load["read_percent"], "rw")
    kind = kind if load["sequential"] else f"rand{kind}"
    sizes = [(load[f"{way}_bytes"], load[f"{way}_doubled_percent"]) for way in ("read", "write")]
    split = ",".join(f"{size}/{100 - more}:{2 * size}/{more}" if more else f"{size}/100" for size, more in sizes)
    is_split = any(more for _, more in sizes)
    lines = [
        "[kdb]",
        f"directory={folder}",
        "ioengine=psync",
        f"rw={kind}",
        *([f"rwmixread={load['read_percent']}"] if kind.endswith("rw") else []),
        f"bssplit={split}" if is_split else f"bs={load['read_bytes']},{load['write_bytes']}",
        f"numjobs={load['threads']}",
        f"nrfiles={load['files']}",
        f"filesize={load['file_bytes']}",
        "openfiles=100",
        *([] if load["sequential"] else ["file_service_type=random"]),
        *(["norandommap=1"] if load["overwrite"] else []),
        "fallocate=none",
        *(["overwrite=1"] if load["overwrite"] else []),
        "time_based=1",
        f"runtime={load['seconds']}",
        "group_reporting=1",
        *(f"{flush}={load[f'{flush}_every']}" for flush in ("fsync", "fdatasync") if load[f"{flush}_every"]),
        "direct=1",  # past the memory, which is far larger than the files
        f"ramp_time={load['warm_up_seconds']}",
    ]
    return "\n".join(lines) + "\n"
