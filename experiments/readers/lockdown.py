"""Give up every right that reading does not need, for good, so that a hostile file can harm only its own process.

The process keeps its open files and its memory. It can open no file, start no process and reach no network: it may only
make the system calls listed below (seccomp, on the processors listed), and where it was root it becomes nobody.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
from contextlib import suppress

NOBODY = 65534
_NICENESS = 10  # requests for pages come first
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38  # linux/prctl.h
_FILTER = 2  # SECCOMP_MODE_FILTER
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050001, 0x80000000  # linux/seccomp.h; refused with EPERM
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
# By processor: its number (linux/audit.h), and those of read write close fstat newfstatat lseek pread64 pwrite64
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
    """Set the limits and give up the rights. seconds : of processor time; memory_bytes : of address space

    What a system does not support is skipped: each limit helps without the others.
    """
    for what, most in (
        *((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, file_bytes)),
        *((resource.RLIMIT_NPROC, 0), (resource.RLIMIT_NOFILE, 0)),
    ):
        _limit(what, most, most)
    _limit(resource.RLIMIT_CPU, seconds, seconds + 1)  # the soft limit's SIGXCPU tells the parent why
    os.nice(_NICENESS)
    if os.geteuid() == 0:
        with suppress(PermissionError):  # root in a container without these capabilities
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
        header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
        prctl(_PR_SET_SECCOMP, _FILTER, ctypes.addressof(header), 0, 0)


def _program(processor: int, *calls: int) -> bytes:
    """Return the filter of system calls as BPF instructions (linux/filter.h): code, two jumps, operand."""
    lines = [(_LOAD, 0, 0, 4), (_IF_EQUAL, 1, 0, processor), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    lines += [(_IF_EQUAL, len(calls) - number, 0, call) for number, call in enumerate(calls)]
    lines += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("@HBBI", *line) for line in lines)


def _limit(what: int, soft: int, hard: int) -> None:
    """Set a limit of the process, at most the one it has."""
    _, most = resource.getrlimit(what)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(what, (soft, hard))
