"""A process that takes away what a measurement put onto the machine, when the one that measures ends, however it ends.

It is told of each thing before the thing is made: a process, a folder, a mount, a disk. When the pipe to it closes,
because the work is done or its owner was killed, it takes them away, the last first. Signals that end the owner do not
reach it.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PROCESS, FOLDER, MOUNT, DISK = "process", "folder", "mount", "disk"
_ENDS = 2**20  # bytes at each end of a disk that file systems write their signatures to
_TRIES = 50


class Guardian:
    """Told what to take away: `guardian.watch(MOUNT, path)`. Leaving the context takes everything away and waits."""

    def __enter__(self) -> "Guardian":
        reading, self._pipe = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._pipe)
            _guard(reading)
        os.close(reading)
        os.set_inheritable(self._pipe, False)
        return self

    def watch(self, kind: str, name: str) -> None:
        """Take this away in the end. Returns when the guardian can no longer miss it."""
        os.write(self._pipe, f"+{kind} {name}\n".encode())

    def forget(self, kind: str, name: str) -> None:
        """Leave this alone from now on: it is gone, and its name or number may soon be somebody else's."""
        os.write(self._pipe, f"-{kind} {name}\n".encode())

    def new_folder(self, parent: str, kind: str = FOLDER) -> str:
        """Make an empty folder that is taken away in the end; kind : MOUNT where something will be mounted on it."""
        name = os.path.join(parent, f"kdb-measure-{secrets.token_hex(8)}")
        self.watch(kind, name)
        os.mkdir(name, 0o700)
        return name

    def run(self, command: Sequence[str]) -> tuple[int, str]:
        """Run a command that is killed in the end, should it still run; return its exit status and complaints."""
        # It waits for a word on its input: should this process be killed before the guardian knows of it, none comes.
        waiting = ["sh", "-c", 'read -r go && exec "$@" </dev/null', "sh", *command]
        with subprocess.Popen(
            waiting,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as program:
            self.watch(PROCESS, str(program.pid))
            _, complaints = program.communicate("go\n")
            self.forget(PROCESS, str(program.pid))
        return program.returncode, complaints.strip()[:500]

    def __exit__(self, *exception: object) -> None:
        os.close(self._pipe)
        os.waitpid(self._pid, 0)


def _guard(reading: int) -> None:
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            watched: dict[str, None] = {}  # in the order in which it was told
            for line in pipe:
                sign, what = line[0], line[1:].rstrip("\n")
                watched.pop(what, None)
                if sign == "+":
                    watched[what] = None
        for what in reversed(watched):
            kind, _, name = what.partition(" ")
            _take_away[kind](name)
        status = 0
    finally:
        os._exit(status)


def end_process(name: str) -> None:
    """Kill the process group of this number, whose leader we made, and wait until the leader writes no more."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int(name), signal.SIGKILL)
    stat = Path(f"/proc/{name}/stat")
    for _ in range(_TRIES):
        try:
            if stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0] in "ZX":
                break
        except OSError:
            break
        time.sleep(0.1)


def remove_folder(name: str) -> None:
    shutil.rmtree(name, ignore_errors=True)


def unmount(name: str) -> None:
    for _ in range(_TRIES):  # a process that was killed may take a moment to let go
        if not os.path.ismount(name):
            break
        if subprocess.run(["umount", name], capture_output=True, check=False).returncode:
            time.sleep(0.1)
    else:
        subprocess.run(["umount", "--lazy", name], capture_output=True, check=False)
    with contextlib.suppress(OSError):
        Path(name).rmdir()


def blank(name: str) -> None:
    """Take a file system off a disk: its signatures, and both ends."""
    subprocess.run(["wipefs", "--all", "--quiet", name], capture_output=True, check=False)
    with contextlib.suppress(OSError), open(name, "r+b", buffering=0) as disk:
        size = disk.seek(0, os.SEEK_END)
        for place in (0, max(0, size - _ENDS)):
            disk.seek(place)
            disk.write(bytes(min(_ENDS, size)))
        os.fsync(disk.fileno())


_take_away: dict[str, Callable[[str], None]] = {
    PROCESS: end_process,
    FOLDER: remove_folder,
    MOUNT: unmount,
    DISK: blank,
}
