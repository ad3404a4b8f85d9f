"""Before against after, on simulated disks whose truth is known."""

import numpy as np
import pytest

from modelling.fleet.moving.comparison import KEPT, SAME, UNKNOWN, WORSE, Minutes, compare


def disk(speed: float, *, hours: int = 24, seed: int = 1, rate: float = 200.0, share: float = 0.3, start: float = 0.0):
    """Minutes of a disk whose requests take 2 ms / speed at this load, more the more are asked; hours differ."""
    chance = np.random.default_rng(seed)
    number = hours * 60
    hour = np.repeat(chance.normal(0, 0.1, hours), 60)
    asked = np.round(rate * 60 * np.exp(hour + chance.normal(0, 0.1, number)))
    reads = np.round(asked * share)
    took = 0.002 / speed * np.sqrt(asked / 60 / 200) * np.exp(np.repeat(chance.normal(0, 0.1, hours), 60))
    starts = start + 60.0 * np.arange(number)
    return Minutes(starts, np.full(number, 60.0), asked, reads, asked * 16_384, asked * took)


@pytest.mark.parametrize(("speed", "verdict"), [(1.5, KEPT), (1.0, SAME), (0.6, WORSE)])
def test_a_change_of_the_service_time_is_told(speed, verdict):
    comparison = compare(disk(1.0, hours=72), disk(speed, hours=72, seed=2), margin=0.1)
    assert comparison.verdict == verdict
    assert comparison.low < speed < comparison.high


def test_a_busier_time_after_is_no_loss_because_like_is_held_against_like():
    """Twice the load makes each request take 1.41 times as long; the disk is as fast as it was."""
    mixed = [
        disk(1.0, hours=36, seed=seed, rate=rate, start=start) for seed, rate, start in ((1, 200, 0), (2, 400, 1e6))
    ]
    before = Minutes(*(np.concatenate([getattr(m, f) for m in mixed]) for f in Minutes.__dataclass_fields__))
    comparison = compare(before, disk(1.0, hours=72, seed=3, rate=400), margin=0.1)
    assert comparison.verdict == SAME
    naive = (before.busy.sum() / before.requests.sum()) / 0.002 / 2**0.5
    assert naive < 0.95


@pytest.mark.parametrize("other", [{"rate": 2000.0}, {"share": 0.9}, {"hours": 2}])
def test_another_load_or_too_short_a_time_cannot_be_told(other):
    comparison = compare(disk(1.0, hours=24), disk(2.0, seed=2, **other), margin=0.1)
    assert (comparison.verdict, comparison.speed) == (UNKNOWN, None)


def test_minutes_without_requests_count_for_nothing():
    idle = disk(1.0)
    zero = Minutes(idle.starts, idle.seconds, *(np.zeros_like(idle.requests) for _ in range(4)))
    comparison = compare(zero, disk(1.0), margin=0.1)
    assert (comparison.verdict, comparison.watched_before) == (UNKNOWN, 0)


@pytest.mark.slow
def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    held = sum(
        comparison.low <= 1.2 <= comparison.high
        for comparison in (
            compare(disk(1.0, hours=48, seed=seed), disk(1.2, hours=48, seed=1000 + seed), margin=0.1)
            for seed in range(100)
        )
    )
    assert 88 <= held <= 100
