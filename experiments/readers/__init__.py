"""Readers of benchmark results, one module a format. No database, no Django.

A new format is one module with a Reader, one entry in READERS and captured outputs in tests/data.
"""

from dataclasses import replace
from math import isclose

from .base import MAX_BYTES, UTF_16, Part, Reader, Reading, Refusal, in_parts, several, text_of
from .bonnie import Bonnie
from .ceph.osd_bench import OsdBench
from .ceph.rados_bench import RadosBench
from .dbench import Dbench
from .dd import Dd
from .disk.as_ssd import AsSsd
from .disk.crystaldiskmark import CrystalDiskMark
from .disk.hd_tune import HdTune
from .disk.hdparm import Hdparm
from .disk.kdiskmark import KDiskMark
from .disk.pveperf import Pveperf
from .diskspd import DiskSpd
from .facts import FACT_READERS
from .filebench import Filebench
from .fio.json import FioJson
from .fio.terse import FioTerse
from .fio.text import FioText
from .hammerdb import HammerDb
from .ioping import Ioping
from .iozone import Iozone
from .other_formats import what_it_is
from .pgbench import Pgbench
from .phoronix import Phoronix
from .phoronix_csv import PhoronixCsv
from .postmark import Postmark
from .sections import by_file_system
from .surroundings import by_words_between, shown
from .sysbench import Sysbench

# Each looks at the content alone, and no two of them claim the same; a test holds them to it.
READERS: tuple[Reader, ...] = (
    Filebench(),
    FioJson(),
    FioTerse(),
    FioText(),
    Bonnie(),
    Iozone(),
    Sysbench(),
    Dbench(),
    Postmark(),
    CrystalDiskMark(),
    Phoronix(),
    DiskSpd(),
    Pgbench(),
    KDiskMark(),
    Dd(),
    Ioping(),
    AsSsd(),
    HammerDb(),
    HdTune(),
    Hdparm(),
    OsdBench(),
    PhoronixCsv(),
    Pveperf(),
    RadosBench(),
    *FACT_READERS,
)

# Scripts run these before the benchmark proper: to lay out a file, to look whether the disk is awake, to say where.
BESIDE = {"dd", "ioping", *(reader.name for reader in FACT_READERS)}


def read(data: bytes) -> Reading:
    """Return what a result file holds, whatever its format. Never raises."""
    if not data.strip():
        return _nothing("the file is empty")
    if len(data) > MAX_BYTES:
        return _nothing(f"the file has {len(data):,} bytes; one file has at most {MAX_BYTES:,}")
    if data.startswith(UTF_16):
        data = text_of(data).encode(errors="replace")
    given, data = data, shown(data)
    readings = [reader.read(data) for reader in READERS if reader.recognises(data)]
    if not readings:
        names = ", ".join(reader.name for reader in READERS)
        return _nothing(f"this is {what_it_is(given)}; formats that are read: {names}, and tables")
    beside = [other for other in readings if other.format in BESIDE and len(readings) > 1]
    readings = [other for other in readings if other not in beside] or beside
    reading = readings[0]
    again = [other for other in readings[1:] if _is_said_by(other, reading)]
    readings = [other for other in readings if other not in again]
    if again:
        why = f"of {reading.format} again in another form: they count once"
        reading = replace(reading, refused=(*reading.refused, *(Refusal(_first_line(one), why) for one in again)))
        readings[0] = reading
    if len(readings) > 1:
        return _in_formats(data, readings)
    passed_over = tuple(
        Refusal(_first_line(other), f"{other.format} beside {reading.format} is not read: give it its own file")
        for other in beside
    )
    return _by_system(data, replace(reading, refused=(*reading.refused, *passed_over)))


def _by_system(data: bytes, reading: Reading) -> Reading:
    """Return the reading, in parts where its runs are, or may be, of several systems."""
    by_name = reading if reading.parts else by_file_system(data, reading)
    return by_words_between(data, by_name) if by_name is reading and not reading.parts else by_name


def _is_said_by(other: Reading, reading: Reading) -> bool:
    """Tell whether two readings are of the same runs: one program can print them in several forms."""
    if not reading.runs or other.benchmark != reading.benchmark or len(other.runs) != len(reading.runs):
        return False
    return all(
        mine.workload == theirs.workload
        and isclose(mine.throughput_mib_s or 0, theirs.throughput_mib_s or 0, rel_tol=1e-3)
        for mine, theirs in zip(reading.runs, other.runs, strict=True)
    )


def _in_formats(data: bytes, readings: list[Reading]) -> Reading:
    """Return the reading of a file that several benchmarks wrote; in parts where each of them left runs."""
    first_lines = {reading.format: _first_line(reading) for reading in readings}
    others = tuple(refusal for reading in readings for refusal in reading.refused)
    parts: list[Part] = []
    for reading in readings:
        alone = _by_system(data, replace(reading, refused=()))
        inner = [replace(part, name=f"{reading.format}, {part.name}") for part in alone.parts]
        parts += inner or ([Part(reading.format, first_lines[reading.format], alone)] if alone.runs else [])
    if {part.reading.format for part in parts} == first_lines.keys():
        return in_parts("formats", replace(readings[0], refused=others), parts)
    return replace(readings[0], runs=(), refused=(several("formats", first_lines),))


def _first_line(reading: Reading) -> int:
    lines = [run.line for run in reading.runs] + [refusal.line for refusal in reading.refused]
    return min((line for line in lines if line), default=1)


def _nothing(reason: str) -> Reading:
    return Reading("", refused=(Refusal(None, reason),))
