"""Reasons to void a run while it is watched: clocks, storage errors, silence, a benchmark that is gone or late."""

from dataclasses import replace
from itertools import zip_longest

import pytest

from experiments.laboratory.benchmarks import bench
from experiments.laboratory.benchmarks.engines import Load
from experiments.laboratory.targets.drivers import Machine
from experiments.laboratory.transport.remote import Leftovers, NoRoom, NotNow, Poll
from experiments.laboratory.transport.ssh import Unreachable

LOAD = Load({"job": "text"}, ("fio", "job"), {}, 0, set_up_seconds=0)
OUTPUT = "benchmark.out"
START = Poll("running", None, wall=1000.0, up=500.0, storage_errors=0, ready=True)


USED = {"hz": "100", "cpu": "900 0 100 5000 0 0 0 0", "ours": "0", "kernel": "0", "read_bytes": "0", "write_bytes": "0"}


class Clock:
    """Time that passes when somebody sleeps or asks."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class FakeArea:
    """A machine whose answers are a function of the time since its start."""

    pool = "/srv/pool"
    guest = ""  # its name, where a host makes it

    def __init__(self, clock: Clock, answer, up: float = 500.0) -> None:
        self.clock, self.answer, self.calls, self.started, self.began = clock, answer, [], up, None

    def call(self, verb, *arguments, timeout=60):
        self.calls.append((verb, *arguments))
        if verb == "go":
            self.began = arguments[1] / 100 or self.up()
        return {**USED, "up": str(self.up())} if verb in ("arm", "usage") else {}

    def poll(self, name, timeout=20):
        answer = self.answer(self.clock.now)
        if answer is None:
            self.clock.now += timeout
            raise self.unreachable()
        return replace(answer, began=self.began)

    def unreachable(self) -> Unreachable:
        error = Unreachable("no answer")
        error.guest = self.guest
        return error

    def up(self):
        return self.started + self.clock.now

    def output(self, name):
        return name.encode()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(bench, "time", clock)
    return clock


def honest(seconds: float, **changes) -> Poll:
    """Return a machine whose clocks go right; its benchmark ends after ten seconds."""
    state = {"state": "exited", "status": 0} if seconds >= 10 else {}
    return replace(START, **{"wall": 1000 + seconds, "up": 500 + seconds} | state | changes)


def run(clock, *answers, ups=(), **named):
    areas = [FakeArea(clock, answer, up) for answer, up in zip_longest(answers, ups, fillvalue=500.0)]
    machines = [Machine(number, area, {}) for number, area in enumerate(areas, start=1)]
    return bench.run(machines, [LOAD] * len(machines), 10, **{"keep": lambda: None} | named), areas


def test_nothing_is_measured_before_the_files_of_all_machines_are_made(clock):
    """One is ready at once, the other after five seconds; caches are dropped then, and only then both may begin."""
    seen = []

    def settle():
        seen.append((clock.now, [call[0] for area in areas for call in area.calls]))

    def slow(seconds):
        return honest(seconds, ready=seconds >= 5)

    areas = [FakeArea(clock, honest), FakeArea(clock, slow)]
    machines = [Machine(number, area, {}) for number, area in enumerate(areas, start=1)]
    left = bench.run(machines, [LOAD] * 2, 10, keep=lambda: None, settle=settle)
    assert seen == [(pytest.approx(5, abs=bench.READY_SECONDS), ["put", "start"] * 2)]
    assert [[call[0] for call in area.calls] for area in areas] == [["put", "start", "arm", "go", "usage"]] * 2
    assert [outcome.output for outcome in left] == [b"benchmark.out"] * 2


def test_machines_begin_at_one_moment_each_by_its_own_clock(clock):
    left, areas = run(clock, honest, honest, ups=(500.0, 90_000.0))
    first, second = (call[2] for area in areas for call in area.calls if call[0] == "go")
    assert second - first == 8_950_000  # hundredths of a second
    assert (left[0].began, left[0].unsure) == pytest.approx((first / 100 - 500, bench.UP_SECONDS))
    assert bench.spread(left) == pytest.approx((0, 2 * bench.UP_SECONDS))


def test_one_machine_begins_at_once_and_has_no_spread(clock):
    left, (area,) = run(clock, honest)
    assert ("go", bench.NAME, 0) in area.calls
    assert bench.spread(left) is None


def test_the_spread_is_that_of_the_measurements_where_the_benchmark_says_when_it_began(clock, monkeypatch):
    printed = iter([f"1.000: all machines begin\n{stamp}: Running...\n" for stamp in ("2.043", "2.343")])
    monkeypatch.setattr(FakeArea, "output", lambda area, name: next(printed).encode() if name == OUTPUT else b"")
    left, _ = run(clock, honest, honest)
    assert bench.spread(left)[0] == pytest.approx(0.3)


def test_a_benchmark_that_ends_while_it_makes_its_files_is_brought_back_and_nobody_begins(clock):
    left, areas = run(clock, lambda s: honest(s, ready=False), lambda s: honest(s + 7, ready=False, status=1))
    assert [(outcome.machine.number, outcome.status) for outcome in left] == [(2, 1)]
    assert all(call[0] != "go" for area in areas for call in area.calls)


def test_files_that_are_not_made_in_time_fail_the_run(clock):
    with pytest.raises(bench.RunFailed, match="not made within 60 s on machine-1"):
        run(clock, lambda s: replace(START, wall=1000 + s, up=500 + s, ready=False))


def test_a_machine_is_asked_seldom_while_it_measures(clock):
    asked = []

    def answer(seconds):
        asked.append(seconds)
        return honest(seconds)

    run(clock, answer)
    assert len([at for at in asked if 0 < at < 9.5]) <= 5


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda s: honest(s, wall=1000 + s + (3600 if s > 3 else 0)), "was set by [+]3600.0 s"),
        (lambda s: honest(s, wall=1000 + s - (60 if s > 3 else 0)), "was set by -60.0 s"),
        (lambda s: honest(s, up=500 + s - 8 * (s > 3), wall=1000 + s - 8 * (s > 3)), "stood still for"),
        (lambda s: honest(s, up=500 + 2 * s, wall=1000 + 2 * s), "ahead during the run"),
        (lambda s: honest(s, storage_errors=1922 if s > 5 else 0), "logged 1922 storage errors"),
        (lambda s: honest(s, state="gone", status=None) if s > 3 else honest(s), "gone without an exit status"),
        (lambda s: replace(START, wall=1000 + s, up=500 + s), "did not end within 70 s"),
    ],
)
def test_what_voids_a_run_is_named(clock, answer, words):
    with pytest.raises(bench.RunFailed, match=words):
        run(clock, honest, answer)


def test_clocks_may_differ_a_little(clock):
    left, _ = run(clock, lambda s: honest(s, up=500 + s * 1.01, wall=1000 + s * 1.005))
    assert left[0].status == 0


def test_a_connection_that_is_lost_for_a_while_costs_nothing(clock):
    left, _ = run(clock, lambda s: None if 3 < s < 40 else honest(s))
    assert left[0].status == 0


def test_a_host_that_is_away_for_minutes_is_waited_for_and_what_it_measured_counts(clock):
    """The benchmark ended meanwhile, long after which nobody would have waited for one that is late."""
    messages = []
    left, _ = run(clock, lambda s: None if 3 < s < 500 else honest(s), say=messages.append)
    assert (left[0].status, left[0].output) == (0, b"benchmark.out")
    assert left[0].silent >= 490
    assert [text.partition(",")[0] for text in messages] == ["machine-1 does not answer", "machine-1 answers again"]


def test_a_host_that_stays_away_is_unreachable_and_nothing_is_said_of_the_run(clock):
    with pytest.raises(Unreachable):
        run(clock, lambda s: None if s > 3 else honest(s))
    assert clock.now > bench.HOLD_SECONDS


def away(clock, first: float, last: float, error: Exception):
    """Return a host that does not say how its machines are from `first` to `last`."""

    def watch():
        if first < clock.now < last:
            raise error

    return watch


def test_a_hypervisor_that_is_away_for_36_seconds_costs_nothing(clock):
    left, _ = run(
        clock,
        lambda s: honest(s) if s > 45 else replace(START, wall=1000 + s, up=500 + s),
        watch=away(clock, 3, 39, NotNow("libvirt does not answer")),
    )
    assert (left[0].status, left[0].silent > 30) == (0, True)


def test_a_hypervisor_that_stays_away_ends_the_wait_and_not_the_run(clock):
    with pytest.raises(NotNow):
        run(
            clock,
            lambda s: replace(START, wall=1000 + s, up=500 + s),
            watch=away(clock, 3, 10_000, NotNow("libvirt does not answer")),
        )
    assert clock.now > bench.HOLD_SECONDS


@pytest.mark.parametrize("error", [NoRoom("no space"), Leftovers("somebody removed the area")])
def test_what_a_host_says_is_no_silence(clock, error):
    with pytest.raises(type(error)):
        run(clock, honest, watch=away(clock, 3, 10_000, error))
    assert clock.now < 10


def test_a_guest_that_stays_silent_while_its_host_answers_is_given_up(clock, monkeypatch):
    monkeypatch.setattr(FakeArea, "guest", "kdb-1-2")
    with pytest.raises(bench.Silent, match="machine-2 does not answer"):
        run(clock, honest, lambda s: None if s > 3 else honest(s))
    assert clock.now < 3 * bench.SILENCE_SECONDS


def test_a_guest_is_not_silent_as_long_as_its_host_is(clock, monkeypatch):
    """Both are away for minutes; the guest answers a moment after its host."""
    monkeypatch.setattr(FakeArea, "guest", "kdb-1-1")
    watch = away(clock, 3, 400, Unreachable("the host is away"))
    left, _ = run(clock, lambda s: None if 3 < s < 430 else honest(s), watch=watch)
    assert left[0].status == 0


def test_what_was_measured_is_fetched_again_where_the_way_broke_off(clock, monkeypatch):
    broken = iter([True, True])

    def output(area, name):
        if next(broken, False):
            raise area.unreachable()
        return name.encode()

    monkeypatch.setattr(FakeArea, "output", output)
    left, _ = run(clock, honest)
    assert left[0].output == b"benchmark.out"


def test_whoever_watches_may_end_it(clock):
    class GoneError(Exception):
        pass

    def watch():
        if clock.now > 5:
            raise GoneError

    with pytest.raises(GoneError):
        run(clock, honest, watch=watch)
    with pytest.raises(GoneError):
        run(clock, honest, keep=watch)
