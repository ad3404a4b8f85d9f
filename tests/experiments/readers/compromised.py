"""Readers that somebody took over: what they try is what code in a hostile file would try."""

import ctypes
import os
import pickle
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

PR_SET_DUMPABLE = 4


def escapes(data: bytes, target: str, port: int) -> Iterator[list[str]]:
    """Yield what could be done that no reader may do."""

    def connected() -> None:
        socket.create_connection(("127.0.0.1", port))

    def written() -> None:
        with open(target, "w") as file:
            file.write("here")

    def read() -> None:
        open("/etc/passwd").close()

    def forked() -> None:
        if os.fork() == 0:
            os._exit(0)

    attempts: dict[str, Callable[[], Any]] = {
        "connected": connected,
        "opened a socket": socket.socket,
        "wrote a file": written,
        "read a file": read,
        "made a folder": lambda: os.mkdir(target),
        "listed a folder": lambda: os.listdir("/"),
        "deleted a file": lambda: os.unlink(f"{target}.kept"),
        "forked": forked,
        "started a thread": lambda: threading.Thread(target=int).start(),
        "started a program": lambda: subprocess.run(["/bin/true"]),
        "became a program": lambda: os.execv("/bin/true", ["true"]),
        "asked for its guard's end": lambda: os.kill(os.getppid(), 0),
        "signalled everybody": lambda: os.kill(-1, 0),
        "became root": lambda: os.setuid(0),
    }
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except (OSError, RuntimeError, TypeError):
            continue
        done.append(name)
    yield done


def pickles(data: bytes, target: str) -> Iterator[Any]:
    """Leave what runs a command where it is unpickled, as bytes and in place of JSON."""

    class Command:
        def __reduce__(self) -> Any:
            return os.mkdir, (target,)

    yield pickle.dumps(Command())


def garbage(data: bytes, left: str) -> Iterator[Any]:
    """Overwrite what the reader leaves: the file is the last one that is open."""
    for file in range(3, 64):
        try:
            os.pwrite(file, bytes.fromhex(left), 0)
        except OSError:
            continue
    os._exit(0)
    yield


def other_things(data: bytes, parts: list[Any]) -> Iterator[Any]:
    yield from parts


def crashes(data: bytes) -> Iterator[Any]:
    yield ctypes.string_at(0)


def waits(data: bytes) -> Iterator[Any]:
    lock = threading.Lock()
    while lock.acquire():
        pass
    yield


def works(data: bytes) -> Iterator[Any]:
    while True:
        pass
    yield
