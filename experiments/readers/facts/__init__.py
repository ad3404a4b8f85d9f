"""Readers of programs that describe a machine, or what ran on it beside a benchmark: facts with lines, no results.

One module a program. A fact is shown; it becomes part of a configuration when the user confirms it.
"""

from ..reader import Reader
from .findmnt import Findmnt
from .iostat import Iostat
from .lsblk import Lsblk
from .pidstat import Pidstat
from .qm import Qm
from .settings import Settings
from .virsh import Virsh
from .zpool import Zpool
from .zpool_iostat import ZpoolIostat

FACT_READERS: tuple[Reader, ...] = (
    *(Lsblk(), Findmnt(), Zpool(), ZpoolIostat(), Qm(), Virsh(), Iostat(), Pidstat(), Settings()),
)
