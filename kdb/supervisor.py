"""Keeps a few child processes running, and takes them along when it ends, however it ends.

On Linux a child is told to stop when this process is killed (PR_SET_PDEATHSIG), and a grandchild
whose parent was killed becomes ours (PR_SET_CHILD_SUBREAPER), so none is left to run on unseen.
"""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

logger = logging.getLogger(__name__)

LONGEST_BACKOFF_SECONDS = 30
SETTLED_AFTER_SECONDS = 20  # a child that lived this long could start
MAX_FAILED_STARTS = 3
PATIENCE_SECONDS = 10  # for what is under way, before it is interrupted
LAST_PATIENCE_SECONDS = 5  # after the interruption, before the kill

SUPERVISED_BY = "KDB_SUPERVISED_BY"  # in a child's environment: the number of its supervisor's process

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class CannotStartError(Exception):
    """A child ends again and again right after its start."""


@dataclass
class Child:
    """One process that should always run."""

    name: str
    command: Sequence[str]
    pass_fds: Sequence[int] = ()
    patience_seconds: float = PATIENCE_SECONDS
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_again_at: float = 0.0
    failed_starts: int = field(default=0)

    def start(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - the commands of kdb.processes
            self.command,
            pass_fds=self.pass_fds,
            stdin=subprocess.DEVNULL,
            env=os.environ | {SUPERVISED_BY: str(os.getpid())},
            preexec_fn=_as_child_of(os.getpid()),
        )
        self.started_at = time.monotonic()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        if self.process is not None and self.is_running():
            self.process.send_signal(number)

    def look_after(self) -> None:
        """Start again what has ended, later each time."""
        if self.is_running():
            return
        now = time.monotonic()
        if self.process is not None:
            status = self.process.returncode
            settled = now - self.started_at > SETTLED_AFTER_SECONDS
            self.failed_starts = 1 if settled else self.failed_starts + 1
            if self.failed_starts >= MAX_FAILED_STARTS:
                raise CannotStartError(f"the {self.name} does not stay up ({_in_words(status)}); its words are above.")
            delay = min(2 ** (self.failed_starts - 1), LONGEST_BACKOFF_SECONDS)
            logger.warning("ended child=%s status=%s again_in_seconds=%s", self.name, status, delay)
            self.start_again_at = now + delay
            self.process = None
        if now >= self.start_again_at:
            self.start()


class Supervisor:
    """Runs children until SIGINT, SIGTERM or SIGHUP."""

    def __init__(self, children: list[Child]) -> None:
        self._children = children
        self._stop = threading.Event()
        if _libc:
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: object) -> None:
        self._stop.set()

    def run(self, each_turn: Callable[[], None]) -> None:
        """Start the children and keep them running; `each_turn` is called a few times a second.

        Returns when told to stop, with no child left. Raises CannotStartError, with none left either.
        """
        try:
            while not self._stop.is_set():
                if not all(child.is_running() for child in self._children):
                    _kill_orphans(known={child.process.pid for child in self._children if child.process})
                for child in self._children:
                    child.look_after()
                each_turn()
                self._stop.wait(0.1)
        finally:
            self.stop()

    def stop(self) -> None:
        """End the children: politely, then firmly, then without asking."""
        begin = time.monotonic()
        hurried = set()
        for child in self._children:
            child.send(signal.SIGTERM)
        while (waited := time.monotonic() - begin) < PATIENCE_SECONDS + LAST_PATIENCE_SECONDS:
            running = {child.name: child for child in self._children if child.is_running()}
            if not running:
                break
            for name, child in running.items():
                if waited > child.patience_seconds and name not in hurried:
                    hurried.add(name)
                    child.send(signal.SIGQUIT)
            time.sleep(0.05)
        for child in self._children:
            child.send(signal.SIGKILL)
            if child.process is not None:
                child.process.wait()
        while _kill_orphans(known=set()):
            pass  # an orphan may leave orphans


def end_with_supervisor() -> None:
    """Of a child that may wait for ever where it is told to stop: once its supervisor was killed, and nobody would
    hurry it, it ends after the time that the supervisor would have given it."""
    supervisor = os.environ.get(SUPERVISED_BY)
    if supervisor is None:
        return

    def watch() -> None:
        while str(os.getppid()) == supervisor:
            time.sleep(1)
        time.sleep(PATIENCE_SECONDS + LAST_PATIENCE_SECONDS)
        logger.warning("ended without waiting any longer: the supervisor is gone")
        os._exit(1)

    threading.Thread(target=watch, name="end with the supervisor", daemon=True).start()


def _as_child_of(parent: int) -> Callable[[], None]:
    def before_exec() -> None:
        # Ctrl-C reaches the whole process group; the children wait for the SIGTERM that `stop` sends,
        # because Celery's beat may hang when both arrive together.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if _libc:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before that call
            os._exit(1)

    return before_exec


def _kill_orphans(known: set[int]) -> int:
    """Kill and collect the children of a killed child, which the kernel made ours; how many there were."""
    orphans = [pid for pid in _children_of(os.getpid()) if pid not in known] if _libc else []
    for pid in orphans:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return len(orphans)


def _children_of(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            ppid = path.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue  # it ended meanwhile
        if int(ppid) == parent:
            found.append(int(path.parent.name))
    return found


def _in_words(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"killed by signal {-status}"
