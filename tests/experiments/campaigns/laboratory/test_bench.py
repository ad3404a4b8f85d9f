"""What voids a run while it is watched: clocks, storage errors, silence, and a benchmark that is gone or late."""

from dataclasses import replace

import pytest

from experiments.campaigns.laboratory import bench
from experiments.campaigns.laboratory.drivers import Machine
from experiments.campaigns.laboratory.engines import Load
from experiments.campaigns.laboratory.remote import Poll
from experiments.campaigns.laboratory.ssh import Unreachable

LOAD = Load({"job": "text"}, ("fio", "job"), {}, 0, set_up_seconds=0)
START = Poll("running", None, wall=1000.0, up=500.0, storage_errors=0)


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

    def __init__(self, clock: Clock, answer) -> None:
        self.clock, self.answer, self.calls = clock, answer, []

    def call(self, verb, *arguments, timeout=60):
        self.calls.append((verb, *arguments))
        return {}

    def poll(self, name, timeout=20):
        answer = self.answer(self.clock.now)
        if answer is None:
            self.clock.now += timeout
            raise Unreachable("no answer")
        return answer

    def output(self, name):
        return name.encode()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(bench, "time", clock)
    return clock


def honest(seconds: float, **changes) -> Poll:
    """A machine whose clocks go right; its benchmark ends after ten seconds."""
    state = {"state": "exited", "status": 0} if seconds >= 10 else {}
    return replace(START, **{"wall": 1000 + seconds, "up": 500 + seconds} | state | changes)


def run(clock, *answers, keep=lambda: None, watch=lambda: None):
    areas = [FakeArea(clock, answer) for answer in answers]
    machines = [Machine(number, area, {}) for number, area in enumerate(areas, start=1)]
    return bench.run(machines, [LOAD] * len(machines), 10, keep=keep, watch=watch), areas


def test_all_machines_are_made_ready_before_any_begins(clock):
    left, areas = run(clock, honest, honest)
    assert [each.output for each in left] == [b"benchmark.out"] * 2
    assert [each.seconds for each in left] == pytest.approx([10, 10], abs=0.5)
    for area in areas:
        assert [call[0] for call in area.calls] == ["put", "start", "go"]


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


def test_a_machine_that_stays_silent_is_given_up(clock):
    with pytest.raises(bench.Silent, match="machine-2 does not answer"):
        run(clock, honest, lambda s: None if s > 3 else honest(s))


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
