"""Keep a few child processes running, and end them with this process, however it ends.

Each child has a session of its own. When it ends, the rest of its session is killed; background processes in other
sessions stay, such as the connection that ssh shares between commands, as other children use them. On Linux, children
get SIGTERM when this process is killed (PR_SET_PDEATHSIG), and orphaned grandchildren become its children
(PR_SET_CHILD_SUBREAPER), so that all are reaped and none keeps running unseen.
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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

LONGEST_BACKOFF_SECONDS = 30
SETTLED_AFTER_SECONDS = 20  # after which a child counts as started
MAX_FAILED_STARTS = 3  # of a child that never settled
PATIENCE_SECONDS = 10  # for running work to finish, before it is interrupted
LAST_PATIENCE_SECONDS = 5  # after the interruption, before the kill

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SUPERVISED_BY = "KDB_SUPERVISED_BY"  # in a child's environment: the process id of its supervisor

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class CannotStartError(Exception):
    """A child ended by itself at each of its first starts."""


@dataclass
class Child:
    """One process that should always run."""

    name: str
    command: Sequence[str]
    pass_fds: Sequence[int] = ()
    patience_seconds: float = PATIENCE_SECONDS
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_again_at: float = 0.0  # by time.monotonic(); also delays the first start
    has_stayed_up: bool = False
    ends_in_a_row: int = 0
    failed_starts: int = 0

    def start(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - the commands of kdb.jobs.processes
            self.command,
            pass_fds=self.pass_fds,
            stdin=subprocess.DEVNULL,
            env=os.environ | {SUPERVISED_BY: str(os.getpid())},
            start_new_session=True,  # so that Ctrl-C reaches only the supervisor, which then sends SIGTERM
            preexec_fn=_request_end_with(os.getpid()),
        )
        self.started_at = time.monotonic()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        if self.process is not None and self.is_running():
            self.process.send_signal(number)

    def restart_if_ended(self) -> None:
        """Restart the child if it has ended, after a delay that grows with each end in a row.

        Raises CannotStartError where it never settled and has ended by itself MAX_FAILED_STARTS times.
        """
        if self.is_running():
            return
        now = time.monotonic()
        if self.process is not None:
            status = self.process.returncode
            _end_session(self.process.pid)
            if now - self.started_at > SETTLED_AFTER_SECONDS:
                self.has_stayed_up, self.ends_in_a_row = True, 0
            self.ends_in_a_row += 1
            self.failed_starts += status >= 0  # one that was killed may be able to start
            if not self.has_stayed_up and self.failed_starts >= MAX_FAILED_STARTS:
                raise CannotStartError(f"the {self.name} does not stay up (exit status {status}); its words are above.")
            delay = min(2 ** min(self.ends_in_a_row - 1, 10), LONGEST_BACKOFF_SECONDS)
            logger.warning("ended child=%s status=%s again_in_seconds=%s", self.name, status, delay)
            self.start_again_at = now + delay
            self.process = None
        if now >= self.start_again_at:
            self.start()


class Supervisor:
    """Keeps children running until SIGINT, SIGTERM or SIGHUP."""

    def __init__(self, children: list[Child]) -> None:
        self._children = children
        self._stop = threading.Event()
        if _libc:
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        for number in STOPPING_SIGNALS:
            signal.signal(number, lambda *_: self._stop.set())

    def run(self, each_turn: Callable[[], None]) -> None:
        """Start the children and keep them running; `each_turn` is called ten times a second.

        Returns after a signal to stop. Raises CannotStartError. In either case, no child is left running.
        """
        try:
            while not self._stop.is_set():
                for child in self._children:
                    child.restart_if_ended()
                self._collect_orphans()
                each_turn()
                self._stop.wait(0.1)
        finally:
            self.stop()

    def stop(self) -> None:
        """End the children by SIGTERM, later SIGQUIT, and at last SIGKILL."""
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
        while _libc and (orphans := _processes(lambda parent, session: parent == os.getpid())):
            for pid in orphans:  # in a loop, as their own children become orphans, too
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _collect_orphans(self) -> None:
        """Reap ended orphans. Children of our own are reaped by `Popen.poll`, which needs their exit status."""
        ours = {child.process.pid for child in self._children if child.process}
        while _libc and (orphan := _ended_child()) is not None and orphan not in ours:
            os.waitpid(orphan, 0)


def end_with_supervisor() -> None:
    """Make this child exit some time after its supervisor was killed, as it may wait for ever after its SIGTERM.

    It has as much time as the supervisor would have given it.
    """
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


def _request_end_with(parent: int) -> Callable[[], None]:
    def before_exec() -> None:
        if _libc:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent ended before prctl
            os._exit(1)

    return before_exec


def _ended_child() -> int | None:
    """Return the process id of a child that has ended and is not reaped yet, without reaping it."""
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there are no children
        return None
    return ended.si_pid if ended else None


def _end_session(session: int) -> None:
    """Kill the other processes of an ended child's session, whose id is not used again while they exist."""
    for pid in _processes(lambda _, session_of: session_of == session) if _libc else []:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _processes(is_wanted: Callable[[int, int], bool]) -> list[int]:
    """Return the ids of the processes of whose parent and session `is_wanted` is true."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent, _, session = map(int, path.read_text().rpartition(")")[2].split()[1:4])
        except OSError:
            continue  # it ended meanwhile
        if is_wanted(parent, session):
            pids.append(int(path.parent.name))
    return pids
