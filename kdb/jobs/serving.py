"""Keep the web server and the workers running: the process that `manage.py serve` becomes after preparing the database.

It does not import Django, which would take 150 MiB of memory in a process that only waits.
"""

import json
import os
import signal
import socket
import sys
import time
from typing import NamedTuple

from kdb.jobs import processes
from kdb.jobs.health_check import web_answers
from kdb.jobs.starting_page import StartingPage
from kdb.jobs.supervisor import STOPPING_SIGNALS, CannotStartError, Child, Supervisor
from kdb.operations.log_lines import log_to_stderr

WEB_ALONE_SECONDS = 10  # at most, before the others start, as nothing needs them until the web server answers
READY_WITHIN_SECONDS = 300  # a few suffice on an idle machine, but a busy one must not be given up early


class Serving(NamedTuple):
    """The settings of the process, passed on its command line."""

    port: int
    listener: int  # the descriptor of the socket, which each web server inherits
    lock: int  # the descriptor of the file that stays locked while this runs
    host: str  # a host name that the web server accepts
    data_dir: str
    with_redis: bool
    log_form: str
    log_level: str


def replace_process(serving: Serving) -> None:
    """Replace this process by one that serves. Signals in between stay pending until it handles them."""
    for descriptor in (serving.listener, serving.lock):
        os.set_inheritable(descriptor, True)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING_SIGNALS)
    arguments = json.dumps(serving._asdict())
    os.execv(sys.executable, [sys.executable, "-m", __name__, arguments])  # noqa: S606 - no user input, no shell


def children(serving: Serving) -> list[Child]:
    """Return the web server, then the children that start after it."""
    python = [sys.executable, "-m"]
    web = [*python, *processes.WEB, "--bind", f"fd://{serving.listener}"]
    # Celery warns against running as root because of pickled messages; ours are JSON.
    celery = [sys.executable, "-W", "ignore:You're running the worker", "-m"]
    others = [Child("worker", [*python, *processes.POLLING_WORKER])]
    if serving.with_redis:
        others = [
            Child("worker", [*celery, *processes.WORKER]),
            Child("laboratory", [*celery, *processes.LABORATORY]),
            # Short patience: beat has no work to finish, and may hang when a second SIGTERM interrupts its handler.
            Child("beat", [*python, *processes.BEAT], patience_seconds=2),
        ]
    return [Child("web server", web, pass_fds=[serving.listener]), *others]


def serve(serving: Serving) -> None:
    """Serve until stopped by a signal. Raises CannotStartError. In either case, no child is left running."""
    web, *others = kept = children(serving)
    listener = socket.socket(fileno=serving.listener)
    starting: StartingPage | None = StartingPage(listener)
    for child in others:
        child.start_again_at = time.monotonic() + WEB_ALONE_SECONDS
    give_up_at = time.monotonic() + READY_WITHIN_SECONDS
    is_announced = False

    def check_web() -> None:
        nonlocal starting, is_announced
        if starting is None and not web.is_running():
            starting = StartingPage(listener)
        if starting is None:
            return
        if web_answers(serving.port, serving.host, timeout=0.5):
            starting.end()
            starting = None
            if not is_announced:
                is_announced = True
                for child in others:
                    child.start_again_at = 0.0
                at = f"http://127.0.0.1:{serving.port}/"
                print(f"KDB answers at {at} (data in {serving.data_dir}; Ctrl-C stops).", flush=True)
        elif not is_announced and time.monotonic() > give_up_at:
            raise CannotStartError(f"no answer on port {serving.port} within {READY_WITHIN_SECONDS} seconds.")

    supervisor = Supervisor(kept)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING_SIGNALS)
    supervisor.run(each_turn=check_web)


def main() -> None:
    serving = Serving(**json.loads(sys.argv[1]))
    os.set_inheritable(serving.lock, False)  # no child may hold the lock longer than this process
    os.set_inheritable(serving.listener, False)
    log_to_stderr(serving.log_form, serving.log_level)
    try:
        serve(serving)
    except CannotStartError as error:
        sys.exit(f"KDB does not run: {error}")
    print("KDB has stopped.", flush=True)


if __name__ == "__main__":
    main()
