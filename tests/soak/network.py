"""Hosts on this machine that share nothing of their network: each has an address and a name, a bridge joins them.

Linux' namespaces are held by descriptors of this process, so nothing is left of them when it has ended, however it
ends. Needs root, and `ip`.
"""

import ctypes
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_PARTS = {"net": 0x40000000, "uts": 0x04000000}  # CLONE_NEWNET, CLONE_NEWUTS of <sched.h>: network, and host name
_libc = ctypes.CDLL(None, use_errno=True)


def missing() -> str:
    """Return why there can be no hosts here; empty where there can."""
    return "needs root" if os.getuid() else "" if shutil.which("ip") else "needs ip (iproute2)"


@dataclass
class Host:
    name: str
    address: str
    namespaces: list[int]

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be this thread on the host; what it starts stays there."""
        home = _own_namespaces()
        _enter(self.namespaces)
        try:
            yield
        finally:
            _enter(home)
            for descriptor in home:
                os.close(descriptor)


class Network:
    """Takes this process out of the machine's network into one of its own, to the hosts: made before threads are."""

    def __init__(self) -> None:
        self.hosts: list[Host] = []
        _leave()
        _ip("link set lo up")
        _ip("link add bridge0 type bridge")
        _ip("address add 10.77.0.1/24 dev bridge0")
        _ip("link set bridge0 up")

    def add(self, name: str) -> Host:
        home = _own_namespaces()
        _leave()
        socket.sethostname(name)
        host = Host(name, f"10.77.0.{len(self.hosts) + 2}", _own_namespaces())
        _ip("link set lo up")
        _enter(home)
        _ip(f"link add to-{name} type veth peer name eth0 netns /proc/{os.getpid()}/fd/{host.namespaces[0]}")
        _ip(f"link set to-{name} master bridge0 up")
        with host.inside():
            _ip(f"address add {host.address}/24 dev eth0")
            _ip("link set eth0 up")
        self.hosts.append(host)
        return host


def _leave() -> None:
    _check(_libc.unshare(sum(_PARTS.values())))


def _own_namespaces() -> list[int]:
    return [os.open(f"/proc/thread-self/ns/{part}", os.O_RDONLY) for part in _PARTS]


def _enter(namespaces: list[int]) -> None:
    for descriptor, kind in zip(namespaces, _PARTS.values(), strict=True):
        _check(_libc.setns(descriptor, kind))


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True)
