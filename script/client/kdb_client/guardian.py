"""A process that takes away what a measurement put onto the machine, when the one that measures ends, however it ends.

Each thing is written into a journal before it is made: a process, a folder, a mount, a disk. When the pipe to the
guardian closes, because the work is done or its owner was killed, it takes away what the journal says, the last first.
Signals that end the owner do not reach it. Where both are killed the journal stays, and `clean`, with which the next
measurement begins, takes away the rest. Both hold a lock on their journal, so what is at work is left alone.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .disks import blank
from .errors import KdbError

PROCESS, FOLDER, MOUNT, DISK = "process", "folder", "mount", "disk"
_TRIES = 50
_ENDED = (
    "The guardian, a process that takes away what a measurement makes, was ended by somebody: nothing more is run, and "
    "what was made is taken away."
)


class Guardian:
    """Told what to take away: `guardian.watch(MOUNT, path)`. Leaving the context takes everything away and waits."""

    def __enter__(self) -> "Guardian":
        self._journal = state_folder() / f"{os.getpid()}-{secrets.token_hex(4)}.journal"
        unlocked = self._journal.with_suffix(".new")  # nobody finds it until it is locked
        self._file = os.open(unlocked, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        unlocked.rename(self._journal)
        reading, self._pipe = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._pipe)
            _guard(reading, self._journal, self._file)
        os.close(reading)
        return self

    def watch(self, kind: str, name: str) -> None:
        """Take this away in the end. Returns when it can no longer be missed. Raises KdbError where nobody would."""
        if os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            raise KdbError(_ENDED)
        self._note("+", kind, name)

    def forget(self, kind: str, name: str) -> None:
        """Leave this alone from now on: it is gone, and its name or number may soon be somebody else's."""
        self._note("-", kind, name)

    def _note(self, *words: str) -> None:
        os.write(self._file, json.dumps(words).encode() + b"\n")
        os.fsync(self._file)

    def new_folder(self, parent: str, kind: str = FOLDER) -> str:
        """Make an empty folder that is taken away in the end; kind : MOUNT where something will be mounted on it."""
        name = os.path.join(parent, f"kdb-measure-{secrets.token_hex(8)}")
        self.watch(kind, name)
        os.mkdir(name, 0o700)
        return name

    def run(self, command: Sequence[str], what: str) -> str:
        """Run a command that is killed in the end, should it still run; return its complaints.

        Raises KdbError, which names `what`, where it fails.
        """
        # It waits for a word on its input: should this process be killed before the journal has it, none comes.
        waiting = ["sh", "-c", 'read -r go && exec "$@" </dev/null', "sh", *command]
        with subprocess.Popen(
            waiting,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as program:
            record = process_identity(program.pid)
            try:
                self.watch(PROCESS, record)
            except KdbError:
                program.kill()
                raise
            _, complaints = program.communicate("go\n")
            self.forget(PROCESS, record)
        if program.returncode:
            raise KdbError(f"{what} failed: {complaints.strip()[:500]}")
        return complaints.strip()[:500]

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        os.close(self._pipe)
        is_left = os.waitpid(self._pid, 0)[1]  # what it could not take away; of one that was killed, everything
        left = _clear(self._journal, self._file)[1] if is_left else []
        os.close(self._file)
        if left:
            before = f"{error} " if isinstance(error, KdbError) else ""
            raise KdbError(f"{before}Not taken away: {' '.join(left)} Then: kdb measure --clean")


def clean() -> tuple[list[str], list[str]]:
    """Take away what killed measurements and their guardians left; return what was, and what could not be."""
    taken, left = [], []
    for journal in sorted(state_folder().glob("*.journal")):
        try:
            file = os.open(journal, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue  # it is gone, a link, or not ours to read
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_ours(os.fstat(file)):
                of_journal = _clear(journal, file)
                taken += of_journal[0]
                left += of_journal[1]
        except BlockingIOError:
            continue  # it is at work
        finally:
            os.close(file)
    return taken, left


def _is_ours(about: os.stat_result) -> bool:
    """Tell whether an open journal was written by us alone, and is still there: it says what is to be removed."""
    is_file = stat.S_ISREG(about.st_mode) and about.st_nlink == 1
    return is_file and about.st_uid == os.geteuid() and not about.st_mode & 0o022


def _guard(reading: int, journal: Path, file: int) -> None:
    status = 1
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        os.read(reading, 1)  # until its owner ends
        status = 1 if _clear(journal, file)[1] else 0
    finally:
        os._exit(status)


def _clear(journal: Path, file: int) -> tuple[list[str], list[str]]:
    """Take away what the open journal says is there, the last first, then itself unless something is left."""
    watched: dict[tuple[str, str], None] = {}  # in the order in which they were made
    for line in os.pread(file, os.fstat(file).st_size, 0).splitlines():
        with contextlib.suppress(ValueError):  # half a line was written before a thing that was then not made
            sign, kind, name = json.loads(line)
            watched.pop((kind, name), None)
            if sign == "+":
                watched[kind, name] = None
    taken, left = [], []
    for kind, name in reversed(watched):
        try:
            taken.append(_take_away[kind](name) or f"{kind} {name} was taken away")
        except KdbError as error:
            left.append(str(error))
    if not left:
        journal.unlink(missing_ok=True)
    return taken, left


def state_folder() -> Path:
    """Return the folder of journals and of what is kept, of this user alone."""
    home = os.environ.get("XDG_STATE_HOME") or ("/var/lib" if os.geteuid() == 0 else Path.home() / ".local" / "state")
    folder = Path(home) / "kdb-measure"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def process_identity(pid: int) -> str:
    """Return what identifies a process among all that ever had its number: number, boot and time of its start."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{pid} {boot} {(_stat(pid) or [''] * 20)[19]}"


def _stat(pid: int) -> list[str]:
    """Return the fields of a process from its state on, as proc(5) has them; [] where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def end_process(record: str) -> None:
    """Kill the process group of the process of this record, which we made, and wait until that writes no more."""
    pid, boot, _ = record.split(" ")
    if record != process_identity(int(pid)) and (_stat(int(pid)) or boot not in process_identity(int(pid))):
        return  # another one has its number; of one that is gone, its children may be there
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int(pid), signal.SIGKILL)
    for _ in range(_TRIES):
        if (_stat(int(pid)) or ["X"])[0] in "ZX":
            break
        time.sleep(0.1)


def remove_folder(name: str) -> None:
    for _ in range(_TRIES):  # a process that was killed may write a moment longer
        shutil.rmtree(name, ignore_errors=True)
        if not os.path.lexists(name):
            return
        time.sleep(0.1)
    raise KdbError(f"{name} cannot be removed.")


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


_take_away: dict[str, Callable[[str], str | None]] = {
    PROCESS: end_process,
    FOLDER: remove_folder,
    MOUNT: unmount,
    DISK: blank,
}
