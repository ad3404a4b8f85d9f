"""One benchmark run on one or several machines together, watched to its end.

Every machine makes its files and waits at a barrier; then all begin to measure at one moment. The benchmark runs
detached, so that neither a lost connection nor a killed worker disturbs or ends it; what it leaves is fetched
afterwards. A run counts only where every clock agrees, no storage error was logged, every machine stayed up, and the
program ended by itself in time.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

from . import curves, engines
from .background import Background, Usage, between
from .curves import Interval
from .drivers import FOLDER, Machine
from .engines import Load
from .remote import Poll
from .ssh import Unreachable

NAME = "benchmark"
SILENCE_SECONDS = 60  # a machine that does not answer for longer hangs
POLL_SECONDS = 20
READY_SECONDS = 0.25  # between two looks while the files are made
LATE_SECONDS = 60  # beyond what making the files may take, and the measurement
SETTLE_SECONDS = 600  # that writing back what was made may take
AHEAD_SECONDS = 2.0  # that several machines are told before when to begin
CLOCK_LOOKS = 3
UP_SECONDS = 0.01  # to which a machine tells its time since its start
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
    seconds: float  # from the barrier to its end, by the machine's clock
    began: float | None = None  # when it began to measure, by our clock; None: it never did
    unsure: float = 0.0  # s: `began` may be off by this
    background: Background | None = None  # None: it never began
    curve: Sequence[Interval] = ()


@dataclass
class _Watch:
    machine: Machine
    load: Load
    first: Poll
    asked: float  # ours, when `first` was taken
    answered: float
    last: Poll
    before: Usage | None = None  # just before it was sent past the barrier
    ahead: float = 0.0  # of its clock `up` before ours, s
    unsure: float = 0.0


def run(
    machines: Sequence[Machine],
    loads: Sequence[Load],
    seconds: int,
    *,
    keep: Callable[[], None],
    watch: Callable[[], None] = lambda: None,
    settle: Callable[[], None] = lambda: None,
) -> list[Left]:
    """Have the files made, start all measurements together, wait, and bring back what the machines left.

    keep : called often; raises where the run must be given up
    watch : called often; raises where a machine is not what it should be
    settle : called once, when all files are made and nothing is measured yet
    A machine whose benchmark ended before it measured is the only one that is brought back. Raises RunFailed, Silent.
    """
    set_up = max(load.set_up_seconds for load in loads)
    at_most = set_up + SETTLE_SECONDS + seconds + LATE_SECONDS
    for machine, load in zip(machines, loads, strict=True):
        machine.area.call("put", *chain.from_iterable(load.files.items()))
        machine.area.call("start", NAME, at_most, curves.every(seconds), FOLDER, *load.command)
    watches = [_watch(machine, load) for machine, load in zip(machines, loads, strict=True)]

    def look() -> None:
        keep()
        watch()
        for watched in watches:
            if watched.last.state != "exited":
                _ask(watched)

    _wait_until_ready(watches, set_up + LATE_SECONDS, look)
    if early := [watched for watched in watches if watched.last.state == "exited"]:
        return [_left(early[0], seconds)]
    settle()
    _go(watches)
    _wait(watches, seconds, look)
    with ThreadPoolExecutor(len(watches)) as pool:
        return list(pool.map(lambda watched: _left(watched, seconds), watches))


def spread(left: Sequence[Left]) -> tuple[float, float] | None:
    """How far apart the machines began to measure, and by how much that may be off, s; None for one machine alone."""
    began = [each.began for each in left if each.began is not None]
    if len(began) < 2:
        return None
    return max(began) - min(began), sum(sorted(each.unsure for each in left)[-2:])


def _watch(machine: Machine, load: Load) -> _Watch:
    poll = machine.area.poll(NAME)
    at = time.monotonic()
    return _Watch(machine, load, poll, at, at, poll)


def _wait_until_ready(watches: list[_Watch], seconds: float, look: Callable[[], None]) -> None:
    """Until every machine has made its files, or the benchmark of one has ended."""
    deadline = time.monotonic() + seconds
    while not all(watched.last.ready for watched in watches):
        time.sleep(READY_SECONDS)
        look()
        if any(watched.last.state == "exited" for watched in watches):
            return
        if time.monotonic() > deadline:
            names = ", ".join(watched.machine.name for watched in watches if not watched.last.ready)
            raise RunFailed(f"The files were not made within {seconds:.0f} s on {names}.")


def _go(watches: list[_Watch]) -> None:
    """Send all machines past the barrier: one at once, several at one moment, each by its own clock."""

    def arm(watched: _Watch) -> None:
        watched.before = Usage.of(watched.machine.area.call("arm", NAME, *watched.load.warm))

    with ThreadPoolExecutor(len(watches)) as pool:
        list(pool.map(arm, watches))
        if len(watches) > 1:
            for watched in watches:  # one after another: they may share processors
                watched.ahead, watched.unsure = _clock_ahead(watched.machine)
        moment = time.monotonic() + AHEAD_SECONDS if len(watches) > 1 else None

        def go(watched: _Watch) -> None:
            at = 0 if moment is None else round((moment + watched.ahead) * 100)
            watched.machine.area.call("go", NAME, at)

        list(pool.map(go, watches))


def _clock_ahead(machine: Machine) -> tuple[float, float]:
    """How far its time since its start is ahead of our clock, s, and by how much that may be off.

    The quickest of a few answers: it was read between question and answer.
    """
    found = []
    for _ in range(CLOCK_LOOKS):
        before = time.monotonic()
        up = machine.area.up()
        after = time.monotonic()
        found.append(((after - before) / 2, up - (before + after) / 2))
    unsure, ahead = min(found)
    return ahead, unsure + UP_SECONDS


def _wait(watches: list[_Watch], seconds: int, look: Callable[[], None]) -> None:
    started = time.monotonic()
    deadline = started + seconds + LATE_SECONDS
    while True:
        # Asking costs a guest what it measures: seldom while it runs, often when it should end.
        rest = started + seconds - time.monotonic()
        time.sleep(min(max(rest, 0.25), max(2.0, seconds / 10)) if rest > 0 else 0.25)
        look()
        pending = [watched for watched in watches if watched.last.state != "exited"]
        if not pending:
            return
        if time.monotonic() > deadline:
            names = ", ".join(watched.machine.name for watched in pending)
            raise RunFailed(f"The benchmark did not end within {deadline - started:.0f} s on {names}.")


def _ask(watched: _Watch) -> None:
    """Poll one machine, which need not answer now. Raises RunFailed, Silent."""
    name = watched.machine.name
    before = time.monotonic()
    try:
        poll = watched.machine.area.poll(NAME, timeout=POLL_SECONDS)
    except Unreachable as error:
        if time.monotonic() - watched.answered > SILENCE_SECONDS:
            raise Silent(f"{name} does not answer, for {SILENCE_SECONDS} s by now: {error}") from error
        return
    at = time.monotonic()
    watched.answered, watched.last = at, poll
    if poll.state == "gone":
        raise RunFailed(
            f"The benchmark on {name} is gone without an exit status: it was killed, or the machine restarted."
        )
    if poll.storage_errors > 0:
        raise RunFailed(f"The kernel of {name} logged {poll.storage_errors} storage errors during the run.")
    _check_clocks(watched, poll, before - watched.asked, at - watched.asked)


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


def _left(watched: _Watch, seconds: int) -> Left:
    machine, last = watched.machine, watched.last
    after = Usage.of(machine.area.call("usage")) if watched.before else None
    output, errors = machine.area.output(f"{NAME}.out"), machine.area.output(f"{NAME}.err")
    if last.began is None or watched.before is None or after is None:
        return Left(machine, output, errors, last.status or 0, last.up - watched.first.up)
    measuring = last.began + (engines.seconds_to_measuring(output) or 0.0)
    return Left(
        machine,
        output,
        errors,
        last.status or 0,
        seconds=last.up - last.began,
        began=measuring - watched.ahead,
        unsure=watched.unsure,
        background=between(watched.before, after),
        curve=curves.read(machine.area.output(f"{NAME}.samples"), measuring, seconds),
    )
