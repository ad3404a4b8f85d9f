"""Hold no memory that was freed: glibc keeps it, for each thread apart, unless it is told otherwise."""

import ctypes
import platform

_ARENA_MAX = -8  # M_ARENA_MAX of mallopt(3)
_IS_GLIBC = platform.libc_ver()[0] == "glibc"


def share_between_threads() -> None:
    """Let all threads of this process, and of those it forks, take from one heap: ten would hold 60 MiB that the others
    cannot use. They wait for each other at Python's lock anyway."""
    if _IS_GLIBC:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Give the system back what was freed. It takes some milliseconds."""
    if _IS_GLIBC:
        ctypes.CDLL(None).malloc_trim(0)
