"""The programs that make a load: fio, SQLite as this Python has it, and pgbench on a PostgreSQL of its own."""

import glob
import json
import os
import pwd
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from . import sqlite_load
from .curve import steady_rate
from .errors import KdbError
from .fio_job import file_bytes, fio_job
from .guardian import FOLDER, Guardian, remove_folder
from .memory import counts, why_memory
from .places import file_system_of, release_of

_PROGRAMS = {  # what says its release, and the packages that have it
    "fio": (("fio", "--version"), "fio"),
    "sqlite": ((sys.executable, "-c", "import sqlite3; raise SystemExit(sqlite3.sqlite_version)"), "python3"),
    "pgbench": (("initdb", "--version"), "postgresql or postgresql-server"),
}
_MOST_READS = 50  # percent of a load that may read: of others no write cache is told
_MOST_INTERVALS = 60  # of a curve; none is shorter than a second
_PROGRESS = re.compile(r"^progress: [0-9.]+ s, ([0-9.]+) tps", re.MULTILINE)
_RATE = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
_SCALE_BYTES = 2**25  # of room for a scale of 1: half of it tables, half the log
# FOLDER SCALE CLIENTS WARM_UP SECONDS INTERVAL. Nobody else reaches the server; killed, its processes end with it.
_PGBENCH = """
cd "$1" && initdb --no-sync --auth=trust --locale=C --username=kdb data >log || exit
postgres -D data -c listen_addresses= -c unix_socket_directories="$1" -c max_wal_size=256MB \
    -c min_wal_size=80MB -c dynamic_shared_memory_type=mmap >>log 2>&1 &
trap 'kill -INT $! && wait $!' EXIT
until pg_isready --quiet --host="$1"; do kill -0 $! || { tail -n 3 log >&2; exit 1; }; sleep 0.1; done
bench() { pgbench --host="$folder" --username=kdb "$@" postgres; }
folder=$1
bench --initialize --quiet --scale="$2" >>log 2>&1 && bench --client="$3" --time="$4" >>log 2>&1 &&
bench --client="$3" --time="$5" --progress="$6" >report 2>&1 || { tail -n 3 log report >&2; exit 1; }
"""
Shown = tuple[float, list[float]]  # a rate, and the curve of it or of the bytes that it moved


def release_of_program(engine: str) -> str:
    """Return the release of the program that makes a load. Raises KdbError where it is not installed."""
    (program, *options), packages = _PROGRAMS[engine]
    program = shutil.which(program, path=_postgresql_path()) or program
    if not (release := release_of((program, *options))):
        raise KdbError(f"{engine} is not installed; apt, dnf, zypper and apk have it: {packages}.")
    return release


def room_of(engine: str, load: Mapping[str, int]) -> int:
    """Return the bytes that a load has on the disk; a database's log has as many as its tables."""
    return file_bytes(load) * (1 if engine == "fio" else 2)


def _postgresql_path() -> str:
    """Return where programs are looked for, the newest PostgreSQL that distributions keep off the PATH first."""
    servers = [*glob.glob("/usr/lib/postgresql/*/bin"), *glob.glob("/usr/pgsql-*/bin")]
    newest = sorted(servers, key=lambda folder: [int(number) for number in re.findall(r"\d+", folder)])[-1:]
    return os.pathsep.join([*newest, os.environ.get("PATH", os.defpath)])


def make_load(engine: str, load: Mapping[str, int], folder: str, guardian: Guardian) -> tuple[float, str, str]:
    """Make a checked load in an empty folder. Raises KdbError where its program fails.

    Returns operations or transactions a second, what is to be said of them, and of memory; "": nothing
    """
    own = guardian.new_folder(tempfile.gettempdir())
    interval = max(1, -(-load["seconds"] // _MOST_INTERVALS))
    if engine == "fio":
        job = fio_job(load, folder)
        _fio(f"{job}create_only=1\ncreate_fsync=0\n", own, guardian)
    guardian.run(["sync", "-f", folder], "sync")  # to the disk, what memory has of it
    before = counts(folder)
    if engine == "fio":
        log = f"write_bw_log={own}/curve\nper_job_logs=0\nlog_avg_msec={1000 * interval}\n"
        rate = _fio(job + log, own, guardian)
        curve = _fio_curve(Path(own, "curve_bw.log"), load["seconds"] // interval, 1000 * interval)
    else:
        rate, curve = {"sqlite": _sqlite, "pgbench": _pgbench}[engine](load, interval, folder, own, guardian)
    guardian.run(["sync", "-f", folder], "sync")
    after = counts(folder)
    remove_folder(own)
    guardian.forget(FOLDER, own)
    if rate <= 0:
        raise KdbError(f"{engine} made nothing within {load['seconds']} seconds.")
    memory = why_memory(before, after, file_system_of(folder), load, rate, reads=engine == "fio")
    written = (after.written - before.written) * (engine == "fio" and load["read_percent"] <= _MOST_READS)
    return *steady_rate(rate, curve, written, load["warm_up_seconds"] / interval, file_bytes(load)), memory


def _fio(job: str, own: str, guardian: Guardian) -> float:
    """Return the operations a second of a job; 0 where it only makes its files."""
    text, output = Path(own, "job.fio"), Path(own, "output.json")
    text.write_text(job, encoding="utf-8")
    complaints = guardian.run(["fio", "--output-format=json", f"--output={output}", str(text)], "fio")
    report = output.read_text(encoding="utf-8") if output.exists() else ""
    try:
        jobs = json.loads(report[report.index("{") :])["jobs"]
        errors = [job["error"] for job in jobs if job["error"]]
        rate = sum(job[direction]["iops"] for job in jobs for direction in ("read", "write"))
    except (ValueError, KeyError, TypeError):
        raise KdbError("fio's output was not understood.") from None
    if errors:
        raise KdbError(f"fio ended with an error: {complaints or errors}")
    return float(rate)


def _fio_curve(log: Path, intervals: int, milliseconds: int) -> list[float]:
    """Return the KiB a second that all threads read and wrote, by interval; [] where fio wrote no log."""
    curve = [0.0] * intervals if log.exists() else []
    for line in log.read_text(encoding="ascii").splitlines() if curve else ():
        at, speed = map(int, line.split(",")[:2])
        curve[min(max(round(at / milliseconds), 1), intervals) - 1] += speed
    return curve[:-1]  # of the last one some threads write nothing


def _sqlite(load: Mapping[str, int], interval: int, folder: str, own: str, guardian: Guardian) -> Shown:
    assert sqlite_load.__spec__ is not None
    text = sqlite_load.__spec__.loader.get_source(sqlite_load.__name__)  # type: ignore[union-attr]
    numbers = (file_bytes(load), load["warm_up_seconds"], load["seconds"], interval)
    guardian.run([sys.executable, "-c", text, folder, *map(str, numbers), f"{own}/curve"], "SQLite")
    curve = json.loads(Path(own, "curve").read_text(encoding="ascii"))
    return sum(curve) / len(curve), curve


def _pgbench(load: Mapping[str, int], interval: int, folder: str, own: str, guardian: Guardian) -> Shown:
    as_user: list[str] = []
    if os.geteuid() == 0:  # whom initdb refuses
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        as_user = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    scale = max(1, file_bytes(load) // _SCALE_BYTES)
    numbers = (scale, load["threads"], load["warm_up_seconds"], load["seconds"], interval)
    words = ["sh", "-c", _PGBENCH, "kdb-pgbench", folder, *map(str, numbers)]
    # Nothing of the caller's: PGHOSTADDR would lead to another server, whose tables pgbench drops.
    guardian.run(["env", "-i", f"PATH={_postgresql_path()}", "LC_ALL=C", *as_user, *words], "pgbench")
    report = Path(folder, "report").read_text(encoding="utf-8")
    return float(_RATE.findall(report)[-1]), [float(tps) for tps in _PROGRESS.findall(report)]
