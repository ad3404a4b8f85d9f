"""Facts that programs tell of a machine, or of what went on while a benchmark ran: each with its place, and no results.

One module a program. A fact is shown; it becomes part of a configuration where somebody confirms it.
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
