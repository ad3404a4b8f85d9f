"""One benchmark run on one or several machines together, watched to its end.

Every machine makes its files and waits at a barrier; then all begin to measure at one moment. The benchmark runs
detached, so that neither a lost connection nor a killed worker disturbs or ends it; what it leaves is fetched
afterwards. A run counts only where every clock agrees, no storage error was logged, every machine stayed up, and the
program ended by itself in time.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain

from experiments.laboratory.targets.drivers import FOLDER, Machine
from experiments.laboratory.transport.remote import NotNow, Poll
from experiments.laboratory.transport.ssh import Unreachable

from . import curves, engines
from .background import Background, Usage, between
from .curves import Interval
from .engines import Load

NAME = "benchmark"
SILENCE_SECONDS = 60  # a virtual machine that does not answer for longer, while its host does, hangs
HOLD_SECONDS = 600  # that a run under way waits for a host that does not answer: its benchmark goes on meanwhile
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
    """A virtual machine did not answer for long, though its host did; the text says which."""


@dataclass(frozen=True)
class MachineResult:
    """The output and the times of the benchmark on one machine."""

    machine: Machine
    output: bytes
    errors: bytes
    status: int
    seconds: float  # from the barrier to its end, by the machine's clock
    began: float | None = None  # when it began to measure, by our clock; None: it never did
    unsure: float = 0.0  # s: `began` may be off by this
    background: Background | None = None  # None: it never began
    curve: Sequence[Interval] = ()
    silent: float = 0.0  # s that the machine or its host did not answer; what is counted from outside is unsure then


@dataclass
class _Presence:
    """The state of a machine's answers. While it is silent its state is unknown, so nothing is held against a run."""

    name: str
    say: Callable[[str], None]
    answered: float = field(default_factory=lambda: time.monotonic())  # ours, the last time
    back: float = field(default_factory=lambda: time.monotonic())  # since when it has answered each time
    answers: bool = True
    longest: float = 0.0  # s without an answer, that are over

    def heard(self) -> None:
        at = time.monotonic()
        if not self.answers:
            self.longest, self.back, self.answers = max(self.longest, at - self.answered), at, True
            self.say(f"{self.name} answers again, after {at - self.answered:.0f} s")
        self.answered = at

    @property
    def silent(self) -> float:
        """Return how long the machine did not answer, at the longest, s."""
        return self.longest if self.answers else max(self.longest, time.monotonic() - self.answered)

    def missed(self, error: Unreachable | NotNow) -> None:
        """Note the silence. Raises the error where it is more than silence, or has lasted for long."""
        is_silence = isinstance(error, Unreachable) or type(error) is NotNow
        if not is_silence or time.monotonic() - self.answered > HOLD_SECONDS:
            raise error
        if self.answers:
            self.say(f"{self.name} does not answer, and the run waits for it: {error}")
        self.answers = False


@dataclass
class _Watch:
    machine: Machine
    load: Load
    first: Poll
    asked: float  # ours, when `first` was taken
    presence: _Presence
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
    ended: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda text: None,
) -> list[MachineResult]:
    """Have the files made, start all measurements together, wait, and bring back what the machines left.

    keep : called often; raises where the run must be given up
    watch : called often; raises where the host of the machines says that one is not what it should be, and NotNow or
        Unreachable where it does not answer
    settle : called once, when all files are made and nothing is measured yet
    ended : called once, when all is brought back; may raise as `watch`, and is called again then
    say : told when a machine falls silent, and when it answers again
    A machine whose benchmark ended before it measured is the only one that is brought back. A host that does not answer
    is waited for, for HOLD_SECONDS: the benchmark goes on there. Raises RunFailed, Silent, and what the host's silence
    raised where it lasted.
    """
    set_up = max(load.set_up_seconds for load in loads)
    at_most = set_up + SETTLE_SECONDS + seconds + LATE_SECONDS
    for machine, load in zip(machines, loads, strict=True):
        machine.area.call("put", *chain.from_iterable(load.files.items()))
        if load.limit_mib:
            machine.area.call("limit-memory", load.limit_mib)
        machine.area.call("start", NAME, at_most, curves.every(seconds), FOLDER, *load.command)
    watches = [_watch(machine, load, say) for machine, load in zip(machines, loads, strict=True)]
    host = _Presence("the host", say)

    def look_at_host() -> None:
        keep()
        try:
            watch()
        except (Unreachable, NotNow) as error:
            host.missed(error)
        else:
            host.heard()

    def look() -> bool:
        """Ask everybody; False where somebody does not answer now."""
        look_at_host()
        asked = [watched for watched in watches if watched.last.state != "exited"]
        for watched in asked:
            _ask(watched, host)
        return host.answers and all(watched.presence.answers for watched in asked)

    _wait_until_ready(watches, set_up + LATE_SECONDS, look)
    if early := [watched for watched in watches if watched.last.state == "exited"]:
        return _bring(early[:1], seconds, host, look_at_host)
    settle()
    _go(watches)
    _wait(watches, seconds, look)
    results = _bring(watches, seconds, host, look_at_host)
    while True:
        try:
            ended()
        except (Unreachable, NotNow) as error:
            keep()
            host.missed(error)
            time.sleep(READY_SECONDS)
        else:
            host.heard()
            return results


def _bring(
    watches: list[_Watch], seconds: int, host: _Presence, look_at_host: Callable[[], None]
) -> list[MachineResult]:
    """Fetch the machines' outputs, and ask again while a machine is out of reach: it still has them."""

    def attempt(watched: _Watch) -> MachineResult | Unreachable:
        try:
            return _fetch_result(watched, seconds)
        except Unreachable as error:
            return error

    results: dict[int, MachineResult] = {}
    while pending := [watched for watched in watches if watched.machine.number not in results]:
        with ThreadPoolExecutor(len(pending)) as pool:
            answers = list(pool.map(attempt, pending))
        if any(isinstance(answer, Unreachable) for answer in answers):
            look_at_host()
            time.sleep(READY_SECONDS)
        for watched, answer in zip(pending, answers, strict=True):
            if isinstance(answer, MachineResult):
                watched.presence.heard()
                silent = max(host.silent, watched.presence.silent)
                results[watched.machine.number] = replace(answer, silent=silent)
            else:
                _missed(watched, host, answer)
    return [results[watched.machine.number] for watched in watches]


def spread(results: Sequence[MachineResult]) -> tuple[float, float] | None:
    """Return how far apart the machines began to measure, and its uncertainty, s; None for one machine alone."""
    began = [result.began for result in results if result.began is not None]
    if len(began) < 2:
        return None
    return max(began) - min(began), sum(sorted(result.unsure for result in results)[-2:])


def _watch(machine: Machine, load: Load, say: Callable[[str], None]) -> _Watch:
    poll = machine.area.poll(NAME)
    return _Watch(machine, load, poll, time.monotonic(), _Presence(machine.name, say), poll)


def _wait_until_ready(watches: list[_Watch], seconds: float, look: Callable[[], bool]) -> None:
    """Wait until every machine has made its files, or the benchmark of one has ended."""
    deadline = time.monotonic() + seconds
    while not all(watched.last.ready for watched in watches):
        time.sleep(READY_SECONDS)
        all_answer = look()
        if any(watched.last.state == "exited" for watched in watches):
            return
        if all_answer and time.monotonic() > deadline:
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
    """Return how far its time since its start is ahead of our clock, s, and by how much that may be off.

    The quickest of a few answers: it was read between question and answer.
    """
    answers = []
    for _ in range(CLOCK_LOOKS):
        before = time.monotonic()
        up = machine.area.up()
        after = time.monotonic()
        answers.append(((after - before) / 2, up - (before + after) / 2))
    unsure, ahead = min(answers)
    return ahead, unsure + UP_SECONDS


def _wait(watches: list[_Watch], seconds: int, look: Callable[[], bool]) -> None:
    started = time.monotonic()
    deadline = started + seconds + LATE_SECONDS
    while True:
        # Asking costs a guest what it measures: seldom while it runs, often when it should end.
        rest = started + seconds - time.monotonic()
        time.sleep(min(max(rest, 0.25), max(2.0, seconds / 10)) if rest > 0 else 0.25)
        all_answer = look()
        pending = [watched for watched in watches if watched.last.state != "exited"]
        if not pending:
            return
        if all_answer and time.monotonic() > deadline:
            names = ", ".join(watched.machine.name for watched in pending)
            raise RunFailed(f"The benchmark did not end within {deadline - started:.0f} s on {names}.")


def _missed(watched: _Watch, host: _Presence, error: Unreachable) -> None:
    """Note that a machine did not answer. Raises Silent where its host does, else the error where that lasted."""
    since = max(watched.presence.answered, host.back)
    if error.guest and host.answers and time.monotonic() - since > SILENCE_SECONDS:
        raise Silent(f"{watched.machine.name} does not answer, for {SILENCE_SECONDS} s by now: {error}") from error
    watched.presence.missed(error)


def _ask(watched: _Watch, host: _Presence) -> None:
    """Poll one machine, which need not answer now. Raises RunFailed, and as `_missed`."""
    name = watched.machine.name
    before = time.monotonic()
    try:
        poll = watched.machine.area.poll(NAME, timeout=POLL_SECONDS)
    except Unreachable as error:
        _missed(watched, host, error)
        return
    at = time.monotonic()
    watched.presence.heard()
    watched.last = poll
    if poll.state == "gone":
        raise RunFailed(
            f"The benchmark on {name} is gone without an exit status: it was killed, or the machine restarted."
        )
    if poll.storage_errors > 0:
        raise RunFailed(f"The kernel of {name} logged {poll.storage_errors} storage errors during the run.")
    _check_clocks(watched, poll, before - watched.asked, at - watched.asked)


def _check_clocks(watched: _Watch, poll: Poll, least: float, most: float) -> None:
    """Raise RunFailed where the machine's two clocks and ours have not gone on alike since the first poll."""
    up, wall = poll.up - watched.first.up, poll.wall - watched.first.wall
    name = watched.machine.name
    if abs(wall - up) > CLOCK_SECONDS:
        raise RunFailed(f"The clock of {name} was set by {wall - up:+.1f} s during the run.")
    allowed = CLOCK_SECONDS + CLOCK_SHARE * most
    if up < least - allowed:
        raise RunFailed(f"{name} stood still for {least - up:.1f} s during the run.")
    if up > most + allowed:
        raise RunFailed(f"The clock of {name} ran {up - most:.1f} s ahead during the run.")


def _fetch_result(watched: _Watch, seconds: int) -> MachineResult:
    machine, last = watched.machine, watched.last
    after = Usage.of(machine.area.call("usage")) if watched.before else None
    output, errors = machine.area.output(f"{NAME}.out"), machine.area.output(f"{NAME}.err")
    if last.began is None or watched.before is None or after is None:
        return MachineResult(machine, output, errors, last.status or 0, last.up - watched.first.up)
    measuring = last.began + (engines.seconds_to_measuring(output) or 0.0)
    return MachineResult(
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
