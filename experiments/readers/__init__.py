"""Read what benchmarks printed: bytes come in, a Reading goes out (base.py). No database, no Django.

reading_process.py decides in a process without rights: a table (table.py), or else `read` below, which picks the
benchmark's reader. reader.py is what formats share, formats/ has a module each, facts/ what programs say of a machine.
A new format is one module with a Reader, one entry in READERS and captured outputs in tests/data.
"""

from dataclasses import replace
from math import isclose

from .base import MAX_BYTES, UTF_16, Part, Reading, Refusal, text_of
from .facts import FACT_READERS
from .formats.as_ssd import AsSsd
from .formats.bonnie import Bonnie
from .formats.crystaldiskmark import CrystalDiskMark, KDiskMark
from .formats.dbench import Dbench
from .formats.dd import Dd
from .formats.diskspd import DiskSpd
from .formats.elbencho import Elbencho
from .formats.filebench import Filebench
from .formats.fio.json import FioJson
from .formats.fio.terse import FioTerse
from .formats.fio.text import FioText
from .formats.hammerdb import HammerDb
from .formats.hd_tune import HdTune
from .formats.hdparm import Hdparm
from .formats.ioping import Ioping
from .formats.iozone import Iozone
from .formats.osd_bench import OsdBench
from .formats.pbench import Pbench
from .formats.pgbench import Pgbench
from .formats.phoronix import Phoronix
from .formats.phoronix_csv import PhoronixCsv
from .formats.postmark import Postmark
from .formats.pveperf import Pveperf
from .formats.rados_bench import RadosBench
from .formats.sysbench import Sysbench
from .parts import divide, refuse_several
from .pasted_text import without_quotes_and_tags
from .reader import Reader
from .several_systems import divide_by_system
from .unknown_formats import describe_content

# Readers look at the content alone, not at the name, and no two recognise the same file; a test checks it.
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
    Elbencho(),
    Pbench(),
    *FACT_READERS,
)

# Scripts run these before the benchmark itself, to lay out a file or show the machine: beside another result they count
# for nothing.
PREPARATIONS = {"dd", "ioping", *(reader.name for reader in FACT_READERS)}


def read(data: bytes) -> Reading:
    """Return what a result file holds, whatever its format. Never raises."""
    if not data.strip():
        return _refused_reading("the file is empty")
    if len(data) > MAX_BYTES:
        return _refused_reading(f"the file has {len(data):,} bytes; one file has at most {MAX_BYTES:,}")
    if data.startswith(UTF_16):
        data = text_of(data).encode(errors="replace")
    plain = without_quotes_and_tags(data)
    readings = [reader.read(plain) for reader in READERS if reader.recognises(plain)]
    if not readings:
        names = ", ".join(reader.name for reader in READERS)
        return _refused_reading(f"this is {describe_content(data)}; formats that are read: {names}, and tables")
    results = [reading for reading in readings if reading.format not in PREPARATIONS] if len(readings) > 1 else readings
    preparations = [reading for reading in readings if reading not in results] if results else []
    first, *others = results or readings
    twins = [other for other in others if _has_same_runs(other, first)]
    others = [other for other in others if other not in twins]
    reason = f"of {first.format} again in another form: they count once"
    first = replace(first, refused=(*first.refused, *(Refusal(_first_line(twin), reason) for twin in twins)))
    if others:
        return _divide_by_format(plain, [first, *others])
    passed_over = (
        Refusal(_first_line(reading), f"{reading.format} beside {first.format} is not read: give it its own file")
        for reading in preparations
    )
    return divide_by_system(plain, replace(first, refused=(*first.refused, *passed_over)))


def _has_same_runs(other: Reading, reading: Reading) -> bool:
    """Tell whether two readings are of the same runs, which one program printed in two forms."""
    if not reading.runs or other.benchmark != reading.benchmark or len(other.runs) != len(reading.runs):
        return False
    return all(
        run.workload == twin.workload and isclose(run.throughput_mib_s or 0, twin.throughput_mib_s or 0, rel_tol=1e-3)
        for run, twin in zip(reading.runs, other.runs, strict=True)
    )


def _divide_by_format(data: bytes, readings: list[Reading]) -> Reading:
    """Return the reading of a file that several benchmarks wrote; in parts where each of them left runs."""
    first_lines = {reading.format: _first_line(reading) for reading in readings}
    parts: list[Part] = []
    for reading in readings:
        alone = divide_by_system(data, replace(reading, refused=()))
        inner = [replace(part, name=f"{reading.format}, {part.name}") for part in alone.parts]
        parts += inner or ([Part(reading.format, first_lines[reading.format], alone)] if alone.runs else [])
    if {part.reading.format for part in parts} == first_lines.keys():
        refused = tuple(refusal for reading in readings for refusal in reading.refused)
        return divide("formats", replace(readings[0], refused=refused), parts)
    return replace(readings[0], runs=(), refused=(refuse_several("formats", first_lines),))


def _first_line(reading: Reading) -> int:
    lines = [run.line for run in reading.runs] + [refusal.line for refusal in reading.refused]
    return min((line for line in lines if line), default=1)


def _refused_reading(reason: str) -> Reading:
    return Reading("", refused=(Refusal(None, reason),))
