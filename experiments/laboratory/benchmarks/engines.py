"""The texts that benchmarks run by: the four workloads for Filebench, in the words of each version, and for fio.

Both are KDB's own texts, and another variant than the personalities that Filebench ships: `personality`
in their parameters says so. The numbers of threads, files and bytes are those of the shipped ones
(fileserver, varmail, webserver 3.x; networkserver 1.1 for random file access), at 100 %. A campaign that repeats a
paper may run the shipped ones themselves, from where Filebench was installed. Random file access
differs most: file sizes are gamma distributed with the mean of the shipped table, because Filebench 1.5
has no tables, and the files that are opened cluster near a tenth of the set, whatever its size.

fio cannot create, delete or stat files under load. Its jobs have the same files, threads, sizes and shares of
reads and writes, with an fsync after each write for mail, and are another benchmark in every ranking.

Both make their files, meet the other machines at BARRIER, and measure. The worker drops the caches meanwhile, so a
measurement begins with the files on the disk and none of them in memory. (`kdb-1` began with them in memory.)
A load that must not be answered from memory has twice as many bytes of files as the memory that may cache them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

PERSONALITY, SHIPPED = "kdb-2", "shipped"
COMPRESSIBLE_PERCENT = 50  # of what fio writes where compression is compared; else nothing of it can be compressed
ABOVE_MEMORY = 2  # times the memory that may cache them are the files; the manual of Bonnie++ asks for as much
_KIB, _MIB = 2**10, 2**20


@dataclass(frozen=True)
class Shape:
    """A workload's size at 100 %: threads, files, mean bytes of a file and of an append."""

    threads: int
    files: int
    file_bytes: int
    append_bytes: int
    directory_width: int
    preallocated_percent: int


SHAPES = {
    "fileserver": Shape(50, 10_000, 128 * _KIB, 16 * _KIB, 20, 80),
    "varmail": Shape(16, 1_000, 16 * _KIB, 16 * _KIB, 1_000_000, 80),
    "webserver": Shape(100, 1_000, 16 * _KIB, 16 * _KIB, 20, 100),
    "randomfileaccess": Shape(5, 10_000, 27 * _KIB, 16 * _KIB, 20, 100),
}
WORKLOADS = tuple(SHAPES)


# Says that the files are made, and waits for the line that tells when to begin, in hundredths of a second since the
# machine started; 0 is at once. Its argument is the name of the run's files; where nobody made a barrier it goes on.
BARRIER = """
[ -p "$1.go" ] || exit 0
exec 3<>"$1.go"
: >"$1.ready"
read -r at <&3
read -r up _ </proc/uptime
rest=$((at - ${up%.*}${up#*.} - 5))
[ "$rest" -le 0 ] || sleep "$((rest / 100)).$(printf %02d $((rest % 100)))"
while read -r up _ </proc/uptime && [ "${up%.*}${up#*.}" -lt "$at" ]; do :; done
echo "$up" >"$1.began"
echo 1<>"$1.passed"
"""
_BEGIN = "all machines begin"  # what Filebench says when it has passed
# How Filebench says that it waits at the barrier, and that it measures.
_BEGAN = (
    re.compile(f"^(?:[0-9]{{1,9}}: {{1,9}})?([0-9]{{1,9}}\\.[0-9]{{3}}): {_BEGIN}".encode(), re.MULTILINE),
    re.compile(rb"^(?:[0-9]{1,9}: {1,9})?([0-9]{1,9}\.[0-9]{3}): Running\.\.\.", re.MULTILINE),
)


class UnknownVersion(ValueError):  # noqa: N818
    """A Filebench that the texts were not written for."""


@dataclass(frozen=True)
class Load:
    """The files and the command that make a load on the machine.

    files : name to text, put into the area
    command : run in the file system under test; it makes its files, waits at BARRIER, and measures
    warm : to be run before it may go on: what it will start afterwards is in memory then
    limit_mib : of memory that it may use, its files in the page cache included; 0: all there is
    parameters : what makes the variant of the workload
    set_up_seconds : how long making the files may take before anything is measured
    """

    files: Mapping[str, str]
    command: tuple[str, ...]
    parameters: Mapping[str, str | int | float]
    working_set_bytes: int
    set_up_seconds: int
    warm: tuple[str, ...] = ()
    limit_mib: int = 0


def scaled(shape: Shape, percent: int, memory_mib: int = 0) -> Shape:
    """Return the shape with files and threads at this share; at least one thread, and ten files.

    memory_mib : that may cache files; there are at least as many as are ABOVE_MEMORY times as large
    """
    threads, files = max(1, shape.threads * percent // 100), max(10, shape.files * percent // 100)
    return replace(shape, threads=threads, files=max(files, -(-ABOVE_MEMORY * memory_mib * _MIB // shape.file_bytes)))


def working_set_bytes(workload: str, percent: int, memory_mib: int = 0) -> int:
    shape = scaled(SHAPES[workload], percent, memory_mib)
    return shape.files * shape.file_bytes


def load(
    engine: str,
    version: str,
    workload: str,
    area: str,
    folder: str,
    seconds: int,
    percent: int,
    *,
    program: str = "",
    memory_mib: int = 0,
    is_limited: bool = False,
    is_direct: bool = False,
    is_shipped: bool = False,
    is_compressible: bool = False,
) -> Load:
    """Return the load of one run on one machine, in `folder`. Raises UnknownVersion.

    program : where the engine is, if not on the machine's PATH
    memory_mib : that may cache its files, which are larger; 0: they are as large as `percent` makes them
    is_limited : whether it may use no more than that of the machine's memory; is_direct : whether fio passes it by
    is_shipped : take the text that came with this Filebench, at its own size, in place of KDB's
    is_compressible : whether half of what fio writes can be compressed away
    """
    shape = scaled(SHAPES[workload], percent, memory_mib)
    size = shape.files * shape.file_bytes
    parameters: dict[str, str | int | float] = {
        "personality": SHIPPED if is_shipped else PERSONALITY,
        "threads": shape.threads,
        "files": shape.files,
        "file_size_bytes": shape.file_bytes,
        "run_seconds": seconds,
        **({"memory_bytes": memory_mib * _MIB} if is_limited else {}),
        **({"direct": 1} if is_direct else {}),
        **({"compressible_percent": COMPRESSIBLE_PERCENT} if is_compressible else {}),
    }
    files = {"barrier": BARRIER}
    command: tuple[str, ...]
    warm: tuple[str, ...] = ()
    if engine == "fio":
        more = "direct=1\n" * is_direct + f"buffer_compress_percentage={COMPRESSIBLE_PERCENT}\n" * is_compressible
        files["job.fio"] = fio_job(workload, shape, folder, seconds) + more
        files["create.fio"] = files["job.fio"] + "create_only=1\ncreate_fsync=0\n"  # all are written back at once
        command, warm = ("sh", "-c", FIO_COMMANDS, "kdb-fio", area), ("fio", "--version")
    elif is_shipped:
        files["end.f"] = "\n".join(_run_lines(area, seconds)) + "\n"
        command = ("sh", "-c", SHIPPED_COMMANDS, "kdb-shipped", area, folder, program or "filebench", workload)
    else:
        files["job.f"] = filebench_text(version, workload, shape, folder, seconds, area)
        # Its processes share memory at fixed addresses, and die now and then where these are random.
        command = ("setarch", "--addr-no-randomize", program or "filebench", "-f", f"{area}/job.f")
    limit_mib = memory_mib if is_limited else 0
    return Load(files, command, parameters, size, 60 + size // (10 * _MIB), warm, limit_mib)


def seconds_to_measuring(output: bytes) -> float | None:
    """Return how long after the barrier it measured: Filebench starts its threads first and says when; fio does not."""
    matches = [pattern.search(output) for pattern in _BEGAN]
    return None if None in matches else float(matches[1][1]) - float(matches[0][1])  # type: ignore[index]


# Filebench


def dialect(version: str) -> str:
    """Return "1.4" or "1.5". Raises UnknownVersion."""
    for known in ("1.4.8", "1.4.9", "1.5"):
        if version.startswith(known):
            return known[:3]
    raise UnknownVersion(f"Filebench {version or 'of an unknown version'}: 1.4.8, 1.4.9 and 1.5 are supported")


_READ_FILE = (("openfile", "{set},fd={fd}"), ("readwholefile", "fd={fd},iosize=$request"), ("closefile", "fd={fd}"))
_APPEND = ("appendfilerand", "iosize=$addition,fd={fd}")

# Operation and its attributes, in the order that one thread goes through them.
_STEPS: dict[str, tuple[tuple[str, str], ...]] = {
    "fileserver": (
        ("createfile", "{set},fd={fd}"),
        ("writewholefile", "srcfd={fd},fd={fd},iosize=$request"),
        ("closefile", "fd={fd}"),
        ("openfile", "{set},fd={fd}"),
        _APPEND,
        ("closefile", "fd={fd}"),
        *_READ_FILE,
        ("deletefile", "{set}"),
        ("statfile", "{set}"),
    ),
    "varmail": (
        ("deletefile", "{set}"),
        ("createfile", "{set},fd={fd}"),
        _APPEND,
        ("fsync", "fd={fd}"),
        ("closefile", "fd={fd}"),
        ("openfile", "{set},fd={fd}"),
        ("readwholefile", "fd={fd},iosize=$request"),
        _APPEND,
        ("fsync", "fd={fd}"),
        ("closefile", "fd={fd}"),
        *_READ_FILE,
    ),
    "webserver": (*_READ_FILE * 10, ("appendfilerand", "filesetname=journal,iosize=$addition,fd=2")),
    "randomfileaccess": (
        ("openfile", "{set},indexed=$place,fd=1"),
        ("openfile", "{set},indexed=$place,fd=2"),
        ("openfile", "{set},indexed=$place,fd=3"),
        ("appendfilerand", "iosize=$addition,fd=1"),
        ("closefile", "fd=1"),
        ("readwholefile", "iosize=$request,fd=2"),
        ("readwholefile", "iosize=$request,fd=3"),
        ("closefile", "fd=2"),
        ("closefile", "fd=3"),
    ),
}


def filebench_text(version: str, workload: str, shape: Shape, folder: str, seconds: int, area: str) -> str:
    """Return the personality in the words of this version. Raises UnknownVersion.

    `run` would make the files itself; it leaves alone those that `create files` made.
    """
    is_new = dialect(version) == "1.5"
    is_random = workload == "randomfileaccess"
    lines = [f"set $request={'8k' if is_random else '1m'}"]
    if is_new:
        lines += [
            f"set $size=cvar(type=cvar-gamma,parameters=mean:{shape.file_bytes};gamma:1.5)",
            f"set $addition=cvar(type=cvar-gamma,parameters=mean:{shape.append_bytes};gamma:1.5)"
            if is_random
            else f"set $addition={shape.append_bytes}",
        ]
        if is_random:
            lines.append(f"set $place=cvar(type=cvar-gamma,parameters=mean:{shape.files / 10:g};gamma:0.1)")
    else:
        lines += [
            f"set $size={shape.file_bytes}",  # gamma 1.5 unless told otherwise
            f"define randvar name=$addition,type=gamma,min=512,round=512,mean={shape.append_bytes},gamma=1500"
            if is_random
            else f"set $addition={shape.append_bytes}",
        ]
        if is_random:
            lines.append(f"define randvar name=$place,type=gamma,min=0,mean={shape.files // 10},gamma=100")
    lines.append(
        f"define fileset name=tree,path={folder},size=$size,entries={shape.files},"
        f"dirwidth={shape.directory_width},prealloc={shape.preallocated_percent}"
    )
    if workload == "webserver":
        lines.append(f"define fileset name=journal,path={folder},size=$size,entries=1,dirwidth=20,prealloc")
    lines += [
        "define process name=server,instances=1",
        "{",
        f"  thread name=worker,memsize=10m,instances={shape.threads}",
        "  {",
    ]
    for number, (operation, attributes) in enumerate(_STEPS[workload], start=1):
        filled = attributes.format(set="filesetname=tree", fd=1)
        lines.append(f"    flowop {operation} name=step{number}-{operation},{filled}".replace("-", "_", 1))
    lines += [
        *("  }", "}", f'echo "{workload} {PERSONALITY} personality successfully loaded"'),
        *_run_lines(area, seconds),
    ]
    return "\n".join(lines) + "\n"


def _run_lines(area: str, seconds: int) -> tuple[str, ...]:
    return "create files", f'system "sh {area}/barrier {area}/benchmark"', f'echo "{_BEGIN}"', f"run {seconds}"


# The personality that lies beside the program, with the folder and the end of the run put in.
SHIPPED_COMMANDS = """
program=$(readlink -f "$(command -v "$3")")
text=${program%/bin/*}/share/filebench/workloads/$4.f
[ -f "$text" ] || { echo "Filebench came without $text"; exit 1; }
{ sed -e "s|^set \\$dir=.*|set \\$dir=$2|" -e '/^usage/d' -e '/^run /d' "$text"; cat "$1/end.f"; } >"$1/job.f"
exec setarch --addr-no-randomize "$program" -f "$1/job.f"
"""


# fio

FIO_COMMANDS = """
fio --output-format=json --output="$1/created.txt" "$1/create.fio" || { cat "$1/created.txt"; exit 1; }
sh "$1/barrier" "$1/benchmark"
exec fio --output-format=json "$1/job.fio"
"""
# Share of reads in percent, and block sizes for reads and writes: what Filebench's operations come to.
_FIO = {
    "fileserver": (33, 128 * _KIB, 128 * _KIB, ()),
    "varmail": (50, 16 * _KIB, 16 * _KIB, ("fsync=1",)),
    "webserver": (91, 16 * _KIB, 16 * _KIB, ()),
    "randomfileaccess": (67, 8 * _KIB, 16 * _KIB, ()),
}


def fio_job(workload: str, shape: Shape, folder: str, seconds: int) -> str:
    """Return fio's job file."""
    reads, read_bytes, write_bytes, more = _FIO[workload]
    size = -(-shape.file_bytes // write_bytes) * write_bytes
    lines = [
        f"[{workload}]",
        f"directory={folder}",
        "ioengine=psync",
        "rw=randrw",
        f"rwmixread={reads}",
        f"bs={read_bytes},{write_bytes}",
        f"numjobs={shape.threads}",
        f"nrfiles={max(1, shape.files // shape.threads)}",
        f"filesize={size}",
        "openfiles=100",
        "file_service_type=random",
        "fallocate=none",
        "time_based=1",
        f"runtime={seconds}",
        "group_reporting=1",
        *more,
    ]
    return "\n".join(lines) + "\n"
