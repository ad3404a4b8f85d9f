"""Readers of benchmark results, one module a format. No database, no Django.

A new format is one module with a Reader, one entry in READERS and captured outputs in tests/data.
"""

from dataclasses import replace

from .base import MAX_BYTES, Reader, Reading, Refusal
from .bonnie import Bonnie
from .crystaldiskmark import CrystalDiskMark
from .dbench import Dbench
from .filebench import Filebench
from .fio_json import FioJson
from .fio_terse import FioTerse
from .fio_text import FioText
from .iozone import Iozone
from .other_formats import what_it_is
from .phoronix import Phoronix
from .postmark import Postmark
from .sections import several_file_systems
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
)


def detect(data: bytes) -> Reader | None:
    """The reader that knows this content; None where none does."""
    return next((reader for reader in READERS if reader.recognises(data)), None)


def read(data: bytes) -> Reading:
    """What a result file holds, whatever its format. Never raises."""
    if not data.strip():
        return _nothing("the file is empty")
    if len(data) > MAX_BYTES:
        return _nothing(f"the file has {len(data):,} bytes; one file has at most {MAX_BYTES:,}")
    reader = detect(data)
    if reader is None:
        names = ", ".join(reader.name for reader in READERS)
        return _nothing(f"this is {what_it_is(data)}; formats that are read: {names}, and tables")
    reading = reader.read(data)
    if several := several_file_systems(data, reading):
        return replace(reading, runs=(), refused=(several,))
    return reading


def _nothing(reason: str) -> Reading:
    return Reading("", refused=(Refusal(None, reason),))
