"""The worker without Redis, `manage.py work`, which polls the database for jobs twice a second.

The parent has neither connections nor threads, because it forks: two processes a queue, each of which does one job at a
time, and one that ticks. They share what is loaded; one that ends is forked again. Those of a laboratory here, which
most have not, are forked when the process that ticks has seen a job for them. Told to stop (SIGTERM), each ends its job
first; SIGQUIT interrupts the job, which goes back. Where the parent was killed they end after their jobs. Where
the supervisor was killed nobody else would hurry them: the parent interrupts them by one alarm, and kills by the next.
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

ANYBODYS, LOCAL_LABORATORY = "", "lab-local"  # runs of campaigns take hours, so they have processes of their own
PROCESSES = 2  # of each queue
POLL_SECONDS = 0.5
RESTART_SECONDS = 1  # after a process ended by itself
GROWTH_MIB = 64  # that jobs may leave behind: Python keeps what it has had, so the process ends and another is forked
LOST_AFTER_SECONDS = 10  # an interrupted job has given itself back by then; else its lease runs out

_ENDED_WELL, _FAILED, _SAW_LABORATORY = 0, 1, 2  # exit statuses of processes; the last is only returned by `_tick`
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGALRM)
IsWanted = Callable[[], bool]
Work = Callable[[IsWanted], int]  # which returns the exit status


class Worker:
    """The parent of the worker's processes, which it keeps running until it is told to stop."""

    def __init__(self, queues: Sequence[str] = ()) -> None:
        """queues : to serve; without, those of this machine"""
        self._missing: list[Work] = [
            *_of_queues(queues or (ANYBODYS,)),
            partial(_tick, looks_for_laboratory=not queues),
        ]
        self._running: dict[int, Work] = {}
        self._is_stopping = False
        self._were_interrupted = False

    def run(self) -> None:
        """Return when told to stop, with no process left."""
        upgrades.begin_worker()
        jobs.preload()
        for number in _SIGNALS:
            signal.signal(number, self._pass_on)
        while True:
            while self._missing and not self._is_stopping:
                self._start(self._missing.pop())
            if not self._running:
                return
            pid, status = os.waitpid(-1, 0)
            ended, status = self._running.pop(pid), os.waitstatus_to_exitcode(status)
            if status == _SAW_LABORATORY:
                self._missing += [*_of_queues((LOCAL_LABORATORY,)), partial(_tick, looks_for_laboratory=False)]
                continue
            self._missing.append(ended)
            if not self._is_stopping:
                if status:
                    logger.warning("a process of the worker ended status=%s", status)
                time.sleep(RESTART_SECONDS)

    def _start(self, work: Work) -> None:
        parent = os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # until it is known whom to pass them on to
        try:
            if self._is_stopping:
                return
            pid = os.fork()
            if not pid:
                _run_process(work, parent)
            self._running[pid] = work
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def _pass_on(self, number: int, frame: object) -> None:
        self._is_stopping = True
        if number in (signal.SIGTERM, signal.SIGINT):
            number = signal.SIGTERM
            if supervisor.SUPERVISED_BY in os.environ:
                signal.alarm(supervisor.PATIENCE_SECONDS + supervisor.LAST_PATIENCE_SECONDS)
        elif number == signal.SIGALRM and self._were_interrupted:  # and the interruption was lost, as in a finalizer
            number = signal.SIGKILL
        else:
            if number == signal.SIGALRM:
                signal.alarm(LOST_AFTER_SECONDS)
            number, self._were_interrupted = signal.SIGQUIT, True
        for pid in list(self._running):
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _of_queues(queues: Sequence[str]) -> list[Work]:
    return [partial(_take_jobs, queue) for queue in queues for _ in range(PROCESSES)]


def _run_process(work: Work, parent: int) -> None:
    """Do the work of a process that was just forked, and exit."""
    stop_signals = []
    status = _FAILED

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)  # what goes back is not interrupted again
        raise SystemExit

    try:
        signal.signal(signal.SIGTERM, lambda number, frame: stop_signals.append(number))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent passes it on
        signal.signal(signal.SIGQUIT, interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        worker_process_began.send(sender=Worker)
        status = work(lambda: not stop_signals and os.getppid() == parent)
    except SystemExit:
        status = _ENDED_WELL
    except BaseException:
        logger.exception("a process of the worker failed")
    finally:
        os._exit(status)


def _resident_mib() -> float:
    """Return what this process holds of the memory, shared or not; 0 where the system does not say it so."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return 0.0


def _take_jobs(queue: str, is_wanted: IsWanted) -> int:
    began_with = _resident_mib()
    while is_wanted() and _resident_mib() < began_with + GROWTH_MIB:
        try:
            close_old_connections()
            job_id = jobs.next_waiting(queue)
            if job_id is not None and not upgrades.end_outdated_worker():
                jobs.run(job_id)
                memory.give_back()
                continue
        except Error as error:
            logger.warning("could not ask for jobs reason=%r", error)
        time.sleep(POLL_SECONDS)
    return _ENDED_WELL


def _tick(is_wanted: IsWanted, *, looks_for_laboratory: bool) -> int:
    """Tick at once and then by the clock. A failed tick is logged; the next one takes up what it left.

    looks_for_laboratory : end where a job waits for the laboratory of this machine, so that the parent learns of it
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
    return _ENDED_WELL
