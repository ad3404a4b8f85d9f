"""The worker without Redis, `manage.py work`, which polls the database for jobs twice a second.

The parent forks two processes for each queue, which run one job at a time, and one that ticks; so it has neither
connections nor threads. They share its memory, and are forked again when they end. Processes for the laboratory of this
machine are forked once the ticking process sees a job for it, as most machines have none. After SIGTERM each process
finishes its job; SIGQUIT interrupts the job, which is requeued. If the parent was killed, they end after their jobs. If
the supervisor was killed, the parent interrupts them by a first alarm and kills them by a second.
"""

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import Error, close_old_connections

from kdb.jobs import jobs, maintenance, memory, supervisor
from kdb.operations import upgrades
from kdb.signals import worker_process_began

logger = logging.getLogger(__name__)

ANY_WORKER, LOCAL_LABORATORY = "", "lab-local"  # queues; runs of campaigns take hours, so they have their own
PROCESSES = 2  # for each queue
POLL_SECONDS = 0.5
RESTART_SECONDS = 1  # after a process ended by itself
GROWTH_MIB = 64  # after which a process is replaced, as Python does not return memory
LOST_AFTER_SECONDS = 10  # in which an interrupted job requeues itself; else its lease expires

_ENDED, _FAILED, _SAW_LABORATORY = 0, 1, 2  # exit statuses; only `_tick` returns the last one
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGALRM)
IsWanted = Callable[[], bool]
Work = Callable[[IsWanted], int]  # returns the exit status


class Worker:
    """The parent process of a worker, which keeps its children running until a signal stops it."""

    def __init__(self, queues: Sequence[str] = ()) -> None:
        """queues : whose jobs to run; empty: those of this machine"""
        self._missing: list[Work] = [
            *_queue_processes(queues or (ANY_WORKER,)),
            partial(_tick, looks_for_laboratory=not queues),
        ]
        self._running: dict[int, Work] = {}
        self._is_stopping = False
        self._were_interrupted = False

    def run(self) -> None:
        """Keep the children running. Return after a signal to stop, when no child is left."""
        upgrades.begin_worker()
        jobs.preload()
        for number in _SIGNALS:
            signal.signal(number, self._forward_signal)
        while True:
            while self._missing and not self._is_stopping:
                self._start(self._missing.pop())
            if not self._running:
                return
            pid, status = os.waitpid(-1, 0)
            ended, status = self._running.pop(pid), os.waitstatus_to_exitcode(status)
            if status == _SAW_LABORATORY:
                self._missing += [*_queue_processes((LOCAL_LABORATORY,)), partial(_tick, looks_for_laboratory=False)]
                continue
            self._missing.append(ended)
            if not self._is_stopping:
                if status:
                    logger.warning("a process of the worker ended status=%s", status)
                time.sleep(RESTART_SECONDS)

    def _start(self, work: Work) -> None:
        parent = os.getpid()
        signal.pthread_sigmask(
            signal.SIG_BLOCK, _SIGNALS
        )  # until _running has the child, to which signals are forwarded
        try:
            if self._is_stopping:
                return
            pid = os.fork()
            if not pid:
                _run_process(work, parent)
            self._running[pid] = work
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def _forward_signal(self, number: int, frame: object) -> None:
        self._is_stopping = True
        if number in (signal.SIGTERM, signal.SIGINT):
            number = signal.SIGTERM
            if supervisor.SUPERVISED_BY in os.environ:
                signal.alarm(supervisor.PATIENCE_SECONDS + supervisor.LAST_PATIENCE_SECONDS)
        elif number == signal.SIGALRM and self._were_interrupted:  # the interruption was lost, as one in a finalizer is
            number = signal.SIGKILL
        else:
            if number == signal.SIGALRM:
                signal.alarm(LOST_AFTER_SECONDS)
            number, self._were_interrupted = signal.SIGQUIT, True
        for pid in list(self._running):
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _queue_processes(queues: Sequence[str]) -> list[Work]:
    return [partial(_run_jobs, queue) for queue in queues for _ in range(PROCESSES)]


def _run_process(work: Work, parent: int) -> None:
    """Do the work in the process that was just forked, and exit."""
    stop_signals = []
    status = _FAILED

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)  # requeuing must not be interrupted
        raise SystemExit

    try:
        signal.signal(signal.SIGTERM, lambda number, frame: stop_signals.append(number))
        signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # Ctrl-C reaches all processes, and the parent forwards it as SIGTERM
        signal.signal(signal.SIGQUIT, interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        worker_process_began.send(sender=Worker)
        status = work(lambda: not stop_signals and os.getppid() == parent)
    except SystemExit:
        status = _ENDED
    except BaseException:
        logger.exception("a process of the worker failed")
    finally:
        os._exit(status)


def _resident_mib() -> float:
    """Return the resident memory of this process in MiB, shared or not; 0 on systems without /proc."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return 0.0


def _run_jobs(queue: str, is_wanted: IsWanted) -> int:
    began_with = _resident_mib()
    while is_wanted() and _resident_mib() < began_with + GROWTH_MIB:
        try:
            close_old_connections()
            job_id = jobs.next_waiting(queue)
            if job_id is not None and not upgrades.end_outdated_worker():
                jobs.run(job_id)
                memory.release()
                continue
        except Error as error:
            logger.warning("could not ask for jobs reason=%r", error)
        time.sleep(POLL_SECONDS)
    return _ENDED


def _tick(is_wanted: IsWanted, *, looks_for_laboratory: bool) -> int:
    """Tick at once, then every KDB_TICK_SECONDS. A failed tick is logged, and the next one makes up for it.

    looks_for_laboratory : whether to exit with _SAW_LABORATORY once a job for the laboratory of this machine waits
    """
    name, again_at, is_first = f"kdb@{socket.gethostname()}", 0.0, True
    while is_wanted():
        if time.monotonic() >= again_at:
            again_at = time.monotonic() + settings.KDB_TICK_SECONDS
            try:
                close_old_connections()
                maintenance.maintain(name, of_beat=not is_first)
                is_first = False
            except Exception:
                logger.exception("a tick failed")
        try:
            if looks_for_laboratory and jobs.next_waiting(LOCAL_LABORATORY) is not None:
                return _SAW_LABORATORY
        except Error as error:
            logger.warning("could not ask for jobs reason=%r", error)
        time.sleep(POLL_SECONDS)
    return _ENDED
