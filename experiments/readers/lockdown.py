"""Give up every right that reading does not need, for good: whatever a file makes of a reader stays in its process.

It keeps the files that are open and its memory. It opens nothing, starts nothing, reaches no network and no other
process; its system calls are those of the list below (seccomp, where the processor is in it), its user is nobody's
(where it was root's), and new rights are none.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
from contextlib import suppress

NOBODY = 65534
_NICENESS = 10  # whoever asks for a page goes before
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38  # linux/prctl.h
_FILTER = 2  # SECCOMP_MODE_FILTER
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000  # linux/seccomp.h; refused with EPERM
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
# Of each processor its number (linux/audit.h) and those of: read write close fstat newfstatat lseek pread64 pwrite64
# ftruncate; mmap mprotect munmap mremap madvise brk; futex sched_yield rt_sigaction rt_sigprocmask rt_sigreturn
# sigaltstack; getpid gettid getrusage getrandom gettimeofday clock_gettime; restart_syscall exit exit_group.
_CALLS = {
    "x86_64": (
        *(0xC000003E, 0, 1, 3, 5, 262, 8, 17, 18, 77, 9, 10, 11, 25, 28, 12, 202, 24, 13, 14, 15),
        *(131, 39, 186, 98, 318, 96, 228, 219, 60, 231),
    ),
    "aarch64": (
        *(0xC00000B7, 63, 64, 57, 80, 79, 62, 67, 68, 46, 222, 226, 215, 216, 233, 214, 98, 124, 134, 135, 139),
        *(132, 172, 178, 165, 278, 169, 113, 128, 93, 94),
    ),
}


def lock_down(seconds: int, memory_bytes: int, file_bytes: int) -> None:
    """Set the limits and give the rights up. seconds : of a processor; memory_bytes : of addresses

    What a system does not know is left out: each of the limits holds without the others.
    """
    for what, most in (
        *((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, file_bytes)),
        *((resource.RLIMIT_NPROC, 0), (resource.RLIMIT_NOFILE, 0)),
    ):
        _limit(what, most, most)
    _limit(resource.RLIMIT_CPU, seconds, seconds + 1)  # the first one is told as such
    os.nice(_NICENESS)
    if os.geteuid() == 0:
        with suppress(PermissionError):  # root without the rights of root
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if platform.machine() in _CALLS:
        program = _program(*_CALLS[platform.machine()])
        code = ctypes.create_string_buffer(program)
        named = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
        prctl(_PR_SET_SECCOMP, _FILTER, ctypes.addressof(named), 0, 0)


def _program(processor: int, *calls: int) -> bytes:
    """Return the filter of system calls, in the language of linux/filter.h: code, two jumps, an operand."""
    lines = [(_LOAD, 0, 0, 4), (_IF_EQUAL, 1, 0, processor), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    lines += [(_IF_EQUAL, len(calls) - at, 0, call) for at, call in enumerate(calls)]
    lines += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("@HBBI", *line) for line in lines)


def _limit(what: int, soft: int, hard: int) -> None:
    """Set the limit, within what the system allows."""
    _, most = resource.getrlimit(what)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(what, (soft, hard))
