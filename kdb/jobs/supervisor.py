"""Keep a few child processes running, and take them along when it ends, however it ends.

Each child has a session of its own. Where it ends, whatever is left of its session ends with it; what a child put into
the background in another session (the connection that ssh shares between commands) is of use to the others and stays.
On Linux a child is told to stop when this process is killed (PR_SET_PDEATHSIG), and a grandchild whose parent has ended
becomes ours (PR_SET_CHILD_SUBREAPER), so that none runs on unseen and each is collected when it ends.
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
SETTLED_AFTER_SECONDS = 20  # a child that lived this long could start
MAX_FAILED_STARTS = 3  # of a child that never stayed up
PATIENCE_SECONDS = 10  # for what is under way, before it is interrupted
LAST_PATIENCE_SECONDS = 5  # after the interruption, before the kill

STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SUPERVISED_BY = "KDB_SUPERVISED_BY"  # in a child's environment: the number of its supervisor's process

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class CannotStartError(Exception):
    """A child that never stayed up ends by itself again and again."""


@dataclass
class Child:
    """One process that should always run."""

    name: str
    command: Sequence[str]
    pass_fds: Sequence[int] = ()
    patience_seconds: float = PATIENCE_SECONDS
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_again_at: float = 0.0  # time.monotonic(), of the first start too
    has_stayed_up: bool = False
    ends_in_a_row: int = 0
    failed_starts: int = 0

    def start(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - the commands of kdb.jobs.processes
            self.command,
            pass_fds=self.pass_fds,
            stdin=subprocess.DEVNULL,
            env=os.environ | {SUPERVISED_BY: str(os.getpid())},
            start_new_session=True,  # Ctrl-C is for us: the children wait for the SIGTERM that `stop` sends
            preexec_fn=_end_with(os.getpid()),
        )
        self.started_at = time.monotonic()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def send(self, number: signal.Signals) -> None:
        if self.process is not None and self.is_running():
            self.process.send_signal(number)

    def look_after(self) -> None:
        """Start again what has ended, for ever, and later each time.

        Raises CannotStartError where it never stayed up and ended three times by itself: it would not tomorrow either.
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
            self.failed_starts += status >= 0  # a kill says nothing of whether it can start
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
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: object) -> None:
        self._stop.set()

    def run(self, each_turn: Callable[[], None]) -> None:
        """Start the children and keep them running; `each_turn` is called a few times a second.

        Returns when told to stop, with no child left. Raises CannotStartError, with none left either.
        """
        try:
            while not self._stop.is_set():
                for child in self._children:
                    child.look_after()
                self._collect_orphans()
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
        while _libc and (orphans := _processes(lambda parent, session: parent == os.getpid())):
            for pid in orphans:  # they may leave orphans of their own
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _collect_orphans(self) -> None:
        """Collect what became ours and has ended; how a child ended is asked by `Popen.poll`."""
        ours = {child.process.pid for child in self._children if child.process}
        while _libc and (orphan := _ended_child()) is not None and orphan not in ours:
            os.waitpid(orphan, 0)


def end_with_supervisor() -> None:
    """End this child, which may wait for ever where it is told to stop, once its supervisor was killed and nobody would
    hurry it: after the time that the supervisor would have given it."""
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


def _end_with(parent: int) -> Callable[[], None]:
    def before_exec() -> None:
        if _libc:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before that call
            os._exit(1)

    return before_exec


def _ended_child() -> int | None:
    """Return the number of a child that has ended and was not collected yet."""
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there are no children
        return None
    return ended.si_pid if ended else None


def _end_session(session: int) -> None:
    """Kill the rest of an ended child's session. Nobody else gets its number until they are gone."""
    for pid in _processes(lambda _, of: of == session) if _libc else []:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _processes(is_wanted: Callable[[int, int], bool]) -> list[int]:
    """Return the numbers of processes, asked by their parent and session."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent, _, session = map(int, path.read_text().rpartition(")")[2].split()[1:4])
        except OSError:
            continue  # it ended meanwhile
        if is_wanted(parent, session):
            pids.append(int(path.parent.name))
    return pids
