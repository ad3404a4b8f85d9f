"""One benchmark run on one or several machines together, watched to its end.

It runs detached on each machine, so that neither a lost connection nor a killed worker disturbs or ends
it; what it leaves is fetched afterwards. A run counts only where every clock agrees, no storage error
was logged, every machine stayed up, and the program ended by itself in time.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .drivers import FOLDER, Machine
from .engines import Load
from .remote import Poll
from .ssh import Unreachable

NAME = "benchmark"
SILENCE_SECONDS = 60  # a machine that does not answer for longer hangs
POLL_SECONDS = 20
LATE_SECONDS = 60  # beyond what set-up and run may take
CLOCK_SECONDS, CLOCK_SHARE = 2.0, 0.02  # by which clocks may disagree


class RunFailed(Exception):  # noqa: N818 - the run's fate
    """The run is void and another try would not mend it; the text says why."""


class Silent(Exception):  # noqa: N818
    """A machine did not answer for long; the text says which."""


@dataclass(frozen=True)
class Left:
    """What the benchmark left on one machine."""

    machine: Machine
    output: bytes
    errors: bytes
    status: int
    seconds: float  # from the common start to its end, by the machine's clock


@dataclass
class _Watch:
    machine: Machine
    first: Poll
    began: float  # ours, when `first` was taken
    answered: float
    last: Poll


def run(
    machines: Sequence[Machine],
    loads: Sequence[Load],
    seconds: int,
    *,
    keep: Callable[[], None],
    watch: Callable[[], None] = lambda: None,
) -> list[Left]:
    """Put the loads there, start them together, wait, and bring back what they left.

    keep : called often; raises where the run must be given up
    watch : called often; raises where a machine is not what it should be
    Raises RunFailed, Silent.
    """
    set_up = max(load.set_up_seconds for load in loads)
    for machine, load in zip(machines, loads, strict=True):
        for name, text in load.files.items():
            machine.area.call("put", name, text)
        machine.area.call("start", NAME, set_up + seconds + LATE_SECONDS, FOLDER, *load.command)
    watches = [_watch(machine) for machine in machines]
    with ThreadPoolExecutor(len(machines)) as pool:  # the barrier: all wait for this
        list(pool.map(lambda machine: machine.area.call("go", NAME), machines))
    started = time.monotonic()
    _wait(watches, started, seconds, started + set_up + seconds + LATE_SECONDS, keep, watch)
    return [_left(watch) for watch in watches]


def _watch(machine: Machine) -> _Watch:
    poll = machine.area.poll(NAME)
    at = time.monotonic()
    return _Watch(machine, poll, at, at, poll)


def _wait(
    watches: list[_Watch],
    started: float,
    seconds: int,
    deadline: float,
    keep: Callable[[], None],
    check: Callable[[], None],
) -> None:
    pending = list(watches)
    while True:
        # Asking costs a guest what it measures: seldom while it runs, often when it should end.
        rest = started + seconds - time.monotonic()
        time.sleep(min(max(rest, 0.25), max(2.0, seconds / 10)) if rest > 0 else 0.25)
        keep()
        check()
        for watched in list(pending):
            if _asked(watched) and watched.last.state == "exited":
                pending.remove(watched)
        if not pending:
            return
        if time.monotonic() > deadline:
            names = ", ".join(watched.machine.name for watched in pending)
            raise RunFailed(f"The benchmark did not end within {deadline - started:.0f} s on {names}.")


def _asked(watched: _Watch) -> bool:
    """Poll one machine; False where it does not answer now. Raises RunFailed, Silent."""
    name = watched.machine.name
    before = time.monotonic()
    try:
        poll = watched.machine.area.poll(NAME, timeout=POLL_SECONDS)
    except Unreachable as error:
        if time.monotonic() - watched.answered > SILENCE_SECONDS:
            raise Silent(f"{name} does not answer, for {SILENCE_SECONDS} s by now: {error}") from error
        return False
    at = time.monotonic()
    watched.answered, watched.last = at, poll
    if poll.state == "gone":
        raise RunFailed(
            f"The benchmark on {name} is gone without an exit status: it was killed, or the machine restarted."
        )
    if poll.storage_errors > 0:
        raise RunFailed(f"The kernel of {name} logged {poll.storage_errors} storage errors during the run.")
    _check_clocks(watched, poll, before - watched.began, at - watched.began)
    return True


def _check_clocks(watched: _Watch, poll: Poll, least: float, most: float) -> None:
    """The machine's two clocks and ours must have gone on alike since the first poll."""
    up, wall = poll.up - watched.first.up, poll.wall - watched.first.wall
    name = watched.machine.name
    if abs(wall - up) > CLOCK_SECONDS:
        raise RunFailed(f"The clock of {name} was set by {wall - up:+.1f} s during the run.")
    allowed = CLOCK_SECONDS + CLOCK_SHARE * most
    if up < least - allowed:
        raise RunFailed(f"{name} stood still for {least - up:.1f} s during the run.")
    if up > most + allowed:
        raise RunFailed(f"The clock of {name} ran {up - most:.1f} s ahead during the run.")


def _left(watched: _Watch) -> Left:
    area = watched.machine.area
    seconds = watched.last.up - watched.first.up
    return Left(
        watched.machine, area.output(f"{NAME}.out"), area.output(f"{NAME}.err"), watched.last.status or 0, seconds
    )
